/**
 * People and their way in: who they are, their sessions as the API reads them, and the pages where
 * they sign in.
 */
import type { FastifyInstance } from 'fastify';
import type { Members, People } from '../../actors/identity/people-port.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { InviteMail } from './api/members.ts';
import type { SessionPorts } from './auth/authenticator.ts';
import type { LastUsed } from './auth/last-used.ts';
import { createIdentities } from './auth/people.ts';
import { inviteMail } from './invite-mail.ts';
import { openSignIn, type SignIn, type SignInOptions } from './open-sign-in.ts';
import { readSessionCookie } from './sign-in/session-cookie.ts';

export interface PeopleOptions extends Omit<SignInOptions, 'people'> {
  readonly host: RunningHost;
  readonly lastUsed: LastUsed;
}

export interface PeopleParts extends Pick<SignIn, 'rotateCookie' | 'mail'> {
  readonly people: People;
  readonly members: Members;
  /** Absent: no mail server is set. */
  readonly inviteMail?: InviteMail;
  /** For the authenticator. */
  readonly sessions: SessionPorts;
  /** Adds the pages. */
  addSignInRoutes(app: FastifyInstance): Promise<void>;
}

/** Throws like `openSignIn`. */
export function openPeople(options: PeopleOptions): PeopleParts {
  const { lastUsed: lastSeen, origin } = options;
  const identities = createIdentities({ ...options, lastSeen, onFault: countFaults(options) });
  const { people } = identities;
  const { addRoutes, ...signIn } = openSignIn({ ...options, people });
  const { mail } = signIn;
  return {
    ...{ ...identities, ...signIn },
    ...(mail && { inviteMail: inviteMail({ ...options, mail }) }),
    sessions: { people, readCookie: readSessionCookie, origin },
    addSignInRoutes: addRoutes,
  };
}

/** Ends of sessions and joined projects that nobody waits for. */
function countFaults(base: {
  readonly metrics: Metrics;
  readonly log: Log;
}): (what: string, error: unknown) => void {
  const faults = base.metrics.counter('svc_people_faults_total', 'Changes of people that failed');
  return (what, error) => {
    faults.inc();
    base.log.error({ err: error, part: 'people' }, what);
  };
}
