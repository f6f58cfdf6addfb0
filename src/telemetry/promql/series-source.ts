/**
 * The engine's source of samples, implemented by the side that owns them. It is already confined to
 * one project: the engine never names a project, so no expression can reach another one.
 */
import type { Budget } from './budget.ts';
import type { Labels } from './labels.ts';
import type { Matcher } from './matcher.ts';

/**
 * A run of samples of one series. The arrays may be shared with a cache: never write to them. They
 * may extend beyond the requested range; the evaluator finds its windows by time.
 */
export interface SampleRun {
  /** Unix ms, strictly increasing. */
  readonly timesMs: Float64Array;
  /** As long as `timesMs`, each one a sample; NaN is a value. */
  readonly values: Float64Array;
  /** 1 where the sample is a stale marker: the series ended there. null = none is. */
  readonly stale: Uint8Array | null;
}

export interface StoredSeries {
  /** With `__name__`. */
  readonly labels: Labels;
  /** In order of time, not overlapping, none empty. */
  readonly runs: readonly SampleRun[];
}

export interface Selection {
  /** All must match; at least one does not match the empty string. */
  readonly matchers: readonly Matcher[];
  /** Samples after this time are wanted, Unix ms, exclusive. */
  readonly afterMs: number;
  /** ... up to this one, inclusive. */
  readonly throughMs: number;
}

export interface SeriesSource {
  /**
   * Each matching series once, in any order; one without a sample in the stretch may be left out.
   * Takes from `budget` `STORED_SERIES_BYTES` for each, and what it must copy or decode, and checks
   * it as it goes.
   */
  select(selection: Selection, budget: Budget): readonly StoredSeries[];
}
