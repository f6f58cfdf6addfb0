/**
 * One column of a chunk as bytes, exact to the bit. A column is one of these: a constant; decimals
 * that become integers (then differences of order 0, 1 or 2, minus their minimum and divided by
 * their common divisor: a counter of 4 KiB blocks counts blocks); or doubles whose bits are XORed
 * with those of the previous value. NaN means absent and is kept in a bitmap, never as a value.
 *
 *   kind and absence (1) · [bitmap] · constant | integers | XORed doubles
 */

import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import {
  type ByteReader,
  DamagedBytes,
  malformed,
} from '../../../../streams/telemetry/samples/byte-reader.ts';
import { type ByteWriter, SCALES } from '../../../../streams/telemetry/samples/byte-writer.ts';

const CONSTANT = 0;
const WHOLE = 1;
const DOUBLE = 2;
const HAS_ABSENT = 128;
/** Highest difference order tried: noisy gauges need 0, most columns 1, steady counters 2. */
const ORDER_MAX = 2;
/** Integers, their differences and divisors up to this are exact and fit a varint. */
const EXACT_MAX = Number.MAX_SAFE_INTEGER;

/** Appends the column. NaN = absent; at least one value must be present. */
export function writeColumn(writer: ByteWriter, column: Float64Array): void {
  const present = column.filter((value) => !Number.isNaN(value));
  const first = present[0];
  if (first === undefined) throw new RangeError('A column without a value is not stored');
  const absent = present.length < column.length ? HAS_ABSENT : 0;
  const constant = present.every((value) => Object.is(value, first));
  const whole = constant ? undefined : wholes(present);
  const kind = constant ? CONSTANT : whole ? WHOLE : DOUBLE;
  writer.u8(kind | absent);
  if (absent) writePacked(writer, bitmapOf(column));
  if (whole) writeWholes(writer, whole);
  else if (kind === CONSTANT) writer.number(first);
  else writeDoubles(writer, present);
}

/** Reads a column of `rows` entries, NaN = absent. Throws `DamagedBytes`. */
export function readColumn(reader: ByteReader, rows: number): Float64Array {
  const header = reader.u8();
  const present = (header & HAS_ABSENT) === 0 ? undefined : readBitmap(reader, rows);
  const count = present === undefined ? rows : countBits(present, rows);
  const values = readValues(reader, header & ~HAS_ABSENT, count);
  if (present === undefined) return values;
  const column = new Float64Array(rows);
  for (let i = 0, next = 0; i < rows; i++) {
    const bit = ((present[i >> 3] as number) >> (i & 7)) & 1;
    column[i] = bit === 1 ? (values[next++] as number) : Number.NaN;
  }
  return column;
}

function readValues(reader: ByteReader, kind: number, count: number): Float64Array {
  if (kind === CONSTANT) return new Float64Array(count).fill(reader.number());
  if (kind === WHOLE) return readWholes(reader, count);
  if (kind === DOUBLE) return readDoubles(reader, count);
  throw malformed(`unknown kind of column ${kind}`);
}

interface Wholes extends Differences {
  /** Index into `SCALES`: the smallest power of ten that makes all values integers. */
  readonly scale: number;
}

/** The values as differences of integers; undefined = not exactly possible. */
function wholes(values: Float64Array): Wholes | undefined {
  let scale = 0;
  for (const value of values) {
    while (!isWholeAt(value, scale)) if (++scale >= SCALES.length) return undefined;
  }
  const factor = SCALES[scale] as number;
  // A scale raised late must suit the values before it too; doubles near 2^53 may not.
  if (!values.every((value) => isWholeAt(value, scale))) return undefined;
  const differences = bestDifferences(values.map((value) => Math.round(value * factor)));
  return differences && { scale, ...differences };
}

function isWholeAt(value: number, scale: number): boolean {
  const factor = SCALES[scale] as number;
  const whole = Math.round(value * factor);
  // Object.is, because -0 equals 0 and must still be read back as -0.
  return Math.abs(whole) <= EXACT_MAX && Object.is(whole / factor, value) && !Object.is(value, -0);
}

