/**
 * A recording as a source: each round yields the rows that have become due since the last one,
 * through the same loop and sink as live readings. On a virtual clock a test replays weeks in a
 * moment. On the system clock a demo replays last month at its original speed, or faster.
 */

import type { ObservedRow, Source } from '../../actors/telemetry/collectors/collector.ts';
import type { Clock } from '../../streams/platform/clock.ts';

export interface ReplayOptions {
  readonly clock: Clock;
  /**
   * One list per VM, or one for all. They are merged by time; rows of the same time keep their
   * order.
   */
  readonly recordings: readonly (readonly ObservedRow[])[];
  /** Seconds of the recording per second of the clock; Infinity = everything is due at once. */
  readonly speed: number;
  /** Time in the recording at which playback begins, Unix ms. Default: its first row's. */
  readonly fromMs?: number;
  /** Added to the rows' times. Default 0: original times. */
  readonly shiftMs?: number;
  /** Maximum number of rows per round; the others wait for the next. Default 10,000. */
  readonly rowsMax?: number;
}

const ROWS_MAX = 10_000;

export interface ReplaySource extends Source {
  /** Number of rows that remain. */
  remaining(): number;
}

/** Throws a RangeError if the speed is not above 0. */
export function createReplaySource(options: ReplayOptions): ReplaySource {
  const { clock, speed, shiftMs = 0, rowsMax = ROWS_MAX } = options;
  if (!(speed > 0)) throw new RangeError(`the speed of a replay must be above 0, not ${speed}`);
  // Array.sort is stable, so rows of the same time keep their order.
  const sorted = options.recordings.flat().sort((a, b) => a.observedMs - b.observedMs);
  const fromMs = options.fromMs ?? sorted[0]?.observedMs ?? 0;
  const startedMs = clock.elapsed();
  let next = sorted.findIndex((row) => row.observedMs >= fromMs);
  if (next < 0) next = sorted.length;

  return {
    name: 'replay',
    remaining: () => sorted.length - next,
    async read() {
      const elapsedMs = clock.elapsed() - startedMs;
      // Infinity times 0 is NaN, and everything is due from the start.
      const playedMs = speed === Infinity ? Infinity : fromMs + elapsedMs * speed;
      const first = next;
      while (next < sorted.length && next - first < rowsMax && isDue(sorted[next], playedMs))
        next++;
      const due = sorted.slice(first, next);
      const rows =
        shiftMs === 0 ? due : due.map((row) => ({ ...row, observedMs: row.observedMs + shiftMs }));
      return { rows, faults: [] };
    },
    async close() {},
  };
}

function isDue(row: ObservedRow | undefined, playedMs: number): boolean {
  return row !== undefined && row.observedMs <= playedMs;
}
