/**
 * Looks for damage inside of SQLite's write-ahead log before SQLite opens it. SQLite reads the log up
 * to the first frame whose checksum differs, silently drops the rest and overwrites it. After a crash
 * the rest is an unfinished transaction; if whole transactions follow the bad frame, they had been
 * synced, so acknowledged work would be lost. The format is that of SQLite's documentation
 * ("The WAL-mode file format").
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

/** Result of a scan: transactions that SQLite would read, and those that it would drop. */
export interface LogScan {
  /** Frames before the first damaged one. */
  readonly frames: number;
  /** Transactions that were complete on disk after it: a lower bound. */
  readonly lost: number;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const NOTHING: LogScan = { frames: 0, lost: 0 };

/**
 * Scans the log beside a database whose transactions are synced one by one (synchronous FULL).
 * Changes nothing. Throws what `node:fs` throws.
 */
export function scanLog(databasePath: string): LogScan {
  const path = `${databasePath}-wal`;
  if (!existsSync(path)) return NOTHING;
  const descriptor = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(fstatSync(descriptor).size);
    readSync(descriptor, bytes, 0, bytes.length, 0);
    return scan(bytes);
  } finally {
    closeSync(descriptor);
  }
}

interface Header {
  readonly pageBytes: number;
  readonly isBigEndian: boolean;
  readonly isSound: boolean;
  readonly salts: readonly [number, number];
  readonly sums: Sums;
}

type Sums = readonly [number, number];

function scan(bytes: Buffer): LogScan {
  if (bytes.length < HEADER_BYTES) return NOTHING;
  const header = headerOf(bytes);
  const frameBytes = FRAME_HEADER_BYTES + header.pageBytes;
  const count = Math.floor((bytes.length - HEADER_BYTES) / frameBytes);
  const frameAt = (i: number) =>
    bytes.subarray(HEADER_BYTES + i * frameBytes, HEADER_BYTES + (i + 1) * frameBytes);
  let frames = 0;
  for (let sums = header.sums; header.isSound && frames < count; frames++) {
    const next = sumsOfFrame(frameAt(frames), sums, header);
    if (next === undefined) break;
    sums = next;
  }
  return { frames, lost: commitsAfter(frames, count, (i) => isOfLog(frameAt(i), header)) };
}

/** Complete transactions that are followed by a frame: each was synced before the next began. */
function commitsAfter(
  from: number,
  count: number,
  read: (i: number) => { readonly isOfLog: boolean; readonly isCommit: boolean },
): number {
  let last = count - 1;
  while (last >= from && !read(last).isOfLog) last--;
  let commits = 0;
  for (let i = from; i < last; i++) {
    const { isOfLog: isIn, isCommit } = read(i);
    if (isIn && isCommit) commits++;
  }
  return commits;
}

function headerOf(bytes: Buffer): Header {
  const isBigEndian = (bytes.readUInt32BE(0) & 1) === 1;
  const size = bytes.readUInt32BE(8);
  const sums = sumsOf(bytes.subarray(0, FRAME_HEADER_BYTES), [0, 0], isBigEndian);
  const isSound = sums[0] === bytes.readUInt32BE(24) && sums[1] === bytes.readUInt32BE(28);
  // A damaged size is found by the frames: this is the size of almost every database.
  const pageBytes = isSound ? size : size === 8192 ? 8192 : 4096;
  const salts = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)] as const;
  return { pageBytes, isBigEndian, isSound, salts, sums };
}

/** Sums after the frame; undefined: it is damaged, or of an earlier log. */
function sumsOfFrame(frame: Buffer, before: Sums, header: Header): Sums | undefined {
  const { isBigEndian, salts } = header;
  if (frame.readUInt32BE(8) !== salts[0] || frame.readUInt32BE(12) !== salts[1]) return undefined;
  const ofHead = sumsOf(frame.subarray(0, 8), before, isBigEndian);
  const sums = sumsOf(frame.subarray(FRAME_HEADER_BYTES), ofHead, isBigEndian);
  const isSound = sums[0] === frame.readUInt32BE(16) && sums[1] === frame.readUInt32BE(20);
  return isSound ? sums : undefined;
}

/**
 * A log that begins anew gets two new salts. If one of them is equal, the frame belongs to this
 * log, even if a bit of the other has flipped.
 */
function isOfLog(frame: Buffer, { salts }: Header) {
  const isIn = frame.readUInt32BE(8) === salts[0] || frame.readUInt32BE(12) === salts[1];
  return { isOfLog: isIn, isCommit: frame.readUInt32BE(4) > 0 };
}

/** SQLite's checksum over pairs of 32-bit words. */
function sumsOf(bytes: Buffer, [a, b]: Sums, isBigEndian: boolean): Sums {
  let [first, second] = [a, b];
  for (let i = 0; i + 8 <= bytes.length; i += 8) {
    const one = isBigEndian ? bytes.readUInt32BE(i) : bytes.readUInt32LE(i);
    const two = isBigEndian ? bytes.readUInt32BE(i + 4) : bytes.readUInt32LE(i + 4);
    first = (first + one + second) >>> 0;
    second = (second + two + first) >>> 0;
  }
  return [first, second];
}
