/**
 * Bytes of the entries of a partition's SAMPLES log: one byte of kind, then a sample batch in its
 * own format, or a small record with a checksum. Rules are JSON, because they are few, gain fields,
 * and people read them when something is odd.
 */
import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import type { LivenessReport, LogEntry } from './entry.ts';
import { decodeBatch, encodeBatch } from './samples/batch-codec.ts';
import { DamagedBytes, malformed } from './samples/byte-reader.ts';

export { decodeBatch, encodeBatch } from './samples/batch-codec.ts';

const BATCH = 1;
const TICK = 2;
const RULES = 3;
const RECORD_START = 5;
/** A tick is its time, followed by the liveness report if there is one. */
const TIME_BYTES = 8;

/** The entry as bytes of its own. */
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
    const { livenessReport } = entry;
    return record(TICK, livenessReport ? Buffer.concat([time, jsonBytes(livenessReport)]) : time);
  }
  const { kind: _, ...marker } = entry;
  return record(RULES, jsonBytes(marker));
}

/** The entry, whole. Throws `DamagedBytes` when the bytes are anything but what was encoded. */
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
  return {
    ...tick,
    livenessReport: JSON.parse(body.toString('utf8', TIME_BYTES)) as LivenessReport,
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
  throw new DamagedBytes('CHECKSUM', 'The entry is not what was written: its checksum differs');
}

type RulesBody = Omit<Extract<LogEntry, { kind: 'rules' }>, 'kind'>;

function rulesEntry(body: Buffer): LogEntry {
  // The checksum says that our own encoder wrote this; its shape needs no second proof.
  const marker = JSON.parse(body.toString('utf8')) as RulesBody;
  return { kind: 'rules', ...marker };
}
