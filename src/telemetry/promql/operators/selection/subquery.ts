/**
 * Subqueries: an instant vector expression, evaluated on a grid of its own and read as a range. The
 * grid lies on whole multiples of the step, so that the same time is evaluated whichever step of
 * the query asks for it.
 */
import type { Subquery } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { arrayBytes, takeValues } from '../../column-memory.ts';
import type { SampleRun } from '../../series-source.ts';
import type { Grid, RangeSeries, VectorValue } from '../../values.ts';
import { stepTime } from '../columns.ts';
import {
  type CopiedRange,
  RANGE_SERIES_BYTES,
  type Windows,
  windowEnds,
} from './range-selector.ts';
import { type LookTimes, lastLook } from './window-times.ts';

const SAMPLE_BYTES = 16;

/** null when no multiple of the step lies in any window. Source: Prometheus 3.5, `eval`. */
export function subqueryGrid(
  { rangeMs, stepMs }: Subquery,
  look: LookTimes,
  defaultStepMs: number,
): Grid | null {
  const step = stepMs ?? defaultStepMs;
  const startMs = step * (Math.floor((look.firstMs - rangeMs) / step) + 1);
  const endMs = lastLook(look);
  if (endMs < startMs) return null;
  return { startMs, stepMs: step, count: Math.floor((endMs - startMs) / step) + 1 };
}

/**
 * The columns as series of samples. A column with a value at every step is handed on as it is, with
 * one array of times for all of them.
 */
export function rangeOfColumns(
  vector: VectorValue | null,
  inner: Grid | null,
  { look, rangeMs }: Windows,
  budget: Budget,
): CopiedRange {
  const series: RangeSeries[] = [];
  const endsMs = windowEnds(look, budget);
  let copiedBytes = arrayBytes(endsMs);
  if (vector !== null && inner !== null) {
    const timesMs = takeValues(inner.count, budget);
    copiedBytes += arrayBytes(timesMs);
    for (let i = 0; i < inner.count; i++) timesMs[i] = stepTime(inner, i);
    for (const { labels, values, present } of vector.series) {
      budget.check();
      budget.takeBytes(RANGE_SERIES_BYTES);
      copiedBytes += RANGE_SERIES_BYTES;
      const run = compact({ timesMs, values, present }, budget);
      if (run.timesMs.buffer !== timesMs.buffer) copiedBytes += run.timesMs.length * SAMPLE_BYTES;
      if (run.timesMs.length > 0) series.push({ labels, runs: [run] });
    }
  }
  return { range: { series, rangeMs, endsMs }, copiedBytes };
}

interface Points {
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
  readonly present: Uint8Array;
}

/** The points that are present; views of the arrays where these lie in one stretch. */
export function compact({ timesMs, values, present }: Points, budget: Budget): SampleRun {
  const from = present.indexOf(1);
  const to = present.lastIndexOf(1) + 1;
  if (from === -1) return { timesMs: NOTHING, values: NOTHING, stale: null };
  let count = 0;
  for (let i = from; i < to; i++) count += present[i] as number;
  if (count === present.length) return { timesMs, values, stale: null };
  if (count === to - from) {
    return { timesMs: timesMs.subarray(from, to), values: values.subarray(from, to), stale: null };
  }
  budget.takeBytes(count * SAMPLE_BYTES);
  const times = new Float64Array(count);
  const kept = new Float64Array(count);
  for (let i = from, at = 0; i < to; i++) {
    if (present[i] === 0) continue;
    times[at] = timesMs[i] as number;
    kept[at++] = values[i] as number;
  }
  return { timesMs: times, values: kept, stale: null };
}

const NOTHING = new Float64Array(0);
