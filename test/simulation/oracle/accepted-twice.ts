/**
 * One accepted attempt per delivery. A receiver may get a message twice only if the sender could
 * not know, or could not record, that the first attempt was accepted: the answer was lost, or the
 * member was in trouble between the answer and the next attempt.
 */
import type { Received } from '../endpoints.ts';
import type { Run } from '../run.ts';
import type { Facts } from './facts.ts';
import type { Problem } from './problem.ts';

export function* acceptedTwice(run: Run, { steps }: Facts): Generator<Problem> {
  const opened = new Map<string, number>();
  const lost = new Map<string, number>();
  for (const { step, sentMs } of steps) {
    const { machine, event } = step;
    if (machine !== 'delivery') continue;
    if (event.type === 'cleared') opened.set(String(event.attemptId), sentMs);
    if (event.type === 'attemptLost') lost.set(String(event.attemptId), sentMs);
  }
  const byDelivery = Map.groupBy(run.outside.received, ({ deliveryId }) => deliveryId);
  for (const [delivery, received] of byDelivery) {
    for (const [i, first] of received.entries()) {
      const next = received[i + 1];
      if (!next || !first.accepted || !isKnown(first)) continue;
      // The next attempt was decided when it was opened, or earlier, when this one was called lost.
      const openedMs = opened.get(next.attemptId) ?? next.elapsedMs;
      const untilMs = lost.get(first.attemptId) ?? openedMs;
      if (isExcused(run, first, untilMs)) continue;
      const text =
        `${first.address} accepted ${first.attemptId} of ${delivery}, and ${first.member} got ` +
        `the answer; ${next.member} also sent ${next.attemptId}`;
      yield { invariant: 'one accepted attempt for each delivery', text, atMs: next.elapsedMs };
    }
  }
}

/** True if its sender learned that it was accepted. */
function isKnown({ answered }: Received): boolean {
  return answered.outcome === 'accepted';
}

/** Maximum time to record an outcome while appends are lost, ms. */
const RECORD_MS = 6_000;

function isExcused({ cluster }: Run, first: Received, untilMs: number): boolean {
  const { member, elapsedMs: sentMs, answered } = first;
  const sender = cluster.members.find(({ name }) => name === member);
  const recordedMs = answered.elapsedMs + RECORD_MS;
  const end = Math.max(untilMs, recordedMs);
  // A member that froze during the attempt gets the answer when it thaws; the attempt may have been
  // recorded as lost before that. Earlier faults do not excuse a member that had time to record.
  const fromMs = untilMs < recordedMs ? sentMs : answered.elapsedMs;
  return !sender?.isWellIn(fromMs, end) || cluster.isLeaderlessIn(fromMs, end);
}
