/**
 * The engine's source of samples, implemented by the side that owns them. It is already confined to
 * one project: the engine never names a project, so no expression can reach another one.
 */
import type { Budget } from './budget.ts';
import type { Matcher } from './matcher.ts';
import type { Labels, SampleRun } from './values.ts';

/**
 * One series with the samples that a selection asked for, as views of what the source keeps: nobody
 * changes them.
 */
export interface StoredSeries {
  /** With `__name__`. */
  readonly labels: Labels;
  /** In order of time, not overlapping, none empty. */
  readonly runs: readonly SampleRun[];
}

/** What one selector reads over all steps of a query: one request to the source. */
export interface Selection {
  /** All must match; at least one does not match the empty string. */
  readonly matchers: readonly Matcher[];
  /** Samples after this time are wanted, Unix ms, exclusive. */
  readonly afterMs: number;
  /** ... up to this one, inclusive. */
  readonly throughMs: number;
}

/** The samples of one project. The engine calls it from its own thread, synchronously. */
export interface SeriesSource {
  /**
   * Each matching series once, in any order; one without a sample in the stretch may be left out.
   * Takes from `budget` `STORED_SERIES_BYTES` for each, and what it must copy or decode, and checks
   * it as it goes.
   */
  select(selection: Selection, budget: Budget): readonly StoredSeries[];
}
