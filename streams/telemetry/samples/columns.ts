/**
 * One VM's time range as columns: the result of a history read, and the input of metrics. Rows are
 * sorted by time, one row per time; columns share the time column.
 */
import type { SeriesKey } from './batch.ts';

/** Columns of one VM over a time range. Read-only: they may be shared. */
export interface VmColumns {
  /** Unix ms, strictly increasing. */
  readonly timesMs: Float64Array;
  /** One column per series, as long as `timesMs`; NaN = no value observed at that time. */
  readonly series: ReadonlyMap<SeriesKey, Float64Array>;
  /** vCPUs observed with the row; NaN = not reported. */
  readonly vcpus: Float64Array;
  /** Index into `VM_STATES`. */
  readonly state: Uint8Array;
  /**
   * Index into `strings`; '' = not reported. A change means that the guest booted between the rows.
   */
  readonly boot: Uint32Array;
  /** The source's own word for the state, e.g. `destroyed`; index into `strings`, '' = none. */
  readonly stateReason: Uint32Array;
  readonly strings: readonly string[];
  /** 1 if another row of that time contradicted this one, which was first; otherwise 0. */
  readonly conflicted: Uint8Array;
  /**
   * Number of rows with an existing time and other values that were rejected in favour of the first
   * one.
   */
  readonly conflicts: number;
}

/** A row that reports the VM's state; a source inside the guest reports none. */
export interface StatedRow {
  /** Unix ms. */
  readonly observedMs: number;
  /** Index into `VM_STATES`, never that of UNKNOWN. */
  readonly state: number;
}

/** A VM's newest row, with the data needed to compute its rates and its state. */
export interface LatestRow {
  readonly observedMs: number;
  /** The last reported state, however old; absent: none of the rows read reports one. */
  readonly stated?: StatedRow;
  /**
   * vCPUs of this row, or of the newest row in the 90 s before it that reports them; NaN = none.
   */
  readonly vcpus: number;
  /** Includes the row before it, if any: rates need two. */
  readonly columns: VmColumns;
}
