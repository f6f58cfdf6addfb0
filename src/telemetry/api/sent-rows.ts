/**
 * Converts rows of a `WriteSamples` message to rows of ingest. A part that cannot be stored is
 * rejected by the table in `actors/telemetry/ingest/rejections.ts`: its value, its field or its
 * row. Only a row of another project rejects the request, because the caller has no rights there.
 */
import { Buffer } from 'node:buffer';
import { asOneLine, oneLine } from '../../../actors/platform/plain-text.ts';
import { ID } from '../../../actors/platform/resource-id.ts';
import type { LeftOutReading, WriteRequest } from '../../../actors/telemetry/ingest/ingest-port.ts';
import {
  type RejectedSample,
  type RejectReason,
  refusesRow,
  rejectionCatalogue,
} from '../../../actors/telemetry/ingest/rejections.ts';
import {
  NearestSeries,
  SERIES_BYTES_MAX,
  seriesProblem,
  TEXT_LENGTH_MAX,
  VALUES_MAX,
} from '../../../actors/telemetry/ingest/series-form.ts';
import type { IngestRow } from '../../../actors/vms/sent-row.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { type SeriesKey, seriesKey, VM_STATES } from '../../../streams/telemetry/samples/batch.ts';
import { type LeftOut, type Row, Row_State } from '../../gen/svc/ingest/v1/ingest_pb.ts';
import { parseName } from '../../platform/api/resource-name.ts';

/** Maximum number of rejections that a response lists; the rest are counted. */
export const REJECTED_MAX = 5_000;
/** Maximum number of left-out readings recorded per row; a sender has at most a few. */
const LEFT_OUT_MAX = 20;
/** Maximum length of a name repeated in a rejection, characters; series names are far shorter. */
const SHOWN_MAX = 200;

/** Rejections due to the form of a request, in its order. */
export class FormRejections {
  readonly listed: RejectedSample[] = [];
  /** Rejections beyond `REJECTED_MAX`. */
  notListed = 0;

  add(rejection: RejectedSample): void {
    if (this.listed.length < REJECTED_MAX) this.listed.push(rejection);
    else this.notListed++;
  }
}

/** A row as far as it was readable in the body. */
export interface ReadRow {
  /** Index in the request. */
  readonly index: number;
  readonly row: Row;
  /** Index in the request of each of `row.values`; absent: all of them were readable. */
  readonly valueIndexes?: readonly number[];
  /** Unreadable fields and values. */
  readonly rejected?: readonly RejectedSample[];
}

/** All readable rows of a request, and the rejections of the others. */
export interface ReadRows {
  readonly rows: readonly ReadRow[];
  readonly rejections: FormRejections;
}

/** A request's rows in the form of ingest. */
export interface SentRows extends Pick<WriteRequest, 'rows' | 'indexes' | 'rejected' | 'leftOut'> {
  readonly notListed: number;
  /**
   * Position in the request of a series of a row; undefined if the row does not have that series.
   */
  valueIndexOf(row: number, series: string): number | undefined;
}

/** Options for reading the rows of one request. */
export interface SentRowsOptions {
  /** Project id of the request. */
  readonly project: string;
  /** Rejects absent values instead of reading them as zero. */
  readonly needsValues: boolean;
}

/** Throws a `Refusal` PROJECT_BOUNDARY if a row names a VM of another project. */
export function sentRows(read: ReadRows, options: SentRowsOptions): SentRows {
  const { rejections } = read;
  const nearest = new NearestSeries();
  const rows: IngestRow[] = [];
  const indexes: number[] = [];
  const leftOut: LeftOutReading[] = [];
  const valueIndexes = new Map<number, readonly number[]>();
  for (const one of read.rows) {
    const found = new RowReader(one, options, nearest).read();
    const refusal = found.rejected.find(refusesRow);
    const vm = found.row?.vm;
    for (const rejection of refusal ? [refusal] : found.rejected) {
      rejections.add(vm === undefined ? rejection : { ...rejection, vm });
    }
    if (refusal || found.row === undefined) continue;
    rows.push(found.row);
    indexes.push(one.index);
    valueIndexes.set(one.index, found.valueIndexes);
    for (const part of one.row.leftOut.slice(0, LEFT_OUT_MAX)) {
      const reading = leftOutOf(found.row.vm, part);
      if (reading) leftOut.push(reading);
    }
  }
  const isAll = indexes.every((index, i) => index === i) && rejections.listed.length === 0;
  const positions = new Map(indexes.map((index, i) => [index, i]));
  return {
    rows,
    ...(!isAll && { indexes, rejected: rejections.listed }),
    ...(leftOut.length > 0 && { leftOut }),
    notListed: rejections.notListed,
    valueIndexOf(row, series) {
      const at = rows[positions.get(row) ?? -1]?.series.indexOf(series) ?? -1;
      return at < 0 ? undefined : (valueIndexes.get(row)?.[at] ?? at);
    },
  };
}

