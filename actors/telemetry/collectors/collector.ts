/**
 * The parts of a collector: a source that yields rows when asked, and a sink that takes them.
 * Sources differ in where they look (this host's /proc, libvirt, a recording). `loop.ts` decides
 * when they are asked and what happens when they fail.
 *
 * One rule holds for all of them: what was not observed is not listed. No zero, no NaN and no
 * repeated last value replaces a reading that failed.
 */
import { type Absence, absenceKey } from '../../../streams/telemetry/metrics/absence-causes.ts';
import type { SeriesKey, VmState } from '../../../streams/telemetry/samples/batch.ts';
import type { Rejection } from '../ingest/rejections.ts';

/** One observed value of a series. Always finite. */
export type ObservedValue = readonly [key: SeriesKey, value: number];

/** A VM at one instant, as one source saw it. */
export interface ObservedRow {
  /** VM id: the libvirt domain's UUID, or a hash of this host's machine-id. */
  readonly vm: string;
  readonly displayName: string;
  /** Unix ms. */
  readonly observedMs: number;
  /** Changes when the VM's counters restart; '' = unknown, or the VM is not running. */
  readonly bootId: string;
  /** Rises with every row of a boot, whatever the calendar does. */
  readonly sequence: number;
  /** vCPUs observed with this row; absent = not reported. */
  readonly vcpus?: number;
  readonly state: VmState;
  /** The source's word for why, e.g. `destroyed`; '' = none. */
  readonly stateReason: string;
  /** Every series at most once. May be empty: the state alone was observed. */
  readonly values: readonly ObservedValue[];
  /** Readings that the source left out of `values`, each with its cause; absent: none. */
  readonly absences?: readonly Absence[];
  /** Readings that were observed and cannot be stored, named by the loop; absent: none. */
  readonly leftOut?: readonly Rejection[];
}

/**
 * The row with its absences as values, which is how they travel: one sample each, through every
 * buffer and log that a row passes.
 */
export function withAbsences(observed: ObservedRow): ObservedRow {
  const { absences, ...row } = observed;
  if (absences === undefined || absences.length === 0) return observed;
  const keys = new Set(absences.map(absenceKey));
  const values = [...keys].map((key): ObservedValue => [key, 1]);
  return { ...row, values: [...row.values, ...values] };
}

/** The sink of rows: ingest. Rejects when they are not durable; the same rows may be offered again. */
export interface RowSink {
  observe(project: string, rows: readonly ObservedRow[]): Promise<void>;
  /** Retires VMs that two complete listings lack. Rejects when it is not recorded. */
  retire?(project: string, vms: readonly string[]): Promise<void>;
}

/** Why a reading is missing: a closed set, the same in logs, status and metrics. */
export type FaultReason =
  /** A program or file that the source lives on is not on this machine. */
  | 'SOURCE_MISSING'
  /** The source is there and does not answer, or answers with an error. */
  | 'SOURCE_FAILED'
  | 'ACCESS_DENIED'
  /** No answer by the deadline; what was asked has been killed. */
  | 'TIMED_OUT'
  /** The answer could not be understood. */
  | 'UNREADABLE'
  /** Some of the readings are missing, the others are there. */
  | 'INCOMPLETE'
  /** All VMs that were known, or many at once, are not listed: nothing is concluded from it. */
  | 'LISTING_DOUBTED'
  /** The sink did not take the rows; they are kept, with their times, and offered again. */
  | 'SINK_FAILED'
  /** Rows were dropped because the sink refused them for too long. */
  | 'ROWS_DROPPED'
  /** Readings cannot be stored as they are: they are left out, and the rest of the row goes on. */
  | 'NOT_STORABLE'
  /** Where the VMs are could not be written; it is tried again, and their rows go on. */
  | 'STATE_NOT_STORED';

/** One thing that a source could not read. The rest of the reading stands. */
export interface SourceFault {
  readonly reason: FaultReason;
  /** What was tried, what was seen, and what to do. */
  readonly message: string;
  /** The one VM it is about; absent = the source as a whole. */
  readonly vm?: string;
  /** The project whose rows the sink did not take; absent = it is about no project's rows. */
  readonly project?: string;
}

/** Result of one round of a source: rows, and the faults that prevented others. */
export interface Reading {
  readonly rows: readonly ObservedRow[];
  readonly faults: readonly SourceFault[];
  /** Every VM that there is, with a row or not; absent: the source does not know, this time. */
  readonly listed?: ReadonlySet<string>;
}

/** One place that VMs are observed at. `loop.ts` asks it, never two times at once. */
export interface Source {
  /** Short and constant, e.g. `host` or `libvirt`: for logs, status and the phase of its ticks. */
  readonly name: string;
  /**
   * Looks once. Ends within a deadline of its own, whatever the outside does, and at once on
   * `signal`. What the outside does wrong is a fault in the answer, never an exception.
   */
  read(signal: AbortSignal): Promise<Reading>;
  /** Ends what runs beside the rounds. Harmless on a second call. */
  close(): Promise<void>;
}
