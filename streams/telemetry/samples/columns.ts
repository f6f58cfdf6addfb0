/**
 * One VM's stretch of time as columns: what history hands to a reader, and what metrics are
 * derived from. Rows are sorted by time, one row per time; columns share the time column.
 */
import type { SeriesKey } from './batch.ts';

/**
 * Columns of one VM over a stretch of time. Whoever gets them does not change them: they may be
 * shared.
 */
export interface VmColumns {
  /** Unix ms, strictly increasing. */
  readonly timesMs: Float64Array;
  /** One column a series, as long as `timesMs`; NaN = no value observed at that time. */
  readonly series: ReadonlyMap<SeriesKey, Float64Array>;
  /** vCPUs observed with the row; NaN = not reported. */
  readonly vcpus: Float64Array;
  /** Index into `VM_STATES`. */
  readonly state: Uint8Array;
  /** Index into `strings`; '' = not reported. A change means the guest booted between the rows. */
  readonly boot: Uint32Array;
  /** The source's word for the state, e.g. `destroyed`; index into `strings`, '' = none. */
  readonly stateReason: Uint32Array;
  readonly strings: readonly string[];
  /** 1 where another row of that time contradicted this one, which was first; else 0. */
  readonly conflicted: Uint8Array;
  /** Same-time rows with another value that were refused in favour of the first one kept. */
  readonly conflicts: number;
}

/** History as its readers see it; the implementation runs reads in worker threads. */
export interface HistoryReader {
  /** Rows observed in [fromMs, toMs], both inclusive, each exactly once; absent VM: no rows. */
  read(request: {
    readonly project: string;
    readonly vm: string;
    readonly fromMs: number;
    readonly toMs: number;
    /** Series names (the part before the labels) wanted; absent = all. */
    readonly names?: readonly string[];
    /** Gives the read up; it then rejects with the signal's reason. */
    readonly signal?: AbortSignal;
  }): Promise<VmColumns>;
}

/** A row that reports the VM's state; a source inside the guest reports none. */
export interface StatedRow {
  /** Unix ms. */
  readonly observedMs: number;
  /** Index into `VM_STATES`, never that of UNKNOWN. */
  readonly state: number;
}

/** A VM's newest row, with what it takes to compute its rates and its state. */
export interface LatestRow {
  readonly observedMs: number;
  /** The last state that a row reported, however old; absent: no row that was read reports one. */
  readonly stated?: StatedRow;
  /** vCPUs of this row, or of the newest one of the 90 s before it that reports them; NaN = none. */
  readonly vcpus: number;
  /** The row before it, where there is one: rates need two. */
  readonly columns: VmColumns;
}
