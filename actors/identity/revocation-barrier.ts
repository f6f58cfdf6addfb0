/**
 * The revocation barrier: a change that narrows access gets its response only when every live
 * member has applied it, or rejects every credential by itself. No revocation is acknowledged while
 * another member would still accept the key.
 */
import type { MachineName, MachineTypes } from '../../machines/audit/registry.ts';
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor, Commit, Decision } from '../../streams/platform/commit/commit.ts';
import { withDeadline } from '../../streams/platform/deadline.ts';
import type { Membership } from '../../streams/platform/membership/membership.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import type { RunningHost } from '../platform/host/host.ts';

type EventNames = { readonly [M in MachineName]?: readonly MachineTypes[M]['event']['type'][] };

/** Events that may reduce someone's access. Each member applies expiry by its own clock. */
const NARROWING: EventNames = {
  credential: ['revoked', 'rotated'],
  session: ['ended'],
  person: ['disabled'],
  membership: ['removed', 'roleChanged'],
  serviceAccount: ['edited', 'disabled', 'deleted'],
  ciConnection: ['edited', 'disabled', 'accountDisabled', 'tokensEnded', 'deleted'],
  invitation: ['revoked'],
  enrolment: ['tokenWithdrawn', 'unenrolled'],
  recipient: ['removed', 'unsubscribed'],
};

const narrowing = new Set(
  Object.entries(NARROWING).flatMap(([machine, events]) =>
    events.map((type) => `${machine} ${type}`),
  ),
);

/** True if the commit may reduce someone's access. */
export function narrowsAccess({ decisions }: Pick<Commit, 'decisions'>): boolean {
  return decisions.some(narrows);
}

function narrows({ steps }: Decision): boolean {
  return steps.some(({ machine, event }) => narrowing.has(`${machine} ${event.type}`));
}

/** Maximum commits remembered, so that an exact resend waits as the first request did. */
const NARROWED_MAX = 1_000;
/** Maximum wait for other members, ms. A silent member counts as dead after 5 s. */
const WAIT_MS = 10_000;

/**
 * The host, whose `submit` waits for the other members. It refuses while this member may not
 * decide, because its clock is wrong or it may have missed a revocation. A single process has no
 * members to wait for.
 */
export function withRevocationBarrier(
  host: RunningHost,
  {
    member,
    clock,
  }: {
    readonly member: Pick<Membership, 'isAlone' | 'announce' | 'untilApplied' | 'refusal'>;
    readonly clock: Clock;
  },
): RunningHost {
  if (member.isAlone) return host;
  /** The actors who decided it, by the position of the commit. */
  const narrowed = new BoundedCache<number, readonly Actor[]>(NARROWED_MAX);
  host.onApplied(({ commit, sequence }) => {
    if (!narrowsAccess(commit)) return;
    narrowed.set(
      sequence,
      commit.decisions.filter(narrows).map(({ by }) => by),
    );
    // Another member waits for this announcement.
    member.announce();
  });
  const assertMayDecide = (): void => {
    const refusal = member.refusal();
    if (refusal !== undefined) throw new StreamUnavailable(refusal, 'refused');
  };
  return {
    ...host,
    async submit(submission) {
      assertMayDecide();
      const committed = await host.submit({
        ...submission,
        decide(draft) {
          // The submission may have waited long or lost races, and the clock may have changed.
          assertMayDecide();
          return submission.decide(draft);
        },
      });
      if (isAnswered(submission.by, narrowed.get(committed.sequence) ?? [])) {
        await withDeadline(clock, { ms: WAIT_MS, reason: notEverywhere }, (signal) =>
          member.untilApplied(committed.sequence, signal),
        );
      }
      return committed;
    },
  };
}

/**
 * True if this submission's response reports to a caller that access was narrowed. A part of the
 * service whose decision only shares the commit does not wait. Otherwise, outcomes of deliveries
 * would not be recorded while a member is disconnected, and another member would send them again.
 */
function isAnswered(by: Actor, narrowers: readonly Actor[]): boolean {
  if (by.kind !== 'service') return narrowers.length > 0;
  return narrowers.some(({ kind, name }) => kind === by.kind && name === by.name);
}

function notEverywhere(): Refusal {
  const sentence =
    'The change is stored, but not every member of the cluster has confirmed it: send the same ' +
    'request again';
  return new Refusal('NOT_READY', sentence);
}
