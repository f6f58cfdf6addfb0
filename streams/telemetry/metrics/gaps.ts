/** Stretches of a range without a value of the metric, and whose silence each of them is. */
import { GAP_TOLERANCE_MS } from '../entry.ts';
import { VM_STATES } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import type { DerivedSeries } from './query.ts';

/**
 * Why a stretch has no value. NO_SAMPLES: no row came. NOT_RUNNING: the hypervisor said all the
 * while that the VM was off. NOT_REPORTED: rows came, without (a usable reading of) the metric.
 */
export type GapReason = 'NO_SAMPLES' | 'NOT_RUNNING' | 'NOT_REPORTED' | 'CAPACITY_CHANGED';

/** No value of the metric between these times, Unix ms, longer than the gap tolerance. */
export interface MetricGap {
  readonly startMs: number;
  readonly endMs: number;
  readonly reason: GapReason;
}

/** Times in (fromMs, toMs] at which some label set has a value, sorted. */
export function observedTimes(
  series: readonly DerivedSeries[],
  fromMs: number,
  toMs: number,
): number[] {
  const times = new Set<number>();
  for (const { timesMs } of series) {
    for (const timeMs of timesMs) if (timeMs > fromMs && timeMs <= toMs) times.add(timeMs);
  }
  return [...times].sort((a, b) => a - b);
}

export interface GapFacts {
  /** Times with a value, sorted. */
  readonly observed: readonly number[];
  readonly capacityChanges: readonly number[];
  readonly columns: VmColumns;
  /** The range, Unix ms: open at its start, with its end. */
  readonly fromMs: number;
  readonly endMs: number;
}

/** The gaps of a range, oldest first. */
export function gapsOf({ observed, fromMs, endMs, ...facts }: GapFacts): MetricGap[] {
  const gaps: MetricGap[] = [];
  let startMs = fromMs;
  for (const [i, next] of [...observed, endMs].entries()) {
    if (next - startMs > GAP_TOLERANCE_MS) {
      const isObserved = i < observed.length;
      gaps.push({
        startMs,
        endMs: next,
        reason: reasonOf(startMs, next, { ...facts, isObserved }),
      });
    }
    startMs = next;
  }
  return gaps;
}

const OFF: ReadonlySet<number> = new Set([
  VM_STATES.indexOf('STOPPED'),
  VM_STATES.indexOf('CRASHED'),
]);

function reasonOf(
  startMs: number,
  endMs: number,
  facts: Pick<GapFacts, 'capacityChanges' | 'columns'> & { readonly isObserved: boolean },
): GapReason {
  const { capacityChanges, columns, isObserved } = facts;
  const inside = (timeMs: number): boolean => timeMs > startMs && timeMs < endMs;
  if (capacityChanges.some(inside)) return 'CAPACITY_CHANGED';
  // The first row after a silence has no rate, whatever it reports: the silence ends with the next.
  const { timesMs } = columns;
  const isFirst = (i: number): boolean =>
    timesMs[i + 1] === endMs &&
    isObserved &&
    (timesMs[i] ?? 0) - (timesMs[i - 1] ?? startMs) > GAP_TOLERANCE_MS;
  const states = columns.state.filter((_, i) => inside(timesMs[i] ?? 0) && !isFirst(i));
  if (states.length === 0) return 'NO_SAMPLES';
  return states.every((state) => OFF.has(state)) ? 'NOT_RUNNING' : 'NOT_REPORTED';
}
