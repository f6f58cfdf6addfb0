/**
 * Bytes of the entries of a partition's SAMPLES log: one byte for the kind, then a sample batch in
 * its own format, or a small record with a checksum. Rules are JSON, because they are few, gain
 * fields, and are read by people in an investigation. This file has the entries first, then the
 * batches, then the dictionaries of a batch.
 */
import { Buffer } from 'node:buffer';
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { map, type OperatorFunction } from 'rxjs';
import type { LivenessReport, LogEntry } from './entry.ts';
import {
  type Layout,
  type SampleBatch,
  splitSeriesKey,
  VM_STATES,
  type VmRef,
} from './samples/batch.ts';
import { ByteReader, DamagedBytes, malformed } from './samples/byte-reader.ts';
import { ByteWriter } from './samples/byte-writer.ts';

const BATCH = 1;
const TICK = 2;
const RULES = 3;
const RECORD_START = 5;
/** A tick is its time, followed by its epoch and its liveness report, if any, as JSON. */
const TIME_BYTES = 8;

/** The entry encoded in a new array. */
export function encodeEntry(entry: LogEntry): Uint8Array {
  if (entry.kind === 'batch') {
    const batch = encodeBatch(entry.batch);
    const bytes = new Uint8Array(batch.length + 1);
    bytes[0] = BATCH;
    bytes.set(batch, 1);
    return bytes;
  }
  if (entry.kind === 'tick') {
    const time = Buffer.alloc(TIME_BYTES);
    time.writeDoubleLE(entry.atMs);
    const { livenessReport, epoch } = entry;
    const isBare = livenessReport === undefined && epoch === undefined;
    return record(
      TICK,
      isBare ? time : Buffer.concat([time, jsonBytes({ epoch, ...livenessReport })]),
    );
  }
  const { kind: _, ...marker } = entry;
  return record(RULES, jsonBytes(marker));
}

/** The complete entry. Throws `DamagedBytes` if the bytes differ from the encoded ones. */
export function decodeEntry(bytes: Uint8Array): LogEntry {
  const kind = bytes[0];
  if (kind === BATCH) return { kind: 'batch', batch: decodeBatch(bytes.subarray(1)) };
  if (kind !== TICK && kind !== RULES) {
    if (kind === undefined) throw new DamagedBytes('TRUNCATED', 'An entry without a byte');
    throw new DamagedBytes('VERSION', `Entry of kind ${kind}, which this program does not know`);
  }
  const body = recordBody(bytes);
  if (kind === RULES) return rulesEntry(body);
  if (body.length < TIME_BYTES) throw malformed('a tick is at least 8 bytes long');
  const tick = { kind: 'tick' as const, atMs: body.readDoubleLE(0) };
  if (body.length === TIME_BYTES) return tick;
  const { epoch, ...report } = JSON.parse(body.toString('utf8', TIME_BYTES)) as {
    readonly epoch?: number;
  } & Partial<LivenessReport>;
  return {
    ...tick,
    ...(epoch !== undefined && { epoch }),
    // All of its fields are present, or none.
    ...(report.outages && { livenessReport: report as LivenessReport }),
  };
}

function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function record(kind: number, body: Buffer): Uint8Array {
  const bytes = Buffer.alloc(RECORD_START + body.length);
  bytes[0] = kind;
  bytes.writeUInt32LE(crc32(body), 1);
  body.copy(bytes, RECORD_START);
  return bytes;
}

function recordBody(bytes: Uint8Array): Buffer {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (all.length < RECORD_START) throw new DamagedBytes('TRUNCATED', 'An entry without a body');
  const body = all.subarray(RECORD_START);
  if (all.readUInt32LE(1) === crc32(body)) return body;
  throw new DamagedBytes(
    'CHECKSUM',
    'The entry differs from what was written: its checksum does not match',
  );
}

type RulesBody = Omit<Extract<LogEntry, { kind: 'rules' }>, 'kind'>;

function rulesEntry(body: Buffer): LogEntry {
  // The checksum proves that our own encoder wrote this; its shape needs no further validation.
  const marker = JSON.parse(body.toString('utf8')) as RulesBody;
  return { kind: 'rules', ...marker };
}

