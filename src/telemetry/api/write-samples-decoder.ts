/**
 * Decodes a binary `WriteSamplesRequest` straight into ingest rows: no message objects, names read
 * once per VM, series once per layout. It reads only the plain form: fields of the schema with
 * valid values. For anything else the result is undefined and the full implementation decides, so
 * that requests are rejected in one place only. Schema: src/proto/svc/ingest/v1/ingest.proto.
 */
import { Buffer } from 'node:buffer';
import { asOneLine } from '../../../actors/platform/plain-text.ts';
import { ID } from '../../../actors/platform/resource-id.ts';
import {
  SERIES_BYTES_MAX,
  seriesProblem,
  TEXT_LENGTH_MAX,
  VALUES_MAX,
} from '../../../actors/telemetry/ingest/series-form.ts';
import type { IngestRow } from '../../../actors/vms/sent-row.ts';
import { type SeriesKey, seriesKey, VM_STATES } from '../../../streams/telemetry/samples/batch.ts';
import { BATCH_ID_LENGTH_MAX } from './ingest.ts';
import { NotPlain, WireReader } from './wire-reader.ts';

/** A request from a caller that may write to its project; its rows have not been checked yet. */
export interface PlainWrite {
  /** Project id. */
  readonly project: string;
  readonly batchId: string;
  readonly rows: IngestRow[];
}

/** Id of the project with this name, as sent, if the caller may write to it. */
export type ProjectOf = (projectName: string) => string | undefined;

// Tags of WriteSamplesRequest: field number × 8 + wire type.
const PROJECT_NAME = 0x0a;
const BATCH_ID = 0x12;
const ROWS = 0x1a;
// Tags of Row.
const VM_NAME = 0x0a;
const OBSERVED_UNIX_MS = 0x10;
const BOOT_ID = 0x1a;
const SEQUENCE = 0x20;
const VCPUS = 0x28;
const STATE = 0x30;
const STATE_REASON = 0x3a;
const DISPLAY_NAME = 0x4a;

const INT32_MAX = 2 ** 31 - 1;
/**
 * Cache of all senders that may write, filled before their rows are checked: names of projects and
 * VMs, layouts, and bytes of those layouts. Beyond the bound it is emptied.
 */
const NAMES_MAX = 200_000;
/** Longest boot id that is cached, characters: usual ones are UUIDs. */
const BOOT_LENGTH_MAX = 64;
const LAYOUTS_MAX = 10_000;
const LAYOUT_BYTES_MAX = 64 * 1024 * 1024;
const ID_ALONE = new RegExp(`^${ID}$`);

/** Cached facts of a VM: its name as sent, its id, and parts of its last row. */
interface KnownVm {
  readonly name: string;
  readonly id: string;
  layout: RowLayout;
  boot: string;
  /** The VM of the row after its last one: senders repeat the order of their rows. */
  next: KnownVm | undefined;
}

/** The VMs of a project name, and that of the first row of the last request. */
interface KnownVms {
  readonly byName: Map<string, KnownVm>;
  first: KnownVm | undefined;
}

const NO_VALUES: RowLayout = { series: [], prefixes: Buffer.alloc(0), prefixEnds: [], blank: [] };

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** One per service; its cache of names and layouts is bounded. */
export class WriteSamplesDecoder {
  readonly #wire = new WireReader();
  /** By project name and VM name, both as sent. */
  readonly #vms = new Map<string, KnownVms>();
  readonly #layouts = new Map<string, RowLayout>();
  #vmCount = 0;
  #layoutBytes = 0;
  #needsValues = false;
  /** The VM of the row before, in the request that is being read. */
  #before: KnownVm | undefined;

  /** Current size of the cache. */
  get remembered() {
    return {
      projects: this.#vms.size,
      vms: this.#vmCount,
      layouts: this.#layouts.size,
      bytes: this.#layoutBytes,
    };
  }

