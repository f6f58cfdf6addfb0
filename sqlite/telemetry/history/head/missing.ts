/**
 * Rows that are in the log but cannot be read, because the head had no memory for them, or because
 * the log is still being read after a start. Every
 * reader on any thread checks here, and fails instead of returning an incomplete result. One entry
 * per project with the time span of its rows; written by the head, read under a sequence lock.
 *
 * lock (4) · length (4) · UTF-8 of a JSON list
 */
import { Buffer } from 'node:buffer';
import { HistoryError } from '../history-error.ts';

/** Missing rows of a project: times of the first and the last of them, Unix ms, inclusive. */
export interface MissingSpan {
  readonly project: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** The log is still being read after a start. */
  readonly isFilling?: true;
}

const HEADER_BYTES = 8;
/** About 10,000 projects at once. Beyond it every project's reads fail, so that none is wrong. */
const BYTES_MAX = 1024 * 1024;
const EVERY_PROJECT = '*';
const TRIES = 2000;
/** Largest and smallest time of a date, Unix ms. */
const TIME_MAX = 8.64e15;
/** Every time of every project may lack rows. It goes first in the list. */
export const ALL_MISSING: MissingSpan = {
  project: EVERY_PROJECT,
  fromMs: -TIME_MAX,
  toMs: TIME_MAX,
  isFilling: true,
};

/**
 * Memory for the list, which grows with its entries. It is created once and shared with every
 * thread.
 */
export function createMissingMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(HEADER_BYTES, { maxByteLength: HEADER_BYTES + BYTES_MAX });
}

/** Replaces the list that readers see. Single writer. */
export function publishMissing(memory: SharedArrayBuffer, spans: readonly MissingSpan[]): void {
  let bytes = Buffer.from(JSON.stringify(spans));
  if (bytes.length > BYTES_MAX) {
    const fromMs = spans.reduce((least, span) => Math.min(least, span.fromMs), TIME_MAX);
    const toMs = spans.reduce((most, span) => Math.max(most, span.toMs), -TIME_MAX);
    bytes = Buffer.from(JSON.stringify([{ project: EVERY_PROJECT, fromMs, toMs }]));
  }
  const end = HEADER_BYTES + bytes.length;
  if (end > memory.byteLength) memory.grow(end);
  const header = new Int32Array(memory, 0, 2);
  Atomics.add(header, 0, 1);
  header[1] = bytes.length;
  new Uint8Array(memory, HEADER_BYTES, bytes.length).set(bytes);
  Atomics.add(header, 0, 1);
}

/** The reading side, on any thread. */
export class MissingRows {
  readonly #memory: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #pause = new Int32Array(new SharedArrayBuffer(4));
  #version = 0;
  #spans: readonly MissingSpan[] = [];

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory;
    this.#header = new Int32Array(memory, 0, 2);
  }

  /**
   * The result of `read`, provided that none of the project's rows in the time range was missing
   * during the read; both ends inclusive, Unix ms. Throws `HistoryError` INCOMPLETE.
   */
  whole<T>(project: string, fromMs: number, toMs: number, read: () => T): T {
    return this.#certain(project, read, (span) => span.fromMs <= toMs && span.toMs >= fromMs);
  }

  /**
   * Like `whole`, for the newest data of a VM: data older than a missing row is not a valid result.
   * @param timeOf observation time of the result, Unix ms; undefined = there is none
   */
  newest<T>(project: string, read: () => T, timeOf: (answer: T) => number | undefined): T {
    return this.#certain(
      project,
      read,
      (span, answer) => span.toMs > (timeOf(answer) ?? -Infinity),
    );
  }

  #certain<T>(
    project: string,
    read: () => T,
    isTouched: (span: MissingSpan, answer: T) => boolean,
  ): T {
    for (let tries = 0; tries < TRIES; tries++) {
      const span = this.#of(project);
      const version = this.#version;
      const answer = read();
      if (span !== undefined && isTouched(span, answer)) throw incomplete(project, span);
      // Rows may have been rejected and restored between the two checks.
      if (Atomics.load(this.#header, 0) === version) return answer;
    }
    throw incomplete(project, this.#of(project));
  }

  /** The project's missing rows; undefined = none. */
  #of(project: string): MissingSpan | undefined {
    if (Atomics.load(this.#header, 0) !== this.#version) this.#readAgain();
    return this.#spans.find((one) => one.project === project || one.project === EVERY_PROJECT);
  }

  #readAgain(): void {
    for (let tries = 0; tries < TRIES; tries++) {
      const version = Atomics.load(this.#header, 0);
      if (version % 2 === 0) {
        const length = this.#header[1] as number;
        const inside = HEADER_BYTES + length <= this.#memory.byteLength;
        // Copied first: a decoder rejects shared memory.
        const bytes = inside && Buffer.from(new Uint8Array(this.#memory, HEADER_BYTES, length));
        if (bytes && Atomics.or(this.#header, 0, 0) === version) {
          // Only `publishMissing` writes it.
          this.#spans = length === 0 ? [] : (JSON.parse(bytes.toString()) as MissingSpan[]);
          this.#version = version;
          return;
        }
      }
      Atomics.wait(this.#pause, 0, 0, 1);
    }
    throw new HistoryError('UNAVAILABLE', 'The list of missing rows stayed locked for seconds');
  }
}

function incomplete(project: string, span: MissingSpan | undefined): HistoryError {
  const rows = `Accepted rows of projects/${project} are not readable yet:`;
  const message =
    span?.isFilling === true
      ? `${rows} the service has just started and is still reading them from its log. Retry in a few seconds`
      : `${rows} the memory for new rows was full. They are in the log and become readable once memory is free`;
  return new HistoryError('INCOMPLETE', message);
}
