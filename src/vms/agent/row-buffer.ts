/**
 * Buffer of unsent rows on disk. Rows are appended when observed, sent in batches, and deleted once
 * the service has stored them. A row is on disk when `append` returns. A batch never changes once
 * it was offered, so that the service recognises it after a crash between its response and the
 * deletion.
 *
 *     000000000001-1f3a.rows   000000000002-77c0.rows   000000000003-90be.rows
 *     ^ offered: closed                                 ^ appended to, until it is offered
 */
import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { ObservedRow, ObservedValue } from '../../../actors/telemetry/collectors/collector.ts';
import { makeFolder } from '../../../sqlite/platform/make-folder.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { syncFolder } from '../../platform/durable-file.ts';

export interface BufferedRow {
  /** Unix ms. */
  readonly observedMs: number;
  /** Increases from row to row, even across restarts. */
  readonly sequence: number;
  readonly values: readonly ObservedValue[];
  /** Its VM and facts of that VM; absent for the one VM of an agent. */
  readonly about?: RowFacts;
}

/** The facts of a row of many VMs, besides its readings. */
export type RowFacts = Omit<ObservedRow, 'observedMs' | 'sequence' | 'values'>;

/** A row to store. Without a sequence, it gets an increasing one. */
export type NewRow = Omit<BufferedRow, 'sequence'> & { readonly sequence?: number };

export interface BufferedBatch {
  /** The same for each offer, like the rows. */
  readonly id: string;
  readonly rows: readonly BufferedRow[];
}

export interface RowBufferOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Default 64 MiB. */
  readonly bytesMax?: number;
  /** Default 24 h. */
  readonly ageMsMax?: number;
  /** Called with the number of dropped rows and the reason. */
  readonly onDropped: (rows: number, why: 'TOO_MUCH' | 'TOO_OLD' | 'DAMAGED') => void;
}

export interface BufferStats {
  readonly rows: number;
  readonly bytes: number;
  /** Unix ms; absent if the buffer is empty. */
  readonly oldestMs?: number;
}

interface Segment {
  readonly name: string;
  readonly number: number;
  readonly firstMs: number;
  rows: number;
  bytes: number;
}

const BYTES_MAX = 64 * 2 ** 20;
const AGE_MS_MAX = 24 * 3_600_000;
/**
 * Maximum rows of a batch: far below the 1 MiB of a request, and little is lost if one is dropped.
 */
export const BATCH_ROWS_MAX = 100;
/** A batch is closed at this size, so that its request is below 1 MiB too. */
const BATCH_BYTES_MAX = 512 * 2 ** 10;
const SEQUENCES_A_SEGMENT = 1_000;
const FORM = /^(\d{12})-[0-9a-f]{8}\.rows$/;

export class RowBuffer {
  readonly #options: RowBufferOptions;
  /** Oldest first. */
  readonly #segments: Segment[] = [];
  /** Descriptor of the last segment while it is open. */
  #file: number | undefined;
  #offered: string | undefined;
  #lastNumber = 0;

  /** Adopts the files on disk. Throws the errors of the file system. */
  constructor(options: RowBufferOptions) {
    this.#options = options;
    makeFolder(options.folder, 0o700);
    for (const name of readdirSync(options.folder).sort()) {
      const number = Number(FORM.exec(name)?.[1]);
      if (!Number.isNaN(number)) this.#adopt(name, number);
    }
  }

  /**
   * The row is on disk when it returns. Throws the errors of the file system, such as ENOSPC; the
   * row is then not stored, and can be appended again.
   */
  append(row: NewRow): void {
    this.appendAll([row]);
  }

  /**
   * The same for many rows, synced once per batch. If it throws, some may be stored. They can be
   * appended again, because the service accepts a row once.
   */
  appendAll(rows: readonly NewRow[]): void {
    for (let at = 0; at < rows.length; ) {
      const observedMs = rows[at]?.observedMs ?? 0;
      this.#dropExcess(observedMs);
      const segment = this.#open(observedMs);
      const lines: Buffer[] = [];
      let bytes = segment.bytes;
      const count = () => segment.rows + lines.length;
      do {
        const line = lineOf(rows[at] as NewRow, segment.number * SEQUENCES_A_SEGMENT + count());
        lines.push(line);
        bytes += line.length;
        at++;
      } while (at < rows.length && count() < BATCH_ROWS_MAX && bytes < BATCH_BYTES_MAX);
      this.#write(segment, Buffer.concat(lines));
      segment.rows += lines.length;
      segment.bytes = bytes;
      if (segment.rows >= BATCH_ROWS_MAX || bytes >= BATCH_BYTES_MAX) this.#close();
    }
  }