  /**
   * The request; undefined if it does not have the plain form, or is for a project that the caller
   * may not write to. Nothing of such a project is cached.
   *
   * @param needsValues an absent value is not of the plain form; otherwise it is zero
   */
  decode(bytes: Buffer, projectOf: ProjectOf, needsValues = false): PlainWrite | undefined {
    this.#wire.open(bytes);
    this.#needsValues = needsValues;
    const names = this.#vms.size + this.#vmCount;
    if (names > NAMES_MAX || this.#layoutBytes > LAYOUT_BYTES_MAX) this.#beginAnew();
    try {
      return this.#request(bytes.length, projectOf);
    } catch (error) {
      if (error instanceof NotPlain) return undefined;
      throw error;
    }
  }

  #request(end: number, projectOf: ProjectOf): PlainWrite {
    const wire = this.#wire;
    let projectName = '';
    let project: string | undefined;
    let batchId = '';
    let vms: KnownVms | undefined;
    this.#before = undefined;
    const rows: IngestRow[] = [];
    while (wire.at < end) {
      const tag = wire.tag();
      if (tag === ROWS) {
        project ??= writable(projectName, projectOf);
        vms ??= this.#vmsOf(projectName);
        rows.push(this.#row(vms, projectName, wire.end(end)));
      } else if (tag === BATCH_ID) batchId = this.#text(end, BATCH_ID_LENGTH_MAX);
      else if (tag === PROJECT_NAME && project === undefined) projectName = wire.text(end);
      else throw new NotPlain('fields of a request in another form or order');
    }
    return { project: project ?? writable(projectName, projectOf), batchId, rows };
  }

  #row(vms: KnownVms, projectName: string, end: number): IngestRow {
    const wire = this.#wire;
    const row: Mutable<IngestRow> = {
      vm: '',
      observedMs: 0,
      sequence: 0,
      boot: '',
      vcpus: Number.NaN,
      state: 0,
      stateReason: '',
      series: NO_VALUES.series,
      values: [],
      displayName: '',
    };
    let vm: KnownVm | undefined;
    while (wire.at < end) {
      const tag = wire.tag();
      if (tag === VM_NAME) {
        vm = this.#nextVm(vms, projectName, end);
        row.vm = vm.id;
      } else if (tag === VALUES_TAG && vm !== undefined && row.series === NO_VALUES.series) {
        wire.at--;
        this.#readValues(row, vm, end);
      } else if (tag === BOOT_ID && vm !== undefined) {
        row.boot = wire.take(vm.boot, end) ? vm.boot : this.#text(end, TEXT_LENGTH_MAX);
        if (row.boot.length <= BOOT_LENGTH_MAX) vm.boot = row.boot;
      } else this.#readField(row, tag, end);
    }
    if (vm === undefined || wire.at !== end) throw new NotPlain('a row without a VM, or truncated');
    return row;
  }

  #readField(row: Mutable<IngestRow>, tag: number, end: number): void {
    const wire = this.#wire;
    if (tag === OBSERVED_UNIX_MS) row.observedMs = wire.varint();
    else if (tag === BOOT_ID) row.boot = this.#text(end, TEXT_LENGTH_MAX);
    else if (tag === SEQUENCE) row.sequence = wire.varint();
    else if (tag === VCPUS) row.vcpus = this.#atMost(INT32_MAX);
    else if (tag === STATE) row.state = this.#atMost(VM_STATES.length - 1);
    else if (tag === STATE_REASON) {
      row.stateReason = asOneLine(this.#text(end, TEXT_LENGTH_MAX));
    } else if (tag === DISPLAY_NAME) {
      row.displayName = asOneLine(this.#text(end, TEXT_LENGTH_MAX));
    } else throw new NotPlain('fields of a row in another form or order');
  }

  #readValues(row: Mutable<IngestRow>, vm: KnownVm, end: number): void {
    const wire = this.#wire;
    const from = wire.at;
    const needsValues = this.#needsValues;
    let values = readValues(wire, vm.layout, end, needsValues);
    if (values === undefined) {
      wire.at = from;
      vm.layout = this.#kept(parseLayout(wire, end));
      values = readValues(wire, vm.layout, end, needsValues);
      if (values === undefined) throw new NotPlain('values that differ from the parsed layout');
    }
    row.series = vm.layout.series;
    row.values = values;
  }

