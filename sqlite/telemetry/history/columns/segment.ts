/**
 * A stretch of one VM's time with its columns: a stored day, the head, or both merged where late
 * rows overlap. Segments of a VM follow each other without overlap.
 */
import type { ColumnLayout, PickColumns } from './chunk-columns.ts';
import type { ColumnRun } from './column-run.ts';

/** Asks for memory before it is taken, bytes; throws when there is none left. */
export type TakeBytes = (bytes: number) => void;

/**
 * One stretch, whatever it is made of. Its columns are read in two steps, so that all that a query
 * needs is loaded before any of it is used.
 */
export interface Segment {
  /** Unix ms of the first and the last row. */
  readonly startMs: number;
  readonly endMs: number;
  /** Changes with the segment's contents. */
  readonly version: number;
  /** Rows from this time on will be read, Unix ms; the version shows whether that changes anything. */
  reach(fromMs: number): void;
  /**
   * Columns that there are. May read chunks, and then decodes what `pick` names of them for the
   * `load` that follows. Throws `ChunkGone`, `HistoryError` DAMAGED.
   */
  layouts(pick: PickColumns): readonly ColumnLayout[];
  /** Has the columns ready for `run`. Throws as `layouts` does, and what `take` throws. */
  load(columns: readonly string[], take: TakeBytes): void;
  /** Marks columns as used, computed ones by their name included. */
  touch(columns: readonly string[]): void;
  /** A loaded column without its holes; undefined = nothing of it was observed. */
  run(column: string): ColumnRun | undefined;
  /**
   * What follows from loaded columns, kept as long as `inputs` is the same: a number that changes
   * with whatever beyond this segment it is made of. `name` is not that of a column.
   */
  computed(name: string, inputs: number, make: () => ColumnRun | undefined): ColumnRun | undefined;
}
