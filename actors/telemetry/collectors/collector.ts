/**
 * The parts of a collector: a source that returns rows on request, and a sink that accepts them.
 * Sources differ in where they read (this host's /proc, libvirt, a recording). `loop.ts` decides
 * when they are read and what happens when they fail.
 *
 * One rule applies to all of them: values that were not observed are not listed. No zero, no NaN
 * and no repeated last value replaces a failed reading.
 */
import { type Absence, absenceKey } from '../../../streams/telemetry/metrics/absence-causes.ts';
import type { SeriesKey, VmState } from '../../../streams/telemetry/samples/batch.ts';
import type { Rejection } from '../ingest/rejections.ts';

/** One observed value of a series. Always finite. */
export type ObservedValue = readonly [key: SeriesKey, value: number];

/** A VM at one instant, as seen by one source. */
export interface ObservedRow {
  /** VM id: the libvirt domain's UUID, or a hash of this host's machine-id. */
  readonly vm: string;
  readonly displayName: string;
  /** Unix ms. */
  readonly observedMs: number;
  /** Changes when the VM's counters restart; '' = unknown, or the VM is not running. */
  readonly bootId: string;
  /** Increases with every row of a boot, whatever the calendar does. */
  readonly sequence: number;
  /** vCPUs observed with this row; absent = not reported. */
  readonly vcpus?: number;
  readonly state: VmState;
  /** Reason in the source's words, e.g. `destroyed`; '' = none. */
  readonly stateReason: string;
  /** Each series at most once. May be empty: only the state was observed. */
  readonly values: readonly ObservedValue[];
  /** Readings that the source left out of `values`, each with its cause; absent: none. */
  readonly absences?: readonly Absence[];
  /** Observed readings that cannot be stored, set by the loop; absent: none. */
  readonly leftOut?: readonly Rejection[];
}

/**
 * The row with its absences as values, their form in transport: one sample each, through every
 * buffer and log that a row passes.
 */
export function withAbsences(observed: ObservedRow): ObservedRow {
  const { absences, ...row } = observed;
  if (absences === undefined || absences.length === 0) return observed;
  const keys = new Set(absences.map(absenceKey));
  const values = [...keys].map((key): ObservedValue => [key, 1]);
  return { ...row, values: [...row.values, ...values] };
}

/**
 * The sink of rows: ingest. Rejects if the rows are not durable; the same rows may be offered
 * again.
 */
export interface RowSink {
  observe(project: string, rows: readonly ObservedRow[]): Promise<void>;
  /** Retires VMs that are missing in two complete listings. Rejects if that is not recorded. */
  retire?(project: string, vms: readonly string[]): Promise<void>;
}

/** Reason why a reading is missing: a closed set, the same in logs, status and metrics. */
export type FaultReason =
  /** A program or file that the source needs is not on this machine. */
  | 'SOURCE_MISSING'
  /** The source exists but does not respond, or responds with an error. */
  | 'SOURCE_FAILED'
  /** No response by the deadline; the process was killed. */
  | 'TIMED_OUT'
  /** The response could not be parsed. */
  | 'UNREADABLE'
  /** Some readings are missing; the others are available. */
  | 'INCOMPLETE'
  /** All known VMs, or many at once, are not listed: no conclusion is drawn. */
  | 'LISTING_DOUBTED'
  /** The sink did not accept the rows; they are kept, with their times, and offered again. */
  | 'SINK_FAILED'
  /** Rows were dropped because the sink rejected them for too long. */
  | 'ROWS_DROPPED'
  /** Readings cannot be stored as they are: they are left out; the rest of the row is passed on. */
  | 'NOT_STORABLE'
  /** The placement of the VMs could not be written; it is retried, and their rows are passed on. */
  | 'STATE_NOT_STORED';

/** A part that a source could not read. The rest of the reading is valid. */
export interface SourceFault {
  readonly reason: FaultReason;
  /** The attempted action, the observation, and the remedy. */
  readonly message: string;
  /** The VM concerned; absent = the source as a whole. */
  readonly vm?: string;
  /** The project whose rows the sink rejected; absent = no project's rows are concerned. */
  readonly project?: string;
}

/** Result of one round of a source: rows, and the faults that prevented others. */
export interface Reading {
  readonly rows: readonly ObservedRow[];
  readonly faults: readonly SourceFault[];
  /** All existing VMs, with or without a row; absent: the source does not know them this time. */
  readonly listed?: ReadonlySet<string>;
}

/** A place where VMs are observed. `loop.ts` reads it, never twice at once. */
export interface Source {
  /** Short constant name, e.g. `host` or `libvirt`: for logs, status and the phase of its ticks. */
  readonly name: string;
  /**
   * Reads once. Ends within a deadline of its own whatever the outside does, and at once on
   * `signal`. Failures of the outside are faults in the result, never exceptions.
   */
  read(signal: AbortSignal): Promise<Reading>;
  /** Ends the work beside the rounds. A second call is harmless. */
  close(): Promise<void>;
}
