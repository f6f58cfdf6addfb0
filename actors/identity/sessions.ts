/**
 * Sessions: begun by a sign-in's decision, read from the projection on each request (so that an
 * end acts on the next one), and ended when they were idle or an old secret turns up again. When a
 * session was last seen is off the commit path: lossy, but a secret's change is committed hourly,
 * so a loss shortens idleness by no more than that.
 *
 * A secret that was changed works until the new one is shown, and a minute more; meanwhile whoever
 * shows it gets another new one, and the one that nobody has shown is given up. So a lost answer
 * signs nobody out, and a theft is found: of two who began with one secret, one at most holds the
 * newest. The first to show it ends the secret before for the other; whoever then shows that one,
 * or at any time one that was given up, ends the session (SECRET_REUSED). Given-up ones are all
 * remembered, so a session gives up 16 at most: after them whoever lost an answer gets no further
 * secret, and goes on with the one they have. Whoever takes no new secret at all is out when a
 * session without use would be. A secret older than the one before, once in use, is unknown.
 */
import {
  canRotateSecret,
  GIVEN_UP_MAX,
  type SessionContext,
  type SignInMethod,
} from '../../machines/identity/session.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, Instance } from '../platform/host/host-port.ts';
import type { PeopleDeps } from './people-deps.ts';
import { assertActive } from './people-index.ts';
import type { ListedSession, LiveSession, People, StartedSession } from './people-port.ts';
import { sameDigest } from './sign-in-secrets.ts';
import { endSignIns, noteSignIn, revokeLinks, signInsOf } from './sign-ins.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Absolute end of a session after its begin, ms. */
export const SESSION_MS = 7 * DAY_MS;
export const CLI_SESSION_MS = 30 * DAY_MS;
/** A session that was not seen for so long is over, ms. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
export const CLI_SESSION_IDLE_MS = 7 * DAY_MS;
/** Age at which a secret is changed with the next request, ms. */
export const ROTATE_AFTER_MS = HOUR_MS;
/** How long the secret before still works once the new one was shown: requests under way, ms. */
export const ROTATION_GRACE_MS = 60_000;
/** What signed in, as kept; a User-Agent may be much longer. */
const AGENT_LENGTH_MAX = 200;

const SERVICE: Actor = { kind: 'service', name: 'service/sessions' };

export type Sessions = Pick<
  People,
  'sessionOf' | 'sessionsOf' | 'rotate' | 'endSession' | 'endOwnSession' | 'endAllSessions'
>;

/** A session that a decision begins. */
export interface NewSession {
  readonly id: string;
  readonly hash: string;
  readonly person: string;
  readonly method: SignInMethod;
  readonly agent: string;
}

/** Adds a session to a decision of `_system`; its absolute end, Unix ms. */
export function startSession(draft: Draft, { id, agent, ...about }: NewSession): number {
  const expiresMs = draft.at + (about.method === 'cli' ? CLI_SESSION_MS : SESSION_MS);
  noteSignIn(draft, about.person, 'session', id);
  draft.start('session', id, {
    ...{ at: draft.at, ...about, expiresMs },
    agent: agent.replace(/\p{Cc}+/gu, ' ').slice(0, AGENT_LENGTH_MAX),
  });
  return expiresMs;
}