/** Complete rows, as `fromBinary` reads them. */
export function wholeRows(rows: readonly Row[]): ReadRows {
  return { rows: rows.map((row, index) => ({ index, row })), rejections: new FormRejections() };
}

/** Codes of a source that is newer than this service are replaced by a known one. */
function leftOutOf(vm: string, { series, reason, message }: LeftOut): LeftOutReading | undefined {
  const known = Object.keys(rejectionCatalogue).find((one) => one === reason);
  if (series === '') return undefined;
  return {
    vm,
    series: oneLine(series, SHOWN_MAX),
    // One of the catalogue's own keys.
    reason: (known ?? 'UNREADABLE') as RejectReason,
    message: oneLine(message, SHOWN_MAX),
  };
}

interface RowResult {
  readonly row: IngestRow | undefined;
  readonly rejected: readonly RejectedSample[];
  /** Index in the request of each series of the row. */
  readonly valueIndexes: readonly number[];
}

/** Reads one row and collects its rejected parts. */
class RowReader {
  readonly #read: ReadRow;
  readonly #options: SentRowsOptions;
  readonly #nearest: NearestSeries;
  readonly #rejected: RejectedSample[];

  constructor(read: ReadRow, options: SentRowsOptions, nearest: NearestSeries) {
    this.#read = read;
    this.#options = options;
    this.#nearest = nearest;
    this.#rejected = [...(read.rejected ?? [])];
  }

  read(): RowResult {
    const { row } = this.#read;
    const vm = this.#vmId(row.vmName);
    if (row.bootId.length > TEXT_LENGTH_MAX) {
      this.#refuseField('bootId', `${tooLong('bootId', row.bootId)} The row is not stored.`, true);
    }
    const { vcpus = Number.NaN } = row;
    if (vcpus < 0) {
      this.#refuseField('vcpus', `vcpus is ${vcpus}. Leave it out if it was not observed.`);
    }
    const about = {
      observedMs: Number(row.observedUnixMs),
      sequence: Number(row.sequence),
      boot: row.bootId,
      vcpus: vcpus < 0 ? Number.NaN : vcpus,
      state: this.#state(row.state),
      stateReason: this.#text('stateReason', row.stateReason),
      displayName: this.#text('displayName', row.displayName),
    };
    const { series, values, valueIndexes } = this.#values();
    const content = vm === undefined ? undefined : { vm, ...about, series, values };
    return { row: content, rejected: this.#rejected, valueIndexes };
  }

  #vmId(name: string): string | undefined {
    const { project } = this.#options;
    const id = vmIdOf(project, name, `rows[${this.#read.index}].vmName`);
    if (id !== undefined) return id;
    const displayed = JSON.stringify(oneLine(name, SHOWN_MAX));
    const message = `vmName is ${displayed}. Send a name like projects/${project}/vms/ID, or only the ID.`;
    this.#refuse({ series: '', reason: 'BAD_VM_NAME', field: 'vmName', message });
    return undefined;
  }