function writeWholes(writer: ByteWriter, { scale, order, heads, rest }: Wholes): void {
  let least = Number.POSITIVE_INFINITY;
  for (const value of rest) if (value < least) least = value;
  if (rest.length === 0) least = 0;
  const divisor = commonDivisor(rest, least);
  writer.u8(scale | (order << 4));
  for (const head of heads) writer.number(head);
  writer.number(least);
  writer.varint(divisor);
  writePlanes(
    writer,
    rest.map((value) => (value - least) / divisor),
  );
}

function readWholes(reader: ByteReader, count: number): Float64Array {
  const header = reader.u8();
  const factor = SCALES[header & 15];
  const order = header >> 4;
  if (factor === undefined || order > ORDER_MAX || order > count) throw malformed('bad wholes');
  const heads = Array.from({ length: order }, () => reader.number());
  const least = reader.number();
  const divisor = reader.varint();
  const rest = readPlanes(reader, count - order);
  const values = new Float64Array(count);
  for (let i = order; i < count; i++) values[i] = (rest[i - order] as number) * divisor + least;
  for (let k = order; k > 0; k--) {
    let sum = heads[k - 1] as number;
    values[k - 1] = sum;
    for (let i = k; i < count; i++) {
      sum += values[i] as number;
      values[i] = sum;
    }
  }
  if (factor !== 1) for (let i = 0; i < count; i++) values[i] = (values[i] as number) / factor;
  return values;
}

interface Differences {
  readonly order: number;
  /** First value of each order's sequence, needed to reverse the differences. */
  readonly heads: readonly number[];
  readonly rest: Float64Array;
}

/** Differences of the order whose spread needs the fewest bits; undefined = no order is exact. */
function bestDifferences(values: Float64Array): Differences | undefined {
  let bestBits = spreadBits(values);
  let best: Differences | undefined;
  if (Number.isFinite(bestBits)) best = { order: 0, heads: [], rest: values };
  let current = values;
  const heads: number[] = [];
  for (let order = 1; order <= ORDER_MAX && current.length > 1; order++) {
    heads.push(current[0] as number);
    const next = new Float64Array(current.length - 1);
    for (let i = 0; i < next.length; i++) {
      next[i] = (current[i + 1] as number) - (current[i] as number);
    }
    if (next.some((value) => Math.abs(value) > EXACT_MAX)) break;
    const bits = spreadBits(next);
    if (bits < bestBits) {
      best = { order, heads: [...heads], rest: next };
      bestBits = bits;
    }
    current = next;
  }
  return best;
}

/** Estimated cost of the values around their mean, bits; infinite if not exact. */
function spreadBits(values: Float64Array): number {
  let sum = 0;
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    sum += value;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (most - least > EXACT_MAX) return Number.POSITIVE_INFINITY;
  const mean = sum / values.length;
  let bits = 0;
  for (const value of values) bits += Math.log2(1 + Math.abs(value - mean));
  return bits;
}

function commonDivisor(values: Float64Array, least: number): number {
  let divisor = 0;
  for (const value of values) {
    let a = value - least;
    let b = divisor;
    while (a > 0) [a, b] = [b % a, a];
    divisor = b;
    if (divisor === 1) return 1;
  }
  return divisor === 0 ? 1 : divisor;
}

function writeDoubles(writer: ByteWriter, values: Float64Array): void {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  for (let half = 0; half < 2; half++) {
    const xored = new Float64Array(values.length);
    for (let i = 0; i < values.length; i++) {
      const before = i === 0 ? 0 : (words[i * 2 - 2 + half] as number);
      xored[i] = ((words[i * 2 + half] as number) ^ before) >>> 0;
    }
    writePlanes(writer, xored);
  }
}

function readDoubles(reader: ByteReader, count: number): Float64Array {
  const values = new Float64Array(count);
  const words = new Uint32Array(values.buffer);
  for (let half = 0; half < 2; half++) {
    const xored = readPlanes(reader, count);
    let before = 0;
    for (let i = 0; i < count; i++) {
      before ^= xored[i] as number;
      words[i * 2 + half] = before;
    }
  }
  return values;
}

