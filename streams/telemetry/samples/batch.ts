/**
 * Samples in memory: columns, not objects. A VM's readings arrive as a *row* (one observation
 * time, about a dozen values); a batch holds rows of many VMs and projects side by side. Ingest
 * builds batches, the stream carries them encoded, evaluator and history read them.
 *
 * Absent is absent: a row carries only what was observed, every value is finite.
 */

/** Canonical key of a series within a VM: `name` or `name{label="value",...}`, labels sorted. */
export type SeriesKey = string;

/** Which series a row has, in order. Interned: equal lists are the same object within a batch. */
export interface Layout {
  readonly series: readonly SeriesKey[];
}

/** A VM by the ids that the log uses. */
export interface VmRef {
  /** Project id, e.g. `demo` (never the full resource name). */
  readonly project: string;
  /** VM id: the libvirt domain UUID, or a hash of this host's machine-id. */
  readonly vm: string;
}

/** Hypervisor's word on a VM; the code is stored. UNKNOWN = the source did not say. */
export const VM_STATES = ['UNKNOWN', 'RUNNING', 'PAUSED', 'STOPPED', 'CRASHED'] as const;
/** One of `VM_STATES`. Batches hold its index there. */
export type VmState = (typeof VM_STATES)[number];

/**
 * A batch of rows as columns; arrays of length `count` unless said otherwise. Times are Unix ms.
 * Row i has the values `values[valueOffset[i] .. valueOffset[i + 1])`, one for each series of
 * `layouts[layout[i]]`.
 */
export interface SampleBatch {
  readonly count: number;
  /** When ingest received it, Unix ms. */
  readonly receivedMs: number;
  readonly vms: readonly VmRef[];
  readonly layouts: readonly Layout[];
  /** Dictionary of boot ids and state reasons; entry 0 is always ''. */
  readonly strings: readonly string[];
  /** Index into `vms`. */
  readonly vm: Uint32Array;
  /** Index into `layouts`. */
  readonly layout: Uint32Array;
  readonly observedMs: Float64Array;
  /** The source's own counter of rows since its boot; orders rows when its clock goes back. */
  readonly sequence: Float64Array;
  /** Index into `strings`; '' = not reported. */
  readonly boot: Uint32Array;
  /** vCPUs observed with this row; NaN = not reported (only this column uses NaN for absent). */
  readonly vcpus: Float64Array;
  /** Index into `VM_STATES`. */
  readonly state: Uint8Array;
  /** Index into `strings`; '' = none. */
  readonly stateReason: Uint32Array;
  /** Length `count + 1`. */
  readonly valueOffset: Uint32Array;
  readonly values: Float64Array;
}
