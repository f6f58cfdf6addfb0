/**
 * Sessions. A sign-in's decision starts one. It is read from the projection on each request, so
 * that its end takes effect on the next one. It ends when it was idle, or when an old secret is
 * used again. The last-seen time is not committed and may be lost. A secret's rotation is committed
 * hourly, so a loss shortens the idle time by at most an hour.
 *
 * A rotated secret works until the new one is used, and one minute more. Until then, its holder
 * gets another new secret on request, and the unused one is given up. So a lost response signs no
 * one out, and a theft is detected: of two holders of one secret, at most one has the newest. The
 * first to use it ends the previous secret for the other. Using that one later, or one that was
 * given up at any time, ends the session (SECRET_REUSED). All given-up secrets are remembered, so a
 * session gives up at most 16. After that, lost responses bring no further secret, and the current
 * one continues to work. A holder who never uses a new secret is signed out when an idle session
 * would be. Older secrets are unknown.
 */
import {
  canRotateSecret,
  GIVEN_UP_MAX,
  type SignInMethod,
} from '../../machines/identity/session.ts';
import { type Clock, isAhead } from '../../streams/platform/clock.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, Host, Instance, RequestKey } from '../platform/host/host-port.ts';
import { assertActive } from './people-index.ts';
import { isRecentSignIn, RECENT_MS, signInTooOld } from './recent-sign-in.ts';
import { type SignInSecrets, sameDigest } from './sign-in-secrets.ts';
import { endSignIns, recordSignIn, revokeLinks, signInsOf } from './sign-ins.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Maximum lifetime of a session, ms: 7 days. */
export const SESSION_MS = 7 * DAY_MS;
/** Maximum lifetime of a command line's session, ms: 30 days, whatever its use. */
export const CLI_SESSION_MS = 30 * DAY_MS;
/** Idle time after which a session ends, ms. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
/** Time without use that ends a command line's session, ms: 7 days. */
export const CLI_SESSION_IDLE_MS = 7 * DAY_MS;
/** Age at which a secret rotates with the next request, ms. */
export const ROTATE_AFTER_MS = HOUR_MS;
/**
 * Time for which the previous secret works after the first use of the new one, ms, for requests in
 * progress.
 */
export const ROTATION_GRACE_MS = 60_000;
/** Stored characters of a User-Agent, which may be much longer. */
const AGENT_LENGTH_MAX = 200;

const SERVICE: Actor = { kind: 'service', name: 'service/sessions' };

/** A session that has just started, or has a new secret. */
export interface StartedSession {
  readonly session: string;
  readonly person: string;
  /** Value of the cookie: `svc_session_<id>_<random><checksum>`. */
  readonly secret: string;
  /** Absolute end, Unix ms. */
  readonly expiresMs: number;
}

/** A session whose secret was presented, and which has neither ended nor become idle. */
export interface LiveSession {
  readonly session: string;
  readonly person: string;
  readonly method: SignInMethod;
  readonly expiresMs: number;
  /** True if its secret is old enough to rotate with this request. */
  readonly isRotationDue: boolean;
  /** True if the person signed in recently, see `recent-sign-in.ts`. */
  readonly isRecent: boolean;
}

/** A session as displayed to its person. Times are Unix ms. */
export interface ListedSession {
  readonly session: string;
  readonly method: SignInMethod;
  /** User-Agent of the client that signed in; '' = none. */
  readonly agent: string;
  readonly createdMs: number;
  /** Accurate to a few minutes. */
  readonly lastUsedMs: number;
  readonly expiresMs: number;
}

/** Sessions of people, in browsers and command lines. */
export interface Sessions {
  /** The session of a cookie's secret. Records that it was seen. Throws a `Refusal`, like a key. */
  sessionOf(secret: string): LiveSession;
  /**
   * Rotates the secret; the previous one works for another minute after the first use of the new
   * one. Concurrent requests get the same new secret. Throws a `Refusal` IN_PROGRESS if another
   * request has just rotated it; the response to that request sets the right cookie.
   */
  rotate(session: string): Promise<StartedSession>;
  /**
   * Also ends the unused codes for the command line that it confirmed. The sessions that it
   * confirmed end only for SECRET_REUSED: signing out of a browser leaves the command line signed
   * in.
   */
  endSession(session: string, reason: string): Promise<void>;
  /** Live sessions of a person, oldest first; at most 50. */
  sessionsOf(person: string): readonly ListedSession[];
  /**
   * Ends one of the caller's own sessions, with the codes and the sessions that it confirmed.
   * Changes nothing if it has ended. Throws a `Refusal`: NOT_FOUND.
   */
  endOwnSession(request: {
    readonly person: string;
    readonly session: string;
    readonly request: RequestKey;
  }): Promise<void>;
  /** Ends every session and every unused link of a person. Returns the number of sessions. */
  endAllSessions(
    person: string,
    reason: string,
    options?: { readonly by?: Actor; readonly request?: RequestKey },
  ): Promise<number>;
}