  /** The layout with these bytes, the same object each time. */
  #kept(layout: RowLayout): RowLayout {
    // The same bytes split into values at other positions are other series.
    const key = `${layout.prefixEnds.join()}:${layout.prefixes.toString('latin1')}`;
    const known = this.#layouts.get(key);
    if (known !== undefined) return known;
    this.#layoutBytes += key.length;
    if (this.#layouts.size < LAYOUTS_MAX) this.#layouts.set(key, layout);
    return layout;
  }

  #beginAnew(): void {
    this.#vms.clear();
    this.#layouts.clear();
    this.#vmCount = 0;
    this.#layoutBytes = 0;
  }

  #vmsOf(projectName: string): KnownVms {
    let vms = this.#vms.get(projectName);
    if (vms === undefined) {
      vms = { byName: new Map(), first: undefined };
      this.#vms.set(projectName, vms);
    }
    return vms;
  }

  /** The VM whose name begins here: nearly always the one that was there last time. */
  #nextVm(vms: KnownVms, projectName: string, end: number): KnownVm {
    const wire = this.#wire;
    const before = this.#before;
    const expected = before === undefined ? vms.first : before.next;
    const isExpected = expected !== undefined && wire.take(expected.name, end);
    const vm = isExpected ? expected : this.#vmOf(vms, projectName, wire.text(end));
    this.#before = vm;
    if (isExpected) return vm;
    if (before === undefined) vms.first = vm;
    else before.next = vm;
    return vm;
  }

  #vmOf(vms: KnownVms, projectName: string, name: string): KnownVm {
    const known = vms.byName.get(name);
    if (known !== undefined) return known;
    const prefix = `${projectName}/vms/`;
    const id = name.startsWith(prefix) ? name.slice(prefix.length) : name;
    if (!ID_ALONE.test(id)) throw new NotPlain('a VM of another project, or an invalid name');
    this.#vmCount++;
    const vm = { name, id, layout: NO_VALUES, boot: '', next: undefined };
    vms.byName.set(name, vm);
    return vm;
  }

  #text(end: number, lengthMax: number): string {
    const text = this.#wire.text(end);
    if (text.length > lengthMax) throw new NotPlain('a text is too long');
    return text;
  }

  #atMost(max: number): number {
    const value = this.#wire.varint();
    if (value > max) throw new NotPlain('a number out of its range');
    return value;
  }
}

function writable(projectName: string, projectOf: ProjectOf): string {
  const project = projectOf(projectName);
  if (project === undefined) throw new NotPlain('a project that the caller may not write into');
  return project;
}

// The values of a row on the wire, read by layout: a sender repeats the same series with the same
// labels in every row, so comparing the bytes around the numbers is enough to identify them, and
// all rows of one layout share one list of series.
//
//   Value  0x42 length · [series · labels: the prefix, compared as bytes] · [0x19 double]

/** Series of a row, and their bytes. */
export interface RowLayout {
  readonly series: readonly SeriesKey[];
  /** Prefixes of all values, concatenated. */
  readonly prefixes: Buffer;
  /** End of each value's prefix in `prefixes`. */
  readonly prefixEnds: readonly number[];
  /**
   * An array with as many numbers as there are values, to be copied: cheaper than a growing array.
   */
  readonly blank: readonly number[];
}

/** Tag of `Row.values`. */
const VALUES_TAG = 0x42;
const SERIES_TAG = 0x0a;
const LABELS_TAG = 0x12;
const VALUE_TAG = 0x19;
/** Size of a tag and a double. */
const NUMBER_BYTES = 9;

/**
 * The numbers of a row whose values begin at `from` (the first one's tag), if they match `layout`;
 * otherwise undefined. A client of schema version 1 leaves a zero out, so its value may be the
 * prefix alone.
 */
