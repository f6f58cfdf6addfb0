/**
 * A range of one column without holes: only the observed values. The merge rule for rows
 * (`rows.ts`) applies to each column separately, so columns are merged without the rows around
 * them.
 */

import { firstAtOrAfter } from '../rows.ts';

/** Never written to after creation: many readers share the object for a long time. */
export interface ColumnRun {
  /** Unix ms, strictly increasing. */
  readonly timesMs: Float64Array;
  /** As long as `timesMs`; never NaN. */
  readonly values: Float64Array;
  /** Our samples never mark the end of their series. */
  readonly stale: null;
}

/** The observed entries; undefined if there are none. NaN = not observed. */
export function runOf(timesMs: Float64Array, values: Float64Array): ColumnRun | undefined {
  let count = 0;
  for (let i = 0; i < values.length; i++) if (!Number.isNaN(values[i])) count++;
  if (count === 0) return undefined;
  if (count === values.length) return { timesMs, values, stale: null };
  const run = { timesMs: new Float64Array(count), values: new Float64Array(count), stale: null };
  for (let i = 0, next = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (Number.isNaN(value)) continue;
    run.timesMs[next] = timesMs[i] as number;
    run.values[next++] = value;
  }
  return run;
}

/**
 * Several runs as one. Consecutive ones are joined; if two have an entry of the same time, the
 * earlier in the list takes precedence.
 */
export function mergeRuns(runs: readonly ColumnRun[]): ColumnRun | undefined {
  const [first, ...rest] = runs;
  if (first === undefined || rest.length === 0) return first;
  if (runs.every((run, i) => i === 0 || startOf(run) > endOf(runs[i - 1] as ColumnRun))) {
    return joined(runs);
  }
  return rest.reduce(mergeTwo, first);
}

/** Entries at or after `fromMs`, over the same memory; the run itself if that is all of it. */
export function runFrom(run: ColumnRun, fromMs: number): ColumnRun | undefined {
  const from = firstAtOrAfter(run.timesMs, fromMs);
  if (from === 0) return run;
  if (from === run.timesMs.length) return undefined;
  return { timesMs: run.timesMs.subarray(from), values: run.values.subarray(from), stale: null };
}

/** Time of the run's first value, Unix ms; a run is never empty. */
export function startOf({ timesMs }: ColumnRun): number {
  return timesMs[0] as number;
}

function endOf({ timesMs }: ColumnRun): number {
  return timesMs[timesMs.length - 1] as number;
}

function joined(runs: readonly ColumnRun[]): ColumnRun {
  const length = runs.reduce((sum, run) => sum + run.timesMs.length, 0);
  const timesMs = new Float64Array(length);
  const values = new Float64Array(length);
  let at = 0;
  for (const run of runs) {
    timesMs.set(run.timesMs, at);
    values.set(run.values, at);
    at += run.timesMs.length;
  }
  return { timesMs, values, stale: null };
}

function mergeTwo(a: ColumnRun, b: ColumnRun): ColumnRun {
  const timesMs = new Float64Array(a.timesMs.length + b.timesMs.length);
  const values = new Float64Array(timesMs.length);
  let [i, k, length] = [0, 0, 0];
  while (i < a.timesMs.length || k < b.timesMs.length) {
    const [left, right] = [a.timesMs[i] ?? Infinity, b.timesMs[k] ?? Infinity];
    const takesLeft = left <= right;
    timesMs[length] = takesLeft ? left : right;
    values[length++] = (takesLeft ? a.values[i] : b.values[k]) as number;
    if (takesLeft) i++;
    if (right <= left) k++;
  }
  return { timesMs: timesMs.slice(0, length), values: values.slice(0, length), stale: null };
}
