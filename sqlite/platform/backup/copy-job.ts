/** Messages between the copying thread and the thread that starts it. */

/** A database to copy. */
export interface CopyRequest {
  readonly path: string;
  /** File to create; an existing one is replaced. */
  readonly to: string;
  /** A query whose rows are returned, as the copy has them. */
  readonly ask?: string;
}

/** A copy on disk. */
export interface CopiedFile {
  readonly to: string;
  readonly bytes: number;
  /** Digest of the file, hex. */
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
 * - `waiting`: the writers run. `go`: they are paused; start reading. `frozen`: reading has
 *   started.
 * - `missed`: the writers run again, so the read is abandoned.
 */
export const GATE = { waiting: 0, go: 1, frozen: 2, missed: 3 } as const;

export type CopyMessage =
  | { readonly opened: true }
  | { readonly progress: CopyProgress }
  | { readonly copied: readonly CopiedFile[] }
  | { readonly fault: { readonly code: string; readonly message: string } };
