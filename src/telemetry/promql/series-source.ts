/**
 * The engine's source of samples, implemented by the side that owns them. It is confined to one
 * project: the engine never names a project, so no expression can reach another one.
 */
import type { Budget } from './budget.ts';
import type { Matcher } from './matcher.ts';
import type { Labels, SampleRun } from './values.ts';

/** One series with the samples of a selection, as read-only views of the source's arrays. */
export interface StoredSeries {
  /** Labels, `__name__` included. */
  readonly labels: Labels;
  /** Runs in order of time; they do not overlap and none is empty. */
  readonly runs: readonly SampleRun[];
}

/** What one selector reads over all steps of a query: one request to the source. */
export interface Selection {
  /** All must match; at least one does not match the empty string. */
  readonly matchers: readonly Matcher[];
  /** Start of the time range, exclusive, Unix ms. */
  readonly afterMs: number;
  /** End of the time range, inclusive, Unix ms. */
  readonly throughMs: number;
}

/** The samples of one project. The engine calls it from its own thread, synchronously. */
export interface SeriesSource {
  /**
   * Returns each matching series once, in any order. A series without a sample in the time range
   * may be left out. Takes `STORED_SERIES_BYTES` per series from `budget`, plus the bytes that are
   * copied or decoded, and checks the budget as it goes.
   */
  select(selection: Selection, budget: Budget): readonly StoredSeries[];
}