export function createSessions(deps: PeopleDeps): Sessions {
  const { host } = deps;
  /** Changes of secrets under way: requests at one time get one new secret. */
  const rotations = new Map<string, Promise<StartedSession>>();
  const ending = new Set<string>();
  /** First sights of new secrets under way: a further change waits for it. */
  const sights = new Map<string, Promise<void>>();

  /** Nobody waits for it: the request that found the reason is refused by the same reason. */
  const endSoon = (id: string, reason: string): void => {
    if (ending.has(id)) return;
    ending.add(id);
    end(deps, id, reason, SERVICE)
      .catch((error: unknown) => deps.onFault('A session could not be ended', error))
      .finally(() => ending.delete(id));
  };
  const noteSeen = (id: string, hash: string): void => {
    if (sights.has(id)) return;
    const sight = noteSecretSeen(deps, id, hash);
    sights.set(id, sight);
    sight
      .catch((error: unknown) => deps.onFault('A new secret could not be noted as seen', error))
      .finally(() => sights.delete(id));
  };
  return {
    sessionOf: (secret) => sessionOf(deps, secret, { endSoon, noteSeen }),
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
        ...{ project: SYSTEM_PROJECT, by: { kind: 'human', name: `people/${person}` }, request },
        decide(draft) {
          const row = draft.instance('session', session);
          if (!row || contextOf(row).person !== person) {
            throw new Refusal('NOT_FOUND', `You have no session ${session}`);
          }
          endIn(draft, row, 'SIGNED_OUT');
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
  { host, clock, secrets, lastSeen }: PeopleDeps,
  secret: string,
  act: {
    readonly endSoon: (id: string, reason: string) => void;
    readonly noteSeen: (id: string, hash: string) => void;
  },
): LiveSession {
  const view = host.view(SYSTEM_PROJECT);
  const id = secrets.parse('session', secret);
  const row = id === undefined ? undefined : view.instance('session', id);
  const context = row && contextOf(row);
  const digest = secrets.hash(secret);
  // These are compared also when there is no such session, so that the time tells nothing.
  const isCurrent = sameDigest(context?.hash, digest);
  const isPrevious = sameDigest(context?.previous?.hash, digest);
  const isGivenUp = context?.givenUp.some((hash) => sameDigest(hash, digest)) === true;
  if (!row || !context || !(isCurrent || isPrevious || isGivenUp)) {
    throw new Refusal('MALFORMED_CREDENTIAL', 'The session is not one of this service: sign in');
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
    throw new Refusal('CREDENTIAL_EXPIRED', 'The session was not used for too long: sign in again');
  }
  assertActive(view, person);
  lastSeen.note(row.instance);
  const isNewUnseen = previous?.isNewUnseen === true;
  if (isCurrent && isNewUnseen) act.noteSeen(row.instance, digest);
  const dueMs = isCurrent ? ROTATE_AFTER_MS : ROTATION_GRACE_MS;
  const getsNewSecret = isCurrent || (isNewUnseen && canRotateSecret(context));
  const isRotationDue = getsNewSecret && nowMs - rotatedMs >= dueMs;
  return { session: row.instance, person, method, expiresMs, isRotationDue };
}

/** Throws CREDENTIAL_REVOKED or CREDENTIAL_EXPIRED unless the session is the person's and goes on. */
export function assertSessionOf(draft: Draft, id: string, person: string): void {
  const row = draft.instance('session', id);
  if (!row || contextOf(row).person !== person) throw over('SIGNED_OUT');
  assertLive(row, draft.at);
}

function assertLive(row: Instance<'session'>, nowMs: number): void {
  const { expiresMs, endedReason } = contextOf(row);
  if (row.value === 'ended') throw over(endedReason ?? 'SIGNED_OUT');
  if (row.value === 'active' && nowMs < expiresMs) return;
  throw new Refusal('CREDENTIAL_EXPIRED', 'The session is over: sign in again');
}

function idleMaxMs(method: SignInMethod): number {
  return method === 'cli' ? CLI_SESSION_IDLE_MS : SESSION_IDLE_MS;
}

/** The new secret has come to its owner, unless another one has taken its place since. */
async function noteSecretSeen({ host }: PeopleDeps, id: string, hash: string): Promise<void> {
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

async function rotate({ host, secrets }: PeopleDeps, session: string): Promise<StartedSession> {
  const minted = secrets.mint('session', session);
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by: SERVICE,
    decide(draft) {
      const row = draft.instance('session', session);
      if (!row) throw new Refusal('NOT_FOUND', `There is no session ${session}`);
      assertLive(row, draft.at);
      const { person, method, rotatedMs, expiresMs, previous } = contextOf(row);
      assertActive(draft, person);
      // Nobody has shown the last new one: its answer was lost.
      const dueMs = previous?.isNewUnseen ? ROTATION_GRACE_MS : ROTATE_AFTER_MS;
      if (draft.at - rotatedMs < dueMs) {
        // Another request, or another node, was faster: its secret is the one to use.
        throw new Refusal('IN_PROGRESS', 'The secret of the session has just been changed');
      }
      if (!canRotateSecret(contextOf(row))) {
        throw new Refusal('LIMIT_EXCEEDED', 'Nobody showed any of the last new secrets: show one', {
          limit: String(GIVEN_UP_MAX),
        });
      }
      const event = { type: 'rotated', at: draft.at, hash: minted.hash } as const;
      draft.send('session', session, { ...event, graceMs: idleMaxMs(method) });
      return { person, expiresMs };
    },
  });
  return { session, secret: minted.text, ...answer };
}

async function end({ host }: PeopleDeps, id: string, reason: string, by: Actor): Promise<void> {
  await host.submit({
    project: SYSTEM_PROJECT,
    by,
    decide(draft) {
      const row = draft.instance('session', id);
      return row ? endIn(draft, row, reason) : false;
    },
  });
}

/** Ends a session in a decision of `_system`, with its codes; false: it was over. */
export function endIn(draft: Draft, row: Instance<'session'>, reason: string): boolean {
  revokeLinks(draft, contextOf(row).person, reason, row.instance);
  return draft.send('session', row.instance, { type: 'ended', at: draft.at, reason }).changed;
}

function sessionsOf({ host, clock, lastSeen }: PeopleDeps, person: string): ListedSession[] {
  const view = host.view(SYSTEM_PROJECT);
  const nowMs = clock.now();
  return signInsOf(view, person).sessions.flatMap((session) => {
    const row = view.instance('session', session);
    if (!row) return [];
    const { method, agent, createdMs, rotatedMs, expiresMs } = contextOf(row);
    const lastUsedMs = Math.max(rotatedMs, lastSeen.of(session) ?? 0);
    const isOver = nowMs >= expiresMs || nowMs - lastUsedMs >= idleMaxMs(method);
    return isOver ? [] : [{ session, method, agent, createdMs, lastUsedMs, expiresMs }];
  });
}

function actorOf(row: Instance<'session'>): Actor {
  return { kind: 'human', name: `people/${contextOf(row).person}` };
}

function contextOf(row: Instance<'session'>): SessionContext {
  return row.context;
}

function over(cause: string): Refusal {
  const why = cause === 'SECRET_REUSED' ? ': an old secret of it was used' : '';
  return new Refusal('CREDENTIAL_REVOKED', `The session was ended${why}: sign in again`, { cause });
}