  /** Index into `VM_STATES`; unknown states count as not reported. */
  #state(state: Row_State): number {
    const unknown = VM_STATES.indexOf('UNKNOWN');
    if (state === Row_State.STATE_UNSPECIFIED) return unknown;
    const found = VM_STATES.findIndex((name) => Row_State[name] === state);
    if (found >= 0) return found;
    const message = `state is ${state}. Send one of ${VM_STATES.join(', ')}.`;
    this.#refuse({ series: 'state', reason: 'UNREADABLE', field: 'state', message });
    return unknown;
  }

  #text(field: 'stateReason' | 'displayName', text: string): string {
    if (text.length <= TEXT_LENGTH_MAX) return asOneLine(text);
    this.#refuseField(field, tooLong(field, text));
    return '';
  }

  /** Series and values that can be stored, each series once. */
  #values(): Pick<IngestRow, 'series'> & { values: number[]; valueIndexes: number[] } {
    const { row, valueIndexes: sentAt } = this.#read;
    const found = {
      series: [] as SeriesKey[],
      values: [] as number[],
      valueIndexes: [] as number[],
    };
    const seen = new Set<SeriesKey>();
    let bytes = 0;
    for (const [i, { series, labels, value }] of row.values.slice(0, VALUES_MAX).entries()) {
      const at = sentAt?.[i] ?? i;
      const problem = seriesProblem(series, labels, this.#nearest);
      if (problem) {
        this.#refuseValue(at, series, problem.reason, problem.message, problem.part);
        continue;
      }
      const key = seriesKey(series, labels);
      bytes += Buffer.byteLength(key);
      if (seen.has(key)) {
        const message = `${key} occurs twice in the row. The first value is stored.`;
        this.#refuseValue(at, key, 'BAD_SERIES', message);
      } else if (bytes > SERIES_BYTES_MAX) {
        const message = `The series of the row exceed ${SERIES_BYTES_MAX} bytes. Send fewer series or shorter labels.`;
        this.#refuseValue(at, key, 'LIMIT_EXCEEDED', message);
      } else if (value === undefined && this.#options.needsValues) {
        this.#refuseValue(at, key, 'NO_VALUE');
      } else {
        found.series.push(key);
        // A client of schema version 1 leaves out a zero, as proto3 did without presence.
        found.values.push(value === undefined ? 0 : value);
        found.valueIndexes.push(at);
      }
      seen.add(key);
    }
    if (row.values.length > VALUES_MAX) {
      const message = `The row has ${row.values.length} values. Only the first ${VALUES_MAX} are read.`;
      this.#refuse({ series: 'values', reason: 'LIMIT_EXCEEDED', field: 'values', message });
    }
    return found;
  }

  #refuseValue(
    at: number,
    series: string,
    reason: RejectReason,
    message?: string,
    part?: 'series' | 'labels',
  ): void {
    const field = `values[${at}]${part === undefined ? '' : `.${part}`}`;
    // An empty name would mean that the row is rejected.
    const displayed = oneLine(series, SHOWN_MAX) || field;
    this.#refuse({ series: displayed, reason, field, ...(message !== undefined && { message }) });
  }

  #refuseField(field: string, message: string, isRow = false): void {
    this.#refuse({ series: field, reason: 'BAD_FIELD', field, message, ...(isRow && { isRow }) });
  }

  #refuse(rejection: Omit<RejectedSample, 'row'>): void {
    this.#rejected.push({ row: this.#read.index, ...rejection });
  }
}

const ID_ALONE = new RegExp(`^${ID}$`);

/**
 * Id of a VM from its full name or from the id alone; undefined if it is neither. Throws a
 * `Refusal` PROJECT_BOUNDARY for a VM of another project: a sender that may write to any project
 * names the project once.
 *
 * @param field path of the name in the request
 */
export function vmIdOf(project: string, name: string, field: string): string | undefined {
  if (ID_ALONE.test(name)) return name;
  const named = parsedName(name);
  if (named === undefined || named.project === project) return named?.id;
  const message = `${field} names a VM of another project than the request, projects/${project}`;
  throw new Refusal('PROJECT_BOUNDARY', message);
}

/** undefined if it is not the name of a VM. */
function parsedName(name: string): ReturnType<typeof parseName> | undefined {
  try {
    return parseName('vmName', name, 'vms');
  } catch {
    return undefined;
  }
}

function tooLong(field: string, text: string): string {
  return `${field} has ${text.length} characters. Send at most ${TEXT_LENGTH_MAX}.`;
}