function readValues(
  wire: WireReader,
  { prefixes, prefixEnds, blank }: RowLayout,
  limit: number,
  needsValues: boolean,
): number[] | undefined {
  const { bytes } = wire;
  const values = blank.slice();
  let prefixAt = 0;
  for (let i = 0; i < prefixEnds.length; i++) {
    if (wire.at >= limit || bytes[wire.at] !== VALUES_TAG) return undefined;
    wire.at++;
    const end = wire.end(limit);
    const prefixEnd = prefixEnds[i] as number;
    const numberAt = wire.at + prefixEnd - prefixAt;
    if (end !== numberAt && (end !== numberAt + NUMBER_BYTES || bytes[numberAt] !== VALUE_TAG)) {
      return undefined;
    }
    for (let at = wire.at; at < numberAt; at++) {
      if (bytes[at] !== prefixes[prefixAt++]) return undefined;
    }
    if (needsValues && end === numberAt) throw new NotPlain('a value without a number');
    wire.at = numberAt + 1;
    values[i] = end === numberAt ? 0 : wire.double();
    wire.at = end;
  }
  return wire.at < limit && bytes[wire.at] === VALUES_TAG ? undefined : values;
}

/**
 * The layout of the values that begin here, up to the first other field; it leaves the position
 * unchanged.
 */
function parseLayout(wire: WireReader, limit: number): RowLayout {
  const from = wire.at;
  const named: NamedSeries[] = [];
  const prefixes: Buffer[] = [];
  const prefixEnds: number[] = [];
  let length = 0;
  while (wire.at < limit && wire.bytes[wire.at] === VALUES_TAG) {
    wire.at++;
    const end = wire.end(limit);
    const start = wire.at;
    named.push(parseSeries(wire, end));
    const prefix = wire.bytes.subarray(start, wire.at);
    prefixes.push(prefix);
    length += prefix.length;
    prefixEnds.push(length);
    wire.at = end;
  }
  wire.at = from;
  // A copy: the bytes of a request go back to the connection that read them.
  return {
    series: keysOf(named),
    prefixes: Buffer.concat(prefixes, length),
    prefixEnds,
    // Not integers, so that the copies are arrays of doubles from the start.
    blank: prefixEnds.map(() => 0.5),
  };
}

interface NamedSeries {
  readonly series: string;
  readonly labels: Record<string, string>;
}

/** Keys of series that can all be stored; if one cannot, the full path rejects it. */
function keysOf(named: readonly NamedSeries[]): readonly SeriesKey[] {
  if (named.length > VALUES_MAX) throw new NotPlain('too many values');
  const keys = named.map(({ series, labels }) => {
    const problem = seriesProblem(series, labels);
    if (problem) throw new NotPlain(problem.message);
    return seriesKey(series, labels);
  });
  const bytes = keys.reduce((sum, key) => sum + Buffer.byteLength(key), 0);
  if (bytes > SERIES_BYTES_MAX) throw new NotPlain('too many bytes of series');
  if (new Set(keys).size < keys.length) throw new NotPlain('a series twice in a row');
  return keys;
}

/** Reads series and labels of one value, up to its number. */
function parseSeries(wire: WireReader, end: number): NamedSeries {
  let name: string | undefined;
  const labels: Record<string, string> = {};
  while (wire.at < end) {
    const at = wire.at;
    const tag = wire.tag();
    if (tag === SERIES_TAG && name === undefined) name = wire.text(end);
    else if (tag === LABELS_TAG) parseLabel(wire, end, labels);
    else if (tag === VALUE_TAG && at + NUMBER_BYTES === end) {
      wire.at = at;
      break;
    } else throw new NotPlain('fields of a value in another form or order');
  }
  return { series: name ?? '', labels };
}

const KEY_TAG = 0x0a;
const TEXT_TAG = 0x12;

function parseLabel(wire: WireReader, limit: number, labels: Record<string, string>): void {
  const end = wire.end(limit);
  let name: string | undefined;
  let value: string | undefined;
  while (wire.at < end) {
    const tag = wire.tag();
    if (tag === KEY_TAG && name === undefined) name = wire.text(end);
    else if (tag === TEXT_TAG && value === undefined) value = wire.text(end);
    else throw new NotPlain('fields of a label in another form');
  }
  if (name === undefined || name === '__proto__') throw new NotPlain('a label without a name');
  labels[name] = value ?? '';
}
