/**
 * A time range of one VM with its columns: a stored day, the head, or both merged if late rows
 * overlap. Segments of a VM follow each other without overlap.
 */
import type { ColumnLayout, PickColumns } from './chunk-columns.ts';
import type { ColumnRun } from './column-run.ts';

/** Requests memory before it is allocated, bytes; throws if there is none left. */
export type TakeBytes = (bytes: number) => void;

/**
 * One segment of any kind. Its columns are read in two steps, so that everything a query needs is
 * loaded before any of it is used.
 */
export interface Segment {
  /** Unix ms of the first and the last row. */
  readonly startMs: number;
  readonly endMs: number;
  /** Changes with the segment's contents. */
  readonly version: number;
  /**
   * Announces that rows from this time on will be read, Unix ms; the version shows whether that
   * changes anything.
   */
  reach(fromMs: number): void;
  /**
   * Existing columns. May read chunks, and then decodes the columns picked by `pick` for the
   * subsequent `load`. Throws `ChunkGone`, `HistoryError` DAMAGED.
   */
  layouts(pick: PickColumns): readonly ColumnLayout[];
  /** Prepares the columns for `run`. Throws like `layouts`, and the error of `take`. */
  load(columns: readonly string[], take: TakeBytes): void;
  /** Marks columns as used, including computed ones by their name. */
  touch(columns: readonly string[]): void;
  /** A loaded column without its holes; undefined = nothing was observed. */
  run(column: string): ColumnRun | undefined;
  /**
   * A value computed from loaded columns, cached as long as `inputs` is the same: a number that
   * changes with its inputs beyond this segment. `name` must not be the name of a column.
   */
  computed(name: string, inputs: number, make: () => ColumnRun | undefined): ColumnRun | undefined;
}