// Entries of the SAMPLES log with their positions, and the operator that decodes them.

/** An entry from its source: the stored bytes, or already decoded. */
export interface LoggedEntry {
  /** Position in the stream. */
  readonly sequence: number;
  readonly partition: number;
  /** Time at which the stream stored it, Unix ms. */
  readonly storedMs: number;
  readonly entry: LogEntry | Uint8Array;
}

/** A decoded entry with its position. */
export interface PlacedEntry extends LoggedEntry {
  readonly entry: LogEntry;
  /** Its bytes could not be decoded, and `entry` changes nothing. */
  readonly unreadable?: Error;
}

/** Decodes stored bytes. Fails with `DamagedBytes` if they differ from the encoded ones. */
export function decodeEntries(): OperatorFunction<LoggedEntry, PlacedEntry> {
  return map(decoded);
}

/** The decoded entry. Throws `DamagedBytes`. */
export function decoded(logged: LoggedEntry): PlacedEntry {
  const { entry } = logged;
  return { ...logged, entry: entry instanceof Uint8Array ? decodeEntry(entry) : entry };
}

// Sample batches as bytes: the content of the SAMPLES stream, read back by a restart. They are
// stored as columns, not rows, so that equal values are adjacent; small batches (one row of one VM)
// avoid the cost of compression. Every double is restored bit for bit.
//
//   version (1) · packing (1) · CRC-32 of what follows (4) · [length unpacked (4)] · payload
//   payload: counts and dictionaries · one column after another · values by layout and series

const VERSION = 1;
const PLAIN = 0;
const ZSTD = 1;
const HEADER_BYTES = 6;
/** Payloads from this size on are compressed; below it, compression costs more than it saves. */
const ZSTD_BYTES_MIN = 2048;
/** Maximum size of an unpacked payload: 64 MiB, a thousand times the size that ingest merges. */
const UNPACKED_BYTES_MAX = 64 * 1024 * 1024;
const ZSTD_OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

// Reused between calls: encoding is synchronous, and a new buffer would cost more than the
// encoding.
const payload = new ByteWriter(64 * 1024);
const tags = new ByteWriter(16 * 1024);

/** The batch encoded in a new array. */
export function encodeBatch(batch: SampleBatch): Uint8Array {
  payload.clear();
  payload.f64(batch.receivedMs);
  payload.varint(batch.count);
  writeNames(payload, batch);
  writeRows(batch);
  writeValues(batch);
  const plain = payload.view();
  const packed = plain.length >= ZSTD_BYTES_MIN ? zstdCompressSync(plain, ZSTD_OPTIONS) : plain;
  const smaller = packed.length + 4 < plain.length;
  const out = new ByteWriter(HEADER_BYTES + 4 + Math.min(packed.length, plain.length));
  out.u8(VERSION);
  out.u8(smaller ? ZSTD : PLAIN);
  out.u32(0);
  if (smaller) out.u32(plain.length);
  out.bytes(smaller ? packed : plain);
  const bytes = out.view();
  bytes.writeUInt32LE(crc32(bytes.subarray(HEADER_BYTES)), 2);
  return bytes;
}

/** The complete batch. Throws `DamagedBytes` if the bytes differ from the encoded ones. */
export function decodeBatch(bytes: Uint8Array): SampleBatch {
  const outer = new ByteReader(bytes);
  const version = outer.u8();
  if (version !== VERSION) {
    throw new DamagedBytes('VERSION', `Batch format ${version}, this program reads ${VERSION}`);
  }
  const packing = outer.u8();
  if (outer.u32() !== crc32(bytes.subarray(HEADER_BYTES))) {
    throw new DamagedBytes(
      'CHECKSUM',
      'The batch differs from what was written: its checksum does not match',
    );
  }
  const reader = new ByteReader(unpack(packing, outer));
  const batch = readBatch(reader);
  reader.assertEnd();
  return batch;
}