  /** Closes and returns the oldest batch; undefined if the buffer is empty. */
  next(): BufferedBatch | undefined {
    for (let segment = this.#segments[0]; segment; segment = this.#segments[0]) {
      if (this.#segments.length === 1) this.#close();
      const { rows } = readRows(this.#pathOf(segment.name));
      this.#offered = segment.name;
      if (rows.length > 0) return { id: segment.name.replace('.rows', ''), rows };
      this.#remove(segment);
    }
    return undefined;
  }

  /** Deletes a batch that the service has stored, or will never accept. */
  done(id: string): void {
    const segment = this.#segments.find(({ name }) => name === `${id}.rows`);
    this.#offered = undefined;
    if (segment) this.#remove(segment);
  }

  stats(): BufferStats {
    const oldest = this.#segments[0];
    return {
      rows: this.#segments.reduce((sum, { rows }) => sum + rows, 0),
      bytes: this.#segments.reduce((sum, { bytes }) => sum + bytes, 0),
      ...(oldest && { oldestMs: oldest.firstMs }),
    };
  }

  /** Closes the open file. Everything stays on disk. A second call is harmless. */
  close(): void {
    this.#close();
  }

  /** Adopted files are not appended to, because the last line may be half a row. */
  #adopt(name: string, number: number): void {
    const { rows, damaged } = readRows(this.#pathOf(name));
    const bytes = statSync(this.#pathOf(name)).size;
    const firstMs = rows[0]?.observedMs ?? this.#options.clock.now();
    this.#lastNumber = Math.max(this.#lastNumber, number);
    this.#segments.push({ name, number, firstMs, rows: rows.length, bytes });
    if (damaged > 0) this.#options.onDropped(damaged, 'DAMAGED');
  }

  #dropExcess(nowMs: number): void {
    const { bytesMax = BYTES_MAX, ageMsMax = AGE_MS_MAX, onDropped } = this.#options;
    for (;;) {
      // The offered batch may already be stored; the one after it is not.
      const oldest = this.#segments.find(({ name }) => name !== this.#offered);
      if (!oldest || (this.#file !== undefined && oldest === this.#segments.at(-1))) return;
      const isTooOld = oldest.firstMs < nowMs - ageMsMax;
      if (!isTooOld && this.stats().bytes < bytesMax) return;
      this.#remove(oldest);
      onDropped(oldest.rows, isTooOld ? 'TOO_OLD' : 'TOO_MUCH');
    }
  }

  #open(firstMs: number): Segment {
    const last = this.#segments.at(-1);
    if (last && this.#file !== undefined) return last;
    const { clock, random, folder } = this.#options;
    // From the time, so that an emptied buffer continues above the sequences that it has sent.
    const number = Math.max(this.#lastNumber + 1, Math.floor(clock.now() / 1000));
    const suffix = Buffer.from(random.bytes(4)).toString('hex');
    const name = `${String(number).padStart(12, '0')}-${suffix}.rows`;
    this.#file = openSync(this.#pathOf(name), 'wx', 0o600);
    syncFolder(folder);
    this.#lastNumber = number;
    const segment = { name, number, firstMs, rows: 0, bytes: 0 };
    this.#segments.push(segment);
    return segment;
  }

  #write(segment: Segment, line: Buffer): void {
    const file = this.#file as number;
    try {
      for (let at = 0; at < line.length; ) at += writeSync(file, line, at);
      fdatasyncSync(file);
    } catch (error) {
      // Removes half a line before the row is appended again. A reader skips it if this fails too.
      try {
        ftruncateSync(file, segment.bytes);
      } finally {
        this.#close();
      }
      throw error;
    }
  }

  #close(): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = undefined;
  }

  #remove(segment: Segment): void {
    if (segment === this.#segments.at(-1)) this.#close();
    rmSync(this.#pathOf(segment.name), { force: true });
    this.#segments.splice(this.#segments.indexOf(segment), 1);
  }

  #pathOf(name: string): string {
    return join(this.#options.folder, name);
  }
}

function lineOf({ observedMs, sequence, values, about }: NewRow, next: number): Buffer {
  const fields = [observedMs, sequence ?? next, values, ...(about ? [about] : [])];
  return Buffer.from(`${JSON.stringify(fields)}\n`);
}

/** Rows of a file. `damaged` counts lines that are not rows, except an unfinished last line. */
function readRows(path: string): { rows: BufferedRow[]; damaged: number } {
  const lines = readFileSync(path, 'utf8').split('\n');
  // The unfinished last line was never acknowledged.
  lines.pop();
  const rows = lines.map(parseRow).filter((row) => row !== undefined);
  return { rows, damaged: lines.length - rows.length };
}

function parseRow(line: string): BufferedRow | undefined {
  try {
    const [observedMs, sequence, values, about] = JSON.parse(line) as unknown[];
    const isRow =
      typeof observedMs === 'number' && typeof sequence === 'number' && Array.isArray(values);
    if (!isRow) return undefined;
    const row = { observedMs, sequence, values: values as ObservedValue[] };
    // Only `lineOf` writes it.
    return about === undefined ? row : { ...row, about: about as RowFacts };
  } catch {
    return undefined;
  }
}
