/**
 * No decision follows the clock of a member that is far off. A member may need some seconds to
 * learn that it is.
 */
import type { Run } from '../run.ts';
import { START_MS } from '../world.ts';
import type { Facts } from './facts.ts';
import type { Problem } from './problem.ts';

/** The rejected error (10 s) plus the time until a renewal shows it (2 s), ms. */
const SKEW_MS_MAX = 12_000;
/** Maximum time until a member learns it by a renewal, or stops acting after its last one, ms. */
const UNKNOWN_MS = 6_000;
/** Maximum time between decision and send, ms. */
const PASSING_MS = 3_000;

export function* decidedByWrongClocks(run: Run, { steps }: Facts): Generator<Problem> {
  const { cluster, server } = run;
  if (cluster.members.length === 1) return;
  let last = 0;
  for (const { sequence, sentMs, atMs, writer, project } of steps) {
    if (sequence === last) continue;
    last = sequence;
    const member = cluster.members.find(({ name }) => writer.startsWith(`${name}-`));
    const skew = member?.skews.findLast(({ fromMs }) => fromMs <= sentMs);
    if (!member || !skew) continue;
    // It compares with the clock of the streams, which may itself be off and change with the
    // leader.
    const streams = server.clock.skewsIn(sentMs - UNKNOWN_MS, sentMs);
    if (streams.some((ms) => Math.abs(skew.ms - ms) < SKEW_MS_MAX)) continue;
    if (sentMs - skew.fromMs < UNKNOWN_MS) continue;
    // A commit behind a later head takes the head's time; only this clock's own error counts.
    if (Math.abs(atMs - START_MS - sentMs - skew.ms) > PASSING_MS) continue;
    const text = `${member.name}, whose clock is ${skew.ms} ms ahead, decided ${sequence} of ${project}`;
    yield { invariant: 'no decision by a wrong clock', text, atMs: sentMs };
  }
}