function unpack(packing: number, reader: ByteReader): Uint8Array {
  if (packing === PLAIN) return reader.bytes(reader.left);
  if (packing !== ZSTD) throw malformed(`unknown packing ${packing}`);
  const length = reader.u32();
  if (length > UNPACKED_BYTES_MAX) throw malformed(`${length} bytes unpacked`);
  try {
    const plain = zstdDecompressSync(reader.bytes(reader.left), { maxOutputLength: length });
    if (plain.length !== length) throw malformed('the payload unpacks to a different length');
    return plain;
  } catch (cause) {
    if (cause instanceof DamagedBytes) throw cause;
    throw new DamagedBytes('MALFORMED', 'The payload cannot be decompressed', { cause });
  }
}

function writeRows(batch: SampleBatch): void {
  writeIndexes(batch.vm);
  writeIndexes(batch.layout);
  writeNumbers(batch.observedMs, batch.receivedMs);
  writeNumbers(batch.sequence, 0);
  writeIndexes(batch.boot);
  writeNumbers(batch.vcpus, 0);
  payload.bytes(batch.state);
  writeIndexes(batch.stateReason);
}

/** Indexes as differences from the previous one: usually 0 or 1. */
function writeIndexes(column: Uint32Array): void {
  let before = 0;
  for (const index of column) {
    const step = index - before;
    payload.varint(step < 0 ? -2 * step - 1 : 2 * step);
    before = index;
  }
}

/**
 * Numbers as differences from the previous one if every difference is exact; otherwise unchanged.
 */
function writeNumbers(column: Float64Array, first: number): void {
  const steps = Number.isSafeInteger(first) && column.every((value) => isExact(value));
  payload.u8(steps ? 1 : 0);
  let before = steps ? first : 0;
  for (const value of column) {
    payload.number(steps ? value - before : value);
    if (steps) before = value;
  }
}

/**
 * True for integers small enough that differences of two are exact. -0 is excluded: its difference
 * is 0.
 */
function isExact(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= 2 ** 51 && !Object.is(value, -0);
}

/** Values of all rows of one layout, series by series: similar values are adjacent. */
function writeValues(batch: SampleBatch): void {
  const { values, valueOffset } = batch;
  tags.clear();
  const magnitudes = new ByteWriter(batch.values.length * 5 + 16);
  for (const [layout, rows] of rowsByLayout(batch.layout, batch.layouts.length).entries()) {
    const width = batch.layouts[layout]?.series.length ?? 0;
    for (let column = 0; column < width; column++) {
      for (const row of rows) {
        const value = values[(valueOffset[row] as number) + column];
        // Rejected here as at every entry point: a value that cannot be decoded must never be
        // stored.
        if (!Number.isFinite(value)) throw new RangeError(`A batch holds the value ${value}`);
        magnitudes.splitNumber(value as number, tags);
      }
    }
  }
  payload.bytes(tags.view());
  payload.bytes(magnitudes.view());
}

function rowsByLayout(layoutOfRow: Uint32Array, layouts: number): number[][] {
  const rows: number[][] = Array.from({ length: layouts }, () => []);
  for (const [row, layout] of layoutOfRow.entries()) rows[layout]?.push(row);
  return rows;
}

function readBatch(reader: ByteReader): SampleBatch {
  const receivedMs = reader.f64();
  // Every row has at least its state and seven columns of one byte or more.
  const count = reader.count(8);
  const { vms, strings, layouts } = readNames(reader);
  const vm = readIndexes(reader, count, vms.length);
  const layout = readIndexes(reader, count, layouts.length);
  const observedMs = readNumbers(reader, count, receivedMs);
  const sequence = readNumbers(reader, count, 0);
  const boot = readIndexes(reader, count, strings.length);
  const vcpus = readNumbers(reader, count, 0);
  const state = new Uint8Array(reader.bytes(count));
  if (state.some((code) => code >= VM_STATES.length)) throw malformed('unknown state of a VM');
  const stateReason = readIndexes(reader, count, strings.length);
  const valueOffset = new Uint32Array(count + 1);
  for (let i = 0; i < count; i++) {
    const width = layouts[layout[i] as number]?.series.length as number;
    valueOffset[i + 1] = (valueOffset[i] as number) + width;
  }
  const values = readValues(reader, layout, layouts, valueOffset);
  const rows = { vm, layout, observedMs, sequence, boot, vcpus, state, stateReason, valueOffset };
  return { count, receivedMs, vms, layouts, strings, ...rows, values };
}