/** The host, the form of secrets, and the store of last-seen times. */
export interface SessionsDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly secrets: SignInSecrets;
  /** Last-seen times of sessions, Unix ms; they may be lost. */
  readonly lastSeen: {
    record(session: string): void;
    of(session: string): number | undefined;
  };
  /** Maximum age of a recent sign-in, ms; 0 = any. Default: `RECENT_MS`. */
  readonly recentMs?: number;
  /** Called when work without a waiting caller has failed. */
  readonly onFault: (what: string, error: unknown) => void;
}

/** A session to start in a decision. */
export interface NewSession {
  readonly id: string;
  readonly hash: string;
  readonly person: string;
  readonly method: SignInMethod;
  readonly agent: string;
  /** For `cli`: id of the session that confirmed it. */
  readonly confirmedBy?: string;
  /** Time of the sign-in, Unix ms; null = unknown. Absent: now. */
  readonly authenticatedMs?: number | null;
}

/** Adds a session to a decision of `_system`. Returns its absolute end, Unix ms. */
export function startSession(draft: Draft, session: NewSession): number {
  const { id, agent, authenticatedMs, ...about } = session;
  const expiresMs = draft.at + (about.method === 'cli' ? CLI_SESSION_MS : SESSION_MS);
  recordSignIn(draft, about.person, 'session', id);
  draft.start('session', id, {
    at: draft.at,
    ...about,
    expiresMs,
    // The provider's clock may be ahead.
    ...(authenticatedMs !== undefined && {
      authenticatedMs: authenticatedMs && Math.min(authenticatedMs, draft.at),
    }),
    agent: agent
      .replace(/\p{Cc}+/gu, ' ')
      .slice(0, AGENT_LENGTH_MAX)
      .toWellFormed(),
  });
  return expiresMs;
}

/** Wraps the host. Rotations in progress are held in memory, so there must be one per process. */
export function createSessions(deps: SessionsDeps): Sessions {
  const { host } = deps;
  /** Rotations in progress, so that concurrent requests get one new secret. */
  const rotations = new Map<string, Promise<StartedSession>>();
  const ending = new Set<string>();
  /** First uses of new secrets that are being recorded. A further rotation waits for them. */
  const sights = new Map<string, Promise<void>>();

  /** Not awaited, because the request that found the reason is refused for the same reason. */
  const endSoon = (id: string, reason: string): void => {
    if (ending.has(id)) return;
    ending.add(id);
    end(deps, id, reason, SERVICE)
      .catch((error: unknown) => deps.onFault('A session could not be ended', error))
      .finally(() => ending.delete(id));
  };
  const recordSeen = (id: string, hash: string): void => {
    if (sights.has(id)) return;
    const sight = recordSecretSeen(deps, id, hash);
    sights.set(id, sight);
    sight
      .catch((error: unknown) =>
        deps.onFault('The first use of a new secret could not be recorded', error),
      )
      .finally(() => sights.delete(id));
  };
  return {
    sessionOf: (secret) => sessionOf(deps, secret, { endSoon, recordSeen }),
    sessionsOf: (person) => sessionsOf(deps, person),
    rotate(session) {
      const begin = () => rotate(deps, session);
      const running = rotations.get(session) ?? sights.get(session)?.then(begin) ?? begin();
      rotations.set(session, running);
      return running.finally(() => rotations.delete(session));
    },
    async endSession(session, reason) {
      const row = host.view(SYSTEM_PROJECT).instance('session', session);
      if (row) await end(deps, session, reason, actorOf(row));
    },
    async endOwnSession({ person, session, request }) {
      await host.submit({
        project: SYSTEM_PROJECT,
        by: { kind: 'human', name: `people/${person}` },
        request,
        decide(draft) {
          const row = draft.instance('session', session);
          if (!row || row.context.person !== person) {
            throw new Refusal('NOT_FOUND', `You have no session ${session}`);
          }
          endWithConfirmed(draft, row, 'SIGNED_OUT');
          return {};
        },
      });
    },
    async endAllSessions(person, reason, { by, request } = {}) {
      const { answer } = await host.submit({
        project: SYSTEM_PROJECT,
        by: by ?? { kind: 'human', name: `people/${person}` },
        ...(request && { request }),
        decide: (draft) => ({ sessions: endSignIns(draft, person, reason) }),
      });
      return answer.sessions;
    },
  };
}

