/**
 * Arbitrary logs of one VM for property tests: observations on a jittered grid with gaps, which are
 * late, duplicated or contradicted, in batches of any size, with ticks in between.
 */
import fc from 'fast-check';
import type { EvaluationRule, LogEntry } from '../../streams/telemetry/entry.ts';
import { batchOf, cpuRule, type ShortRow, START_MS } from './evaluation-scenario.ts';

export interface Arrivals {
  readonly rule: EvaluationRule;
  readonly log: readonly LogEntry[];
  /** Rows of each entry in the order of the log, with their time in seconds since the start. */
  readonly rows: readonly (readonly Required<Pick<ShortRow, 'at' | 'cpu'>>[])[];
}

interface Observation {
  readonly at: number;
  readonly cpu: number;
  /** Seconds from observation to receipt. */
  readonly delay: number;
  /** Seconds until it is received again; 0 = once. */
  readonly again: number;
  /** Received again with another value. */
  readonly contradicts: boolean;
}

interface Bounds {
  /** Number of observations. Default 40. */
  readonly observations?: number;
  /** Longest time from observation to receipt, seconds. */
  readonly delayMax?: number;
  /** Longest time over which receipts travel in one batch, seconds. */
  readonly batchMax?: number;
  /** Longest time from the first receipt to a second one, seconds. */
  readonly againMax?: number;
}

const rule = fc.record({
  sustainedMs: fc.constantFrom(0, 60_000, 120_000, 300_000),
  recoveryMs: fc.constantFrom(0, 0, 60_000),
  recoveryThreshold: fc.constantFrom(undefined, undefined, 50),
});

const observation = ({ delayMax = 900, againMax = 400 }: Bounds) =>
  fc.record({
    /**
     * Sampling intervals since the previous one: mostly 1, sometimes around the tolerance or beyond
     * it.
     */
    intervals: fc.constantFrom(1, 1, 1, 1, 1, 1, 2, 3, 4, 12),
    jitter: fc.integer({ min: 0, max: 3 }),
    cpu: fc.constantFrom(95, 95, 95, 95, 97, 70, 10, 10),
    delay: fc.constantFrom(...upTo(delayMax, [0, 0, 0, 0, 1, 31, 95, 200, 290, 330, 900])),
    again: fc.constantFrom(...upTo(againMax, [0, 0, 0, 0, 0, 20, 100, 400])),
    contradicts: fc.boolean(),
  });

function upTo(max: number, values: readonly number[]): number[] {
  return values.filter((value) => value <= max);
}

/** Any log. */
export function arrivals(bounds: Bounds = {}): fc.Arbitrary<Arrivals> {
  const { observations = 40 } = bounds;
  return fc
    .record({
      rule,
      observations: fc.array(observation(bounds), {
        minLength: 1,
        maxLength: observations,
        size: 'max',
      }),
      /** Receipts within this many seconds travel in one batch. */
      batchSeconds: fc.constantFrom(...upTo(bounds.batchMax ?? 300, [0, 0, 45, 300])),
      ticks: fc.boolean(),
    })
    .map(({ rule: { recoveryThreshold, ...durations }, ...world }) => {
      const threshold = recoveryThreshold === undefined ? {} : { recoveryThreshold };
      const entries = logOf(placed(world.observations), world);
      return {
        rule: cpuRule({ ...durations, ...threshold }),
        log: entries.map(({ entry }) => entry),
        rows: entries.map(({ rows }) => rows),
      };
    });
}

function placed(
  observations: readonly (Omit<Observation, 'at'> & { intervals: number; jitter: number })[],
): Observation[] {
  let grid = 0;
  return observations.map(({ intervals, jitter, ...rest }) => {
    grid += 30 * intervals;
    return { at: grid + jitter, ...rest };
  });
}

interface PlacedEntry {
  readonly entry: LogEntry;
  readonly rows: Required<Pick<ShortRow, 'at' | 'cpu'>>[];
}

function logOf(
  observations: readonly Observation[],
  { batchSeconds, ticks }: { readonly batchSeconds: number; readonly ticks: boolean },
): PlacedEntry[] {
  const receipts = observations
    .flatMap(({ at, cpu, delay, again, contradicts }) => {
      const first = { receivedAt: at + delay, at, cpu };
      if (again === 0) return [first];
      return [first, { ...first, receivedAt: at + delay + again, cpu: contradicts ? 20 : cpu }];
    })
    .sort((a, b) => a.receivedAt - b.receivedAt);
  const entries: PlacedEntry[] = [];
  let tickAt = 0;
  for (let i = 0; i < receipts.length; ) {
    const startAt = receipts[i]?.receivedAt ?? 0;
    const batch = [];
    for (; (receipts[i]?.receivedAt ?? Infinity) <= startAt + batchSeconds; i++) {
      const receipt = receipts[i];
      if (receipt) batch.push(receipt);
    }
    const receivedAt = batch.at(-1)?.receivedAt ?? startAt;
    for (; ticks && tickAt <= receivedAt; tickAt += 30) {
      entries.push({ entry: { kind: 'tick', atMs: START_MS + tickAt * 1000 }, rows: [] });
    }
    // Order within a folded batch: by the source's own time, the first received first.
    const rows = batch.toSorted((a, b) => a.at - b.at);
    entries.push({ entry: { kind: 'batch', batch: batchOf(receivedAt, rows) }, rows });
  }
  return entries;
}
