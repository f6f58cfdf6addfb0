/**
 * Who is at the browser, and how a session begins and ends there. A sign-in always makes a session
 * of its own: one that the browser had before is ended, never taken over, so that nobody can plant
 * a session and wait for its owner (session fixation).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LiveSession, People, StartedSession } from '../../../actors/identity/people-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Log } from '../../platform/log.ts';
import {
  clearCookie,
  type RotateCookie,
  readSessionCookie,
  setSessionCookie,
} from './session-cookie.ts';

export interface VisitorsDeps {
  readonly people: Pick<People, 'sessionOf' | 'endSession' | 'endAllSessions'>;
  readonly origin: () => string;
  readonly rotateCookie: RotateCookie;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Visitors {
  /**
   * The session that a request shows, its cookie changed when that is due, taken away when it is
   * of no use any more. Throws MALFORMED_CREDENTIAL for two cookies.
   */
  sessionOf(request: FastifyRequest, reply: FastifyReply): Promise<LiveSession | undefined>;
  /**
   * Id of the person whose session a request shows. Throws MALFORMED_CREDENTIAL for two cookies:
   * to be asked before a link or a code is used up.
   */
  personOf(request: FastifyRequest): string | undefined;
  /** Hands over a new session, and ends the one that the browser had. */
  begin(request: FastifyRequest, reply: FastifyReply, started: StartedSession): Promise<void>;
  /** Ends the session, or all of the person; how many there were. */
  end(request: FastifyRequest, reply: FastifyReply, everywhere: boolean): Promise<number>;
}

export function createVisitors(deps: VisitorsDeps): Visitors {
  const { people, origin, rotateCookie, clock, log } = deps;

  /** undefined: no cookie, or one that opens nothing. */
  function shown(request: FastifyRequest): LiveSession | undefined {
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
      const session = shown(request);
      if (session) {
        const cookie = await rotateCookie(session);
        if (cookie !== undefined) reply.header('set-cookie', cookie);
      } else if (readSessionCookie(request.headers.cookie, origin()) !== undefined) {
        reply.header('set-cookie', clearCookie(origin(), 'session'));
      }
      return session;
    },
    personOf: (request) => shown(request)?.person,
    async begin(request, reply, started) {
      reply.header('set-cookie', setSessionCookie(origin(), started, clock.now()));
      const before = shown(request);
      if (!before || before.session === started.session) return;
      try {
        await people.endSession(before.session, 'SIGNED_OUT');
      } catch (error) {
        // It is out of the browser; what is left of it ends by itself.
        const { session } = before;
        log.warn({ err: error, session, part: 'sign-in' }, 'A session before was not ended');
      }
    },
    async end(request, reply, everywhere) {
      const session = shown(request);
      reply.header('set-cookie', clearCookie(origin(), 'session'));
      if (!session) return 0;
      if (everywhere) return people.endAllSessions(session.person, 'SIGNED_OUT_EVERYWHERE');
      await people.endSession(session.session, 'SIGNED_OUT');
      return 1;
    },
  };
}

const AGENT_CHARS_MAX = 100;

/** What signed in, for the list of sessions: the browser's own word, made short and printable. */
export function agentOf({ headers }: FastifyRequest): string {
  return (headers['user-agent'] ?? '').replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, AGENT_CHARS_MAX);
}