function readIndexes(reader: ByteReader, count: number, limit: number): Uint32Array {
  const column = new Uint32Array(count);
  let index = 0;
  for (let i = 0; i < count; i++) {
    const step = reader.varint();
    index += step % 2 === 1 ? -(step + 1) / 2 : step / 2;
    if (index < 0 || index >= limit) throw malformed('an index beyond its dictionary');
    column[i] = index;
  }
  return column;
}

function readNumbers(reader: ByteReader, count: number, first: number): Float64Array {
  const column = new Float64Array(count);
  const mode = reader.u8();
  if (mode > 1) throw malformed('unknown kind of column');
  let before = mode === 1 ? first : 0;
  for (let i = 0; i < count; i++) {
    const number = reader.number();
    column[i] = mode === 1 ? before + number : number;
    if (mode === 1) before += number;
  }
  return column;
}

function readValues(
  reader: ByteReader,
  layoutOfRow: Uint32Array,
  layouts: readonly Layout[],
  valueOffset: Uint32Array,
): Float64Array {
  const total = valueOffset[valueOffset.length - 1] as number;
  if (total > reader.left)
    throw new DamagedBytes('TRUNCATED', 'Fewer values than the rows declare');
  const tagOf = reader.bytes(total);
  const values = new Float64Array(total);
  let next = 0;
  for (const [layout, rows] of rowsByLayout(layoutOfRow, layouts.length).entries()) {
    const width = layouts[layout]?.series.length as number;
    for (let column = 0; column < width; column++) {
      for (const row of rows) {
        const value = reader.taggedNumber(tagOf[next++] as number);
        if (!Number.isFinite(value)) throw malformed('a value that is not finite');
        values[(valueOffset[row] as number) + column] = value;
      }
    }
  }
  return values;
}

// Bytes of a batch's dictionaries: the VMs, texts and series to which its rows refer by number.
// Well-known names of series and labels are numbers themselves, because a row has a dozen of them.

/** Dictionaries to which a batch refers by number. */
export type Names = Pick<SampleBatch, 'vms' | 'strings' | 'layouts'>;

/** Appends the batch's dictionaries: VMs, texts, layouts. */
function writeNames(writer: ByteWriter, batch: Names): void {
  const projects = [...new Set(batch.vms.map((ref) => ref.project))];
  const projectIndex = new Map(projects.map((project, i) => [project, i]));
  writer.varint(projects.length);
  for (const project of projects) writer.text(project);
  writer.varint(batch.vms.length);
  for (const ref of batch.vms) {
    writer.varint(projectIndex.get(ref.project) ?? 0);
    writer.text(ref.vm);
  }
  writer.varint(batch.strings.length - 1);
  for (const text of batch.strings.slice(1)) writer.text(text);
  writeLayouts(writer, batch.layouts);
}

/** Reads the output of `writeNames`. Throws `DamagedBytes`. */
function readNames(reader: ByteReader): Names {
  const vms = readVms(reader);
  const strings = [''];
  for (let left = reader.count(1); left > 0; left--) strings.push(reader.text());
  return { vms, strings, layouts: readLayouts(reader) };
}

/** A series key is a name (a number if well known) and labels (a number if seen before). */
function writeLayouts(writer: ByteWriter, layouts: readonly Layout[]): void {
  const seenLabels = new Map<string, number>([['', 1]]);
  writer.varint(layouts.length);
  for (const layout of layouts) {
    writer.varint(layout.series.length);
    for (const key of layout.series) {
      const { name, labels } = splitSeriesKey(key);
      const known = knownNames.get(name) ?? 0;
      writer.varint(known);
      if (known === 0) writer.text(name);
      const seen = seenLabels.get(labels) ?? 0;
      writer.varint(seen);
      if (seen > 0) continue;
      writeLabels(writer, labels);
      seenLabels.set(labels, seenLabels.size + 1);
    }
  }
}