function sessionOf(
  { host, clock, secrets, lastSeen, recentMs = RECENT_MS }: SessionsDeps,
  secret: string,
  act: {
    readonly endSoon: (id: string, reason: string) => void;
    readonly recordSeen: (id: string, hash: string) => void;
  },
): LiveSession {
  const view = host.view(SYSTEM_PROJECT);
  const id = secrets.parse('session', secret);
  const row = id === undefined ? undefined : view.instance('session', id);
  const context = row?.context;
  const digest = secrets.hash(secret);
  // The secret of an unknown session is compared too, so that both cases take the same time.
  const isCurrent = sameDigest(context?.hash, digest);
  const isPrevious = sameDigest(context?.previous?.hash, digest);
  const isGivenUp = context?.givenUp.some((hash) => sameDigest(hash, digest)) === true;
  if (!row || !context || !(isCurrent || isPrevious || isGivenUp)) {
    throw new Refusal(
      'MALFORMED_CREDENTIAL',
      'The session was not issued by this service. Sign in',
    );
  }
  const nowMs = clock.now();
  assertLive(row, nowMs);
  const { person, method, expiresMs, rotatedMs, previous } = context;
  if (isGivenUp || (!isCurrent && nowMs >= (previous?.untilMs ?? 0))) {
    act.endSoon(row.instance, 'SECRET_REUSED');
    throw over('SECRET_REUSED');
  }
  const idleMs = nowMs - Math.max(rotatedMs, lastSeen.of(row.instance) ?? 0);
  if (idleMs >= idleMaxMs(method)) {
    act.endSoon(row.instance, 'IDLE');
    throw new Refusal('CREDENTIAL_EXPIRED', 'The session was idle for too long. Sign in again');
  }
  assertActive(view, person);
  lastSeen.record(row.instance);
  const isNewUnseen = previous?.isNewUnseen === true;
  if (isCurrent && isNewUnseen) act.recordSeen(row.instance, digest);
  const dueMs = isCurrent ? ROTATE_AFTER_MS : ROTATION_GRACE_MS;
  const getsNewSecret = isCurrent || (isNewUnseen && canRotateSecret(context));
  const isRotationDue = getsNewSecret && (nowMs - rotatedMs >= dueMs || isAhead(rotatedMs, nowMs));
  const isRecent = isRecentSignIn(context, nowMs, recentMs);
  return { session: row.instance, person, method, expiresMs, isRotationDue, isRecent };
}

/**
 * Throws unless the session may confirm a sign-in of the command line: CREDENTIAL_REVOKED or
 * CREDENTIAL_EXPIRED unless it belongs to the person and is live, HUMAN_OPERATION if it belongs to
 * a command line itself, SIGN_IN_TOO_OLD if it has no recent sign-in. Otherwise a stolen secret
 * could renew itself forever.
 */
export function assertMayConfirm(
  draft: Draft,
  { session: id, person, recentMs = RECENT_MS }: ConfirmingSession,
): void {
  const row = draft.instance('session', id);
  if (!row || row.context.person !== person) throw over('SIGNED_OUT');
  assertLive(row, draft.at);
  if (row.context.method === 'cli') {
    throw new Refusal(
      'HUMAN_OPERATION',
      'The session of a command line cannot confirm another sign-in. Sign in by a link, by mail or at the identity provider',
    );
  }
  if (!isRecentSignIn(row.context, draft.at, recentMs)) throw signInTooOld();
}

/** A session that confirms a sign-in of the command line. */
interface ConfirmingSession {
  readonly session: string;
  readonly person: string;
  readonly recentMs: number | undefined;
}

function assertLive(row: Instance<'session'>, nowMs: number): void {
  const { expiresMs, endedReason } = row.context;
  if (row.value === 'ended') throw over(endedReason ?? 'SIGNED_OUT');
  if (row.value === 'active' && nowMs < expiresMs) return;
  throw new Refusal('CREDENTIAL_EXPIRED', 'The session has expired. Sign in again');
}

function idleMaxMs(method: SignInMethod): number {
  return method === 'cli' ? CLI_SESSION_IDLE_MS : SESSION_IDLE_MS;
}

