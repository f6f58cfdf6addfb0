/**
 * Range vector selectors: the source's own arrays, cut to what the windows reach, without stale
 * markers. Nothing is copied unless a marker has to come out; the windows themselves are slid by
 * the reader of the range.
 */
import type { Budget } from '../../budget.ts';
import { arrayBytes, takeValues } from '../../column-memory.ts';
import type { SampleRun, StoredSeries } from '../../series-source.ts';
import type { RangeSeries, RangeValue } from '../../values.ts';
import { firstAfter } from './vector-selector.ts';
import { type LookTimes, lastLook } from './window-times.ts';

const SAMPLE_BYTES = 16;
/** Of a series besides its samples: its lists, and views of the source's arrays. */
export const RANGE_SERIES_BYTES = 800;

/** A range, and the memory taken for what it alone refers to. */
export interface CopiedRange {
  readonly range: RangeValue;
  readonly copiedBytes: number;
}

/** Where a range looks at each step, and how far back. */
export interface Windows {
  readonly look: LookTimes;
  readonly rangeMs: number;
}

/** Series without a sample in any window are left out. */
export function selectRange(
  stored: readonly StoredSeries[],
  { look, rangeMs }: Windows,
  budget: Budget,
): CopiedRange {
  const series: RangeSeries[] = [];
  const endsMs = windowEnds(look, budget);
  let copiedBytes = arrayBytes(endsMs);
  for (const { labels, runs } of stored) {
    budget.check();
    budget.takeBytes(RANGE_SERIES_BYTES);
    copiedBytes += RANGE_SERIES_BYTES;
    const cut: SampleRun[] = [];
    for (const run of runs) {
      const within = cutRun(run, look.firstMs - rangeMs, lastLook(look));
      const kept = withoutMarkers(within, budget);
      if (kept === null) continue;
      cut.push(kept);
      if (kept.timesMs.length < within.timesMs.length) {
        copiedBytes += kept.timesMs.length * SAMPLE_BYTES;
      }
    }
    if (cut.length > 0) series.push({ labels, runs: cut });
  }
  return { range: { series, rangeMs, endsMs }, copiedBytes };
}

export function windowEnds(look: LookTimes, budget: Budget): Float64Array {
  const { firstMs, stepMs, count } = look;
  const ends = takeValues(count, budget);
  for (let i = 0; i < count; i++) ends[i] = firstMs + i * stepMs;
  return ends;
}

/** The part in (afterMs, throughMs]. */
function cutRun(run: SampleRun, afterMs: number, throughMs: number): SampleRun {
  const { timesMs } = run;
  const from = firstAfter(timesMs, afterMs, 0, timesMs.length);
  const to = firstAfter(timesMs, throughMs, from, timesMs.length);
  if (from === 0 && to === timesMs.length) return run;
  return {
    timesMs: timesMs.subarray(from, to),
    values: run.values.subarray(from, to),
    stale: run.stale?.subarray(from, to) ?? null,
  };
}

/** null where nothing else is in it. */
function withoutMarkers(run: SampleRun, budget: Budget): SampleRun | null {
  const { timesMs, values, stale } = run;
  if (timesMs.length === 0) return null;
  if (stale === null) return run;
  let kept = 0;
  for (const marker of stale) if (marker === 0) kept++;
  if (kept === 0) return null;
  if (kept === stale.length) return { timesMs, values, stale: null };
  budget.takeBytes(kept * SAMPLE_BYTES);
  const isSample = (_: number, i: number) => stale[i] === 0;
  return { timesMs: timesMs.filter(isSample), values: values.filter(isSample), stale: null };
}
