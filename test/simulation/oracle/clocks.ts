/**
 * Nothing is decided by the clock of a member that is far off: it may have some seconds in which it
 * does not know yet.
 */
import type { Run } from '../run.ts';
import { START_MS } from '../world.ts';
import type { Facts } from './facts.ts';
import type { Problem } from './problem.ts';

/** More than what is refused (10 s) by what a renewal takes to show it (2 s), ms. */
const SKEW_MS_MAX = 12_000;
/** A member knows after its next renewal, or acts no more after the last one, ms. */
const UNKNOWN_MS = 6_000;
/** Between deciding and sending, ms. */
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
    // It compares with the clock of the streams, which may be off itself, and change with their leader.
    const streams = server.clock.skewsIn(sentMs - UNKNOWN_MS, sentMs);
    if (streams.some((ms) => Math.abs(skew.ms - ms) < SKEW_MS_MAX)) continue;
    if (sentMs - skew.fromMs < UNKNOWN_MS) continue;
    // A commit of a later head takes its time: what shows is this clock's alone.
    if (Math.abs(atMs - START_MS - sentMs - skew.ms) > PASSING_MS) continue;
    const text = `${member.name}, whose clock is ${skew.ms} ms ahead, decides ${sequence} of ${project}`;
    yield { invariant: 'no decision by a wrong clock', text, atMs: sentMs };
  }
}
