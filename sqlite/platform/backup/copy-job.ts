/** Messages between the copying thread and whoever starts it. */

/** A database to copy. */
export interface CopyRequest {
  readonly path: string;
  /** File to make; what is there is replaced. */
  readonly to: string;
  /** A query whose rows are answered, as the copy has them. */
  readonly ask?: string;
}

/** A copy that is on disk. */
export interface CopiedFile {
  readonly to: string;
  readonly bytes: number;
  /** Of the file, hex. */
  readonly sha256: string;
  /** Rows of the query; empty without one. */
  readonly answers: readonly unknown[];
}

export interface CopyProgress {
  readonly bytes: number;
  readonly total: number;
}

export interface CopyJob {
  readonly files: readonly CopyRequest[];
  /** One Int32, a state of `GATE`. */
  readonly gate: SharedArrayBuffer;
}

/**
 * - `waiting`: the writers run. `go`: they stand still, begin reading. `frozen`: reading has begun.
 * - `missed`: the writers run again; what has begun is to be ended.
 */
export const GATE = { waiting: 0, go: 1, frozen: 2, missed: 3 } as const;

export type CopyMessage =
  | { readonly opened: true }
  | { readonly progress: CopyProgress }
  | { readonly copied: readonly CopiedFile[] }
  | { readonly fault: { readonly code: string; readonly message: string } };
