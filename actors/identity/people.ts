/**
 * People: their sign-in, and changes of them by the operator. All of it is stored in `_system`;
 * memberships define a person's rights in a project (`members.ts`).
 */
import type { PersonContext } from '../../machines/identity/person.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { ulid } from '../../streams/platform/random.ts';
import type { Host, RequestKey } from '../platform/host/host-port.ts';
import { recordMailProblem } from '../platform/mail-problems.ts';
import { type Accounts, createAccounts } from './people-accounts.ts';
import {
  displayedName,
  emailOrNone,
  memberFactsOf,
  personByEmail,
  personRow,
  startPerson,
} from './people-index.ts';
import { createLinks, type Links } from './people-links.ts';
import { createSignIns, type SignIns, type SignInsDeps } from './people-sign-in.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { endSignIns } from './sign-ins.ts';

/** All operations on people, by themselves and by the operator. */
export interface People extends SignIns, Links, Sessions, Accounts {
  /** Records the problem of the person's mail (null = none), for the operator. */
  recordMailProblem(person: string, problem: string | null): Promise<void>;
  /** Id of the person with a verified address. */
  personByEmail(email: string): string | undefined;
  /** Name and address that a person recognises as their own. Throws NOT_FOUND. */
  nameOf(person: string): string;
  /** Makes a person, or returns the one with that address. Empty `email` = none. */
  ensurePerson(
    by: Actor,
    about: { displayName: string; email: string },
    request?: RequestKey,
  ): Promise<string>;
  /**
   * Locks a person and ends their sessions and links, or unlocks them (`reason` null). Returns the
   * number of ended sessions. Throws NOT_FOUND.
   */
  setPersonDisabled(
    by: Actor,
    person: string,
    reason: string | null,
    request?: RequestKey,
  ): Promise<number>;
}

export type PeopleDeps = SignInsDeps;

/** Assembles the parts, which share one host and one form of secrets. */
export function createPeople(deps: PeopleDeps): People {
  const { host } = deps;
  return {
    ...createSignIns(deps),
    ...createLinks(deps),
    ...createSessions(deps),
    ...createAccounts(deps),
    recordMailProblem: (person, text) =>
      recordMailProblem(host, { project: SYSTEM_PROJECT, subject: `people/${person}`, text }),
    personByEmail: (email) => personByEmail(host.view(SYSTEM_PROJECT), emailOrNone(email)),
    nameOf: (person) => nameOf(deps, person),
    ensurePerson: (by, about, request) => ensurePerson(deps, by, about, request),
    setPersonDisabled: (by, person, reason, request) =>
      setDisabled(deps, { by, request }, person, reason),
  };
}

function nameOf({ host }: PeopleDeps, person: string): string {
  const system = host.view(SYSTEM_PROJECT);
  const { displayName, email } = memberFactsOf(system, person, personRow(system, person).context);
  return email === '' || email === displayName ? displayName : `${displayName} (${email})`;
}

async function ensurePerson(
  { host, clock, random }: PeopleDeps,
  by: Actor,
  about: { readonly displayName: string; readonly email: string },
  request: RequestKey | undefined,
): Promise<string> {
  const id = ulid(clock.now(), random);
  const email = emailOrNone(about.email);
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by,
    ...(request && { request }),
    decide(draft) {
      const known = personByEmail(draft, email);
      if (known !== undefined) return { person: known };
      startPerson(draft, { id, email, displayName: displayedName(about.displayName, 'Unnamed') });
      return { person: id };
    },
  });
  return answer.person;
}

/**
 * Ends sessions and links. Personal keys are rejected while the person is locked, but not revoked.
 */
async function setDisabled(
  { host }: PeopleDeps,
  { by, request }: { readonly by: Actor; readonly request: RequestKey | undefined },
  person: string,
  reason: string | null,
): Promise<number> {
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by,
    ...(request && { request }),
    decide(draft) {
      personRow(draft, person);
      const about = { at: draft.at, by: by.name };
      if (reason === null) {
        draft.send('person', person, { type: 'enabled', ...about });
        return { sessions: 0 };
      }
      const sessions = endSignIns(draft, person, 'PERSON_DISABLED');
      draft.send('person', person, { type: 'disabled', ...about, reason });
      return { sessions };
    },
  });
  return answer.sessions;
}

/** A person in the projection; undefined if absent. */
export function personOf(host: Pick<Host, 'view'>, person: string): PersonContext | undefined {
  const row = host.view(SYSTEM_PROJECT).instance('person', person);
  return row?.context;
}