/** Labels with known names as pairs of a number and a value; any others unchanged. */
function writeLabels(writer: ByteWriter, labels: string): void {
  const pairs = labels.slice(1, -1).split(',').map(knownPair);
  const known = pairs.flatMap((pair) => pair ?? []);
  if (known.length < pairs.length || !/^{.*}$/s.test(labels)) {
    writer.varint(0);
    writer.text(labels);
    return;
  }
  writer.varint(known.length);
  for (const { name, value } of known) {
    writer.varint(name);
    writer.text(value);
  }
}

function knownPair(pair: string): { name: number; value: string } | undefined {
  const equals = pair.indexOf('="');
  const name = KNOWN_LABEL_NAMES.indexOf(pair.slice(0, equals));
  if (equals < 0 || name < 0 || !pair.endsWith('"') || pair.length < equals + 3) return undefined;
  return { name, value: pair.slice(equals + 2, -1) };
}

function readLabels(reader: ByteReader): string {
  const count = reader.count(2);
  if (count === 0) return reader.text();
  const pairs: string[] = [];
  for (let left = count; left > 0; left--) {
    const name = KNOWN_LABEL_NAMES[reader.varint()];
    if (name === undefined) throw malformed('unknown label name');
    pairs.push(`${name}="${reader.text()}"`);
  }
  return `{${pairs.join(',')}}`;
}

function readVms(reader: ByteReader): VmRef[] {
  const projects: string[] = [];
  for (let left = reader.count(1); left > 0; left--) projects.push(reader.text());
  const vms: VmRef[] = [];
  for (let left = reader.count(2); left > 0; left--) {
    const project = projects[reader.varint()];
    if (project === undefined) throw malformed('a VM without a project');
    vms.push({ project, vm: reader.text() });
  }
  return vms;
}

function readLayouts(reader: ByteReader): Layout[] {
  const seenLabels = [''];
  const layouts: Layout[] = [];
  for (let left = reader.count(1); left > 0; left--) {
    const series: string[] = [];
    for (let keys = reader.count(2); keys > 0; keys--) {
      const known = reader.varint();
      const name = known === 0 ? reader.text() : KNOWN_SERIES_NAMES[known - 1];
      if (name === undefined) throw malformed('unknown series name');
      const seen = reader.varint();
      if (seen === 0) seenLabels.push(readLabels(reader));
      const labels = seenLabels[seen === 0 ? seenLabels.length - 1 : seen - 1];
      if (labels === undefined) throw malformed('unknown labels of a series');
      series.push(name + labels);
    }
    layouts.push({ series });
  }
  return layouts;
}

/** Names of labels; their position is stored. */
const KNOWN_LABEL_NAMES: readonly string[] = ['device', 'interface', 'mountpoint', 'fstype'];

/** Names of series; their position is stored. */
export const KNOWN_SERIES_NAMES: readonly string[] = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_vcpus',
  'svc_vm_cpu_utilization_pct',
  'svc_vm_memory_total_bytes',
  'svc_vm_memory_free_bytes',
  'svc_vm_memory_used_bytes',
  'svc_vm_disk_read_bytes_total',
  'svc_vm_disk_written_bytes_total',
  'svc_vm_disk_reads_completed_total',
  'svc_vm_disk_writes_completed_total',
  'svc_vm_network_receive_bytes_total',
  'svc_vm_network_transmit_bytes_total',
  'svc_vm_filesystem_size_bytes',
  'svc_vm_filesystem_used_bytes',
  'svc_vm_running',
  'svc_vm_last_observation_timestamp_seconds',
  'svc_vm_load1',
  'svc_vm_memory_available_bytes',
  'svc_vm_swap_used_bytes',
  'svc_vm_processes_running',
];

const knownNames = new Map(KNOWN_SERIES_NAMES.map((name, i) => [name, i + 1]));