function bitmapOf(column: Float64Array): Uint8Array {
  const bitmap = new Uint8Array((column.length + 7) >> 3);
  for (const [i, value] of column.entries()) {
    if (!Number.isNaN(value)) bitmap[i >> 3] = (bitmap[i >> 3] as number) | (1 << (i & 7));
  }
  return bitmap;
}

function readBitmap(reader: ByteReader, rows: number): Uint8Array {
  const bitmap = readPacked(reader, (rows + 7) >> 3);
  if (bitmap === undefined) throw malformed('a column without a value');
  return bitmap;
}

function countBits(bitmap: Uint8Array, rows: number): number {
  let count = 0;
  for (let i = 0; i < rows; i++) count += ((bitmap[i >> 3] as number) >> (i & 7)) & 1;
  return count;
}

const ZSTD_OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 9 } };
/** Fewer bytes than this never shrink: a zstd frame has a dozen bytes of its own. */
const ZSTD_BYTES_MIN = 24;
const TWO_32 = 2 ** 32;

/** Writes integers from 0 to 2^53 in as many byte planes as the largest needs. */
function writePlanes(writer: ByteWriter, values: Float64Array): void {
  let largest = 0;
  for (const value of values) if (value > largest) largest = value;
  let planes = 0;
  for (let rest = largest; rest >= 1; rest /= 256) planes++;
  writer.u8(planes);
  const plane = new Uint8Array(values.length);
  for (let k = 0; k < planes; k++) {
    fillPlane(plane, values, k);
    writePacked(writer, plane);
  }
}

/** Reads `count` numbers that `writePlanes` wrote. Throws `DamagedBytes`. */
function readPlanes(reader: ByteReader, count: number): Float64Array {
  const values = new Float64Array(count);
  const planes = reader.u8();
  if (planes > 7) throw malformed(`${planes} planes of an integer`);
  let factor = 1;
  for (let k = 0; k < planes; k++) {
    const plane = readPacked(reader, count);
    if (plane !== undefined) {
      // Casts: both arrays have `count` elements.
      for (let i = 0; i < count; i++) {
        values[i] = (values[i] as number) + (plane[i] as number) * factor;
      }
    }
    factor *= 256;
  }
  return values;
}

/** Writes bytes: nothing if all are zero, compressed if that is smaller, otherwise unchanged. */
function writePacked(writer: ByteWriter, bytes: Uint8Array): void {
  if (bytes.every((byte) => byte === 0)) {
    writer.varint(0);
    return;
  }
  const packed = bytes.length < ZSTD_BYTES_MIN ? bytes : zstdCompressSync(bytes, ZSTD_OPTIONS);
  const smaller = packed.length < bytes.length;
  const stored = smaller ? packed : bytes;
  writer.varint(stored.length * 2 + (smaller ? 1 : 0));
  writer.bytes(stored);
}

/** Reads `length` bytes that `writePacked` wrote; undefined = all are zero. */
function readPacked(reader: ByteReader, length: number): Uint8Array | undefined {
  const header = reader.varint();
  if (header === 0) return undefined;
  const stored = reader.bytes(Math.floor(header / 2));
  const plain = header % 2 === 1 ? unpack(stored, length) : stored;
  if (plain.length !== length) throw malformed(`${plain.length} bytes instead of ${length}`);
  return plain;
}

function unpack(stored: Uint8Array, length: number): Uint8Array {
  try {
    return zstdDecompressSync(stored, { maxOutputLength: length });
  } catch (cause) {
    throw new DamagedBytes('MALFORMED', 'A part of a chunk cannot be decompressed', { cause });
  }
}

function fillPlane(plane: Uint8Array, values: Float64Array, k: number): void {
  const shift = (k % 4) * 8;
  for (let i = 0; i < plane.length; i++) {
    const value = values[i] as number;
    // 0 takes the low 32 bits of any integer below 2^53.
    const word = k < 4 ? value | 0 : Math.floor(value / TWO_32);
    plane[i] = word >>> shift;
  }
}
