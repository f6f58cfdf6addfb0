/**
 * Visitors: the start and end of browser sessions. A sign-in always starts a new session and ends
 * the one that the browser had, so that an attacker cannot plant a session and wait for the victim
 * to sign in (session fixation).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { People } from '../../../actors/identity/people.ts';
import type { LiveSession, StartedSession } from '../../../actors/identity/sessions.ts';
import type { SignInMethod } from '../../../machines/identity/session.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Origins } from '../../platform/http/service-address.ts';
import type { Log } from '../../platform/log.ts';
import { isAtPageHost } from './page-host.ts';
import {
  clearCookie,
  cookieName,
  type RotateCookie,
  readSessionCookie,
  setSessionCookie,
} from './session-cookie.ts';

export interface VisitorsDeps extends Origins {
  readonly people: Pick<People, 'sessionOf' | 'endSession' | 'endAllSessions'>;
  readonly rotateCookie: RotateCookie;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Visitors {
  /**
   * The session of a request. Rotates its cookie when due, and removes a useless one. Throws
   * MALFORMED_CREDENTIAL for two cookies.
   */
  sessionOf(request: FastifyRequest, reply: FastifyReply): Promise<LiveSession | undefined>;
  /**
   * Id of the person whose session a request carries. Throws MALFORMED_CREDENTIAL for two cookies,
   * so call it before a link or a code is used up.
   */
  personOf(request: FastifyRequest): string | undefined;
  /**
   * Sets the cookie of a new session, unless a program signs in under another name of this machine,
   * and ends the session that the browser had.
   */
  begin(request: FastifyRequest, reply: FastifyReply, started: StartedSession): Promise<void>;
  /** Ends the session, or all sessions of the person. */
  end(request: FastifyRequest, reply: FastifyReply, everywhere: boolean): Promise<EndedVisit>;
}

/** Result of a sign-out. */
interface EndedVisit {
  readonly sessionsEnded: number;
  /** How the browser's session began; undefined if it had none. */
  readonly method: SignInMethod | undefined;
}

export function createVisitors(deps: VisitorsDeps): Visitors {
  const { people, origin, rotateCookie, clock, log } = deps;

  /** undefined if there is no cookie, or no live session for it. */
  function sessionIn(request: FastifyRequest): LiveSession | undefined {
    const secret = readSessionCookie(request.headers.cookie, origin());
    if (secret === undefined) return undefined;
    try {
      return people.sessionOf(secret);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  return {
    async sessionOf(request, reply) {
      const session = sessionIn(request);
      if (session) {
        const cookie = await rotateCookie(session);
        if (cookie !== undefined) reply.header('set-cookie', cookie);
      } else if (readSessionCookie(request.headers.cookie, origin()) !== undefined) {
        reply.header('set-cookie', clearCookie(origin(), cookieName(origin(), 'session')));
      }
      return session;
    },
    personOf: (request) => sessionIn(request)?.person,
    async begin(request, reply, started) {
      if (isAtPageHost(deps, request)) {
        reply.header('set-cookie', setSessionCookie(origin(), started, clock.now()));
      }
      const before = sessionIn(request);
      if (!before || before.session === started.session) return;
      try {
        await people.endSession(before.session, 'SIGNED_OUT');
      } catch (error) {
        // The browser no longer has it, and it expires by itself.
        const { session } = before;
        log.warn(
          { err: error, session, part: 'sign-in' },
          'The previous session of a browser was not ended',
        );
      }
    },
    async end(request, reply, everywhere) {
      const session = sessionIn(request);
      reply.header('set-cookie', clearCookie(origin(), cookieName(origin(), 'session')));
      if (!session) return { sessionsEnded: 0, method: undefined };
      const { person, method } = session;
      if (everywhere) {
        const sessionsEnded = await people.endAllSessions(person, 'SIGNED_OUT_EVERYWHERE');
        return { sessionsEnded, method };
      }
      await people.endSession(session.session, 'SIGNED_OUT');
      return { sessionsEnded: 1, method };
    },
  };
}

const AGENT_CHARS_MAX = 100;

/** The User-Agent, shortened and printable, for the list of sessions. */
export function agentOf({ headers }: FastifyRequest): string {
  return (headers['user-agent'] ?? '').replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, AGENT_CHARS_MAX);
}
