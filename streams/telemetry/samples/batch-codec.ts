/**
 * Sample batches as bytes: what the SAMPLES stream carries and a restart reads back. Columns, not
 * rows, so that equal things lie side by side; small batches (one row of one VM) pay for no
 * compressor. Every double comes back bit for bit.
 *
 *   version (1) · packing (1) · CRC-32 of what follows (4) · [length unpacked (4)] · payload
 *   payload: counts and dictionaries · one column after another · values by layout and series
 */
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type Layout, type SampleBatch, VM_STATES } from './batch.ts';
import { ByteReader, DamagedBytes, malformed } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { readNames, writeNames } from './names-codec.ts';

const VERSION = 1;
const PLAIN = 0;
const ZSTD = 1;
const HEADER_BYTES = 6;
/** Payloads from this size on are compressed; below, the compressor costs more than it saves. */
const ZSTD_BYTES_MIN = 2048;
/** A payload never unpacks to more: 64 MiB, a thousand times what ingest merges. */
const UNPACKED_BYTES_MAX = 64 * 1024 * 1024;
const ZSTD_OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

// Kept between calls: encoding is synchronous, and a fresh buffer each time costs more than it.
const payload = new ByteWriter(64 * 1024);
const tags = new ByteWriter(16 * 1024);

/** The batch as bytes of its own. */
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

/** The batch, whole. Throws `DamagedBytes` when the bytes are anything but what was encoded. */
export function decodeBatch(bytes: Uint8Array): SampleBatch {
  const outer = new ByteReader(bytes);
  const version = outer.u8();
  if (version !== VERSION) {
    throw new DamagedBytes('VERSION', `Batch format ${version}, this program reads ${VERSION}`);
  }
  const packing = outer.u8();
  if (outer.u32() !== crc32(bytes.subarray(HEADER_BYTES))) {
    throw new DamagedBytes('CHECKSUM', 'The batch is not what was written: its checksum differs');
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
    if (plain.length !== length) throw malformed('the payload unpacks to another length');
    return plain;
  } catch (cause) {
    if (cause instanceof DamagedBytes) throw cause;
    throw new DamagedBytes('MALFORMED', 'The payload does not unpack', { cause });
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

/** Indexes as steps from the one before: mostly 0 or 1. */
function writeIndexes(column: Uint32Array): void {
  let before = 0;
  for (const index of column) {
    const step = index - before;
    payload.varint(step < 0 ? -2 * step - 1 : 2 * step);
    before = index;
  }
}

/** Numbers as steps from the one before where every step is exact, else as they are. */
function writeNumbers(column: Float64Array, first: number): void {
  const steps = Number.isSafeInteger(first) && column.every((value) => isExact(value));
  payload.u8(steps ? 1 : 0);
  let before = steps ? first : 0;
  for (const value of column) {
    payload.number(steps ? value - before : value);
    if (steps) before = value;
  }
}

/** Whole and so small that differences of two are exact. -0 is not: its difference is 0. */
function isExact(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= 2 ** 51 && !Object.is(value, -0);
}

/** Values of all rows of one layout, series after series: alike lies beside alike. */
function writeValues(batch: SampleBatch): void {
  const { values, valueOffset } = batch;
  tags.clear();
  const magnitudes = new ByteWriter(batch.values.length * 5 + 16);
  for (const [layout, rows] of rowsByLayout(batch.layout, batch.layouts.length).entries()) {
    const width = batch.layouts[layout]?.series.length ?? 0;
    for (let column = 0; column < width; column++) {
      for (const row of rows) {
        const value = values[(valueOffset[row] as number) + column];
        // Refused here as well as at every door: what cannot be decoded must never be stored.
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
  // Every row has at least its state and seven columns of a byte or more.
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
  if (total > reader.left) throw new DamagedBytes('TRUNCATED', 'Fewer values than rows promise');
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