/** Records that the new secret was used, unless another one has replaced it since. */
async function recordSecretSeen({ host }: SessionsDeps, id: string, hash: string): Promise<void> {
  await host.submit({
    project: SYSTEM_PROJECT,
    by: SERVICE,
    decide(draft) {
      if (!sameDigest(draft.instance('session', id)?.context.hash, hash)) return;
      const event = { type: 'secretSeen', at: draft.at, graceMs: ROTATION_GRACE_MS } as const;
      draft.send('session', id, event);
    },
  });
}

async function rotate({ host, secrets }: SessionsDeps, session: string): Promise<StartedSession> {
  const minted = secrets.mint('session', session);
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by: SERVICE,
    decide(draft) {
      const row = draft.instance('session', session);
      if (!row) throw new Refusal('NOT_FOUND', `There is no session ${session}`);
      assertLive(row, draft.at);
      const { person, method, rotatedMs, expiresMs, previous } = row.context;
      assertActive(draft, person);
      // The last new secret was never used, because its response was lost.
      const dueMs = previous?.isNewUnseen ? ROTATION_GRACE_MS : ROTATE_AFTER_MS;
      if (draft.at - rotatedMs < dueMs && !isAhead(rotatedMs, draft.at)) {
        // Another request, or another node, was faster. Its secret is the one to use.
        throw new Refusal(
          'IN_PROGRESS',
          'The secret of the session has just been rotated by another request',
        );
      }
      if (!canRotateSecret(row.context)) {
        throw new Refusal(
          'LIMIT_EXCEEDED',
          'None of the last new secrets was used. Use one of them',
          {
            limit: String(GIVEN_UP_MAX),
          },
        );
      }
      const event = { type: 'rotated', at: draft.at, hash: minted.hash } as const;
      draft.send('session', session, { ...event, graceMs: idleMaxMs(method) });
      return { person, expiresMs };
    },
  });
  return { session, secret: minted.text, ...answer };
}

async function end({ host }: SessionsDeps, id: string, reason: string, by: Actor): Promise<void> {
  await host.submit({
    project: SYSTEM_PROJECT,
    by,
    decide(draft) {
      const row = draft.instance('session', id);
      if (!row) return false;
      // A thief may have started further sessions with it.
      return (reason === 'SECRET_REUSED' ? endWithConfirmed : endIn)(draft, row, reason);
    },
  });
}

/** Ends a session and its codes in a decision of `_system`; false if it had ended. */
function endIn(draft: Draft, row: Instance<'session'>, reason: string): boolean {
  revokeLinks(draft, row.context.person, reason, row.instance);
  return draft.send('session', row.instance, { type: 'ended', at: draft.at, reason }).changed;
}

/**
 * Ends a session that a user revokes, and the sessions of command lines that it confirmed, because
 * a thief may have started those. These confirm no further ones, see `assertMayConfirm`.
 */
export function endWithConfirmed(draft: Draft, row: Instance<'session'>, reason: string): boolean {
  if (!endIn(draft, row, reason)) return false;
  for (const id of signInsOf(draft, row.context.person).sessions) {
    const other = draft.instance('session', id);
    if (other?.context.confirmedBy === row.instance) endIn(draft, other, 'CONFIRMER_ENDED');
  }
  return true;
}

function sessionsOf({ host, clock, lastSeen }: SessionsDeps, person: string): ListedSession[] {
  const view = host.view(SYSTEM_PROJECT);
  const nowMs = clock.now();
  return signInsOf(view, person).sessions.flatMap((session) => {
    const row = view.instance('session', session);
    if (!row) return [];
    const { method, agent, createdMs, rotatedMs, expiresMs } = row.context;
    const lastUsedMs = Math.max(rotatedMs, lastSeen.of(session) ?? 0);
    const isOver = nowMs >= expiresMs || nowMs - lastUsedMs >= idleMaxMs(method);
    return isOver ? [] : [{ session, method, agent, createdMs, lastUsedMs, expiresMs }];
  });
}

function actorOf(row: Instance<'session'>): Actor {
  return { kind: 'human', name: `people/${row.context.person}` };
}

const WHY: Readonly<Record<string, string>> = {
  SECRET_REUSED: ': an old secret was used again',
  CONFIRMER_ENDED: ' with the session that confirmed it',
};

function over(cause: string): Refusal {
  const message = `The session was ended${WHY[cause] ?? ''}. Sign in again`;
  return new Refusal('CREDENTIAL_REVOKED', message, { cause });
}
