/**
 * Whole numbers as byte planes: all lowest bytes, then all second bytes, and so on. The noisy low
 * bytes of a reading cannot be compressed and the quiet high ones can, so that zstd gets each
 * plane by itself and only where it wins. All-zero planes take one byte.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import {
  type ByteReader,
  DamagedBytes,
  malformed,
} from '../../../../streams/telemetry/samples/byte-reader.ts';
import type { ByteWriter } from '../../../../streams/telemetry/samples/byte-writer.ts';

const ZSTD_OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 9 } };
/** Fewer bytes than this never shrink: a frame of zstd has a dozen bytes of its own. */
const ZSTD_BYTES_MIN = 24;
const TWO_32 = 2 ** 32;

/** Writes whole numbers from 0 to 2^53 in as many planes as the largest needs. */
export function writePlanes(writer: ByteWriter, values: Float64Array): void {
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
export function readPlanes(reader: ByteReader, count: number): Float64Array {
  const values = new Float64Array(count);
  const planes = reader.u8();
  if (planes > 7) throw malformed(`${planes} planes of a whole number`);
  let factor = 1;
  for (let k = 0; k < planes; k++) {
    const plane = readPacked(reader, count);
    if (plane !== undefined) {
      // Casts: both arrays are `count` long.
      for (let i = 0; i < count; i++) {
        values[i] = (values[i] as number) + (plane[i] as number) * factor;
      }
    }
    factor *= 256;
  }
  return values;
}

/** Writes bytes: nothing when all are zero, compressed when that is smaller, else as they are. */
export function writePacked(writer: ByteWriter, bytes: Uint8Array): void {
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
export function readPacked(reader: ByteReader, length: number): Uint8Array | undefined {
  const header = reader.varint();
  if (header === 0) return undefined;
  const stored = reader.bytes(Math.floor(header / 2));
  const plain = header % 2 === 1 ? unpack(stored, length) : stored;
  if (plain.length !== length) throw malformed(`${plain.length} bytes where ${length} belong`);
  return plain;
}

function unpack(stored: Uint8Array, length: number): Uint8Array {
  try {
    return zstdDecompressSync(stored, { maxOutputLength: length });
  } catch (cause) {
    throw new DamagedBytes('MALFORMED', 'A part of a chunk does not unpack', { cause });
  }
}

function fillPlane(plane: Uint8Array, values: Float64Array, k: number): void {
  const shift = (k % 4) * 8;
  for (let i = 0; i < plane.length; i++) {
    const value = values[i] as number;
    // |0 takes the low 32 bits of any whole number below 2^53.
    const word = k < 4 ? value | 0 : Math.floor(value / TWO_32);
    plane[i] = word >>> shift;
  }
}
