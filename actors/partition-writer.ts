/**
 * Merges rows that arrive together into one entry of their partition's log. The first row to come
 * is written at the end of the same turn of the event loop; what comes while a write is under way
 * shares the next one. So a quiet system waits for nothing, and a busy one pays one disk write for
 * many requests.
 */
import type { Clock } from '../streams/clock.ts';
import { Refusal } from '../streams/refusal.ts';
import { BatchBuilder } from '../streams/samples/builder.ts';
import { type Stream, StreamUnavailable } from '../streams/stream.ts';
import type { IngestRow } from './ingest-port.ts';
import { appendEntry } from './sample-log.ts';

/** An entry is closed at about this size, bytes. */
const ENTRY_BYTES_MAX = 64 * 1024;
/** Rows that may wait for one partition's disk; more is refused, to be sent again. */
const WAITING_ROWS_MAX = 200_000;

interface OpenEntry {
  readonly builder: BatchBuilder;
  readonly done: Promise<void>;
  readonly settle: (error?: unknown) => void;
}

interface Partition {
  readonly waiting: OpenEntry[];
  rows: number;
  busy: boolean;
}

export class PartitionWriter {
  readonly #stream: Stream;
  readonly #clock: Clock;
  readonly #partitions = new Map<number, Partition>();
  #pending = 0;

  constructor({ stream, clock }: { stream: Stream; clock: Clock }) {
    this.#stream = stream;
    this.#clock = clock;
  }

  /**
   * Resolves once all rows are durable. Throws a `Refusal`: TOO_MANY_REQUESTS when too much
   * waits, NOT_READY when the stream does not take it (the rows may or may not be stored; sending
   * them again is harmless).
   */
  async write(number: number, project: string, rows: readonly IngestRow[]): Promise<void> {
    if (rows.length === 0) return;
    const partition = this.#partitionOf(number);
    if (partition.rows + rows.length > WAITING_ROWS_MAX) {
      throw new Refusal('TOO_MANY_REQUESTS', 'Too many rows wait for the disk; send again later');
    }
    const entries = new Set<OpenEntry>();
    for (const row of rows) {
      const entry = this.#openEntry(partition);
      entry.builder.add({ ...row, project });
      entries.add(entry);
    }
    partition.rows += rows.length;
    if (!partition.busy) {
      partition.busy = true;
      setImmediate(() => void this.#drain(number, partition));
    }
    for (const entry of entries) await entry.done;
  }

  /** Resolves once nothing waits any more: part of a graceful stop. */
  async settled(): Promise<void> {
    const waiting = [...this.#partitions.values()].flatMap(({ waiting }) => waiting);
    await Promise.allSettled(waiting.map(({ done }) => done));
    while (this.#pending > 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  async #drain(number: number, partition: Partition): Promise<void> {
    this.#pending++;
    for (let entry = partition.waiting.shift(); entry; entry = partition.waiting.shift()) {
      partition.rows -= entry.builder.count;
      try {
        const batch = entry.builder.build(this.#clock.now());
        await appendEntry(this.#stream, number, { kind: 'batch', batch });
        entry.settle();
      } catch (error) {
        entry.settle(error);
      }
    }
    partition.busy = false;
    this.#pending--;
  }

  #partitionOf(number: number): Partition {
    let partition = this.#partitions.get(number);
    if (!partition) {
      partition = { waiting: [], rows: 0, busy: false };
      this.#partitions.set(number, partition);
    }
    return partition;
  }

  #openEntry({ waiting }: Partition): OpenEntry {
    const last = waiting.at(-1);
    if (last && last.builder.approximateBytes < ENTRY_BYTES_MAX) return last;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // A writer that stopped waiting must not turn a refused entry into an unhandled rejection.
    promise.catch(() => {});
    const settle = (error?: unknown): void =>
      error === undefined ? resolve() : reject(asRefusal(error));
    const entry = { builder: new BatchBuilder(), done: promise, settle };
    waiting.push(entry);
    return entry;
  }
}

function asRefusal(error: unknown): unknown {
  if (!(error instanceof StreamUnavailable)) return error;
  return new Refusal('NOT_READY', `${error.message}; send the same batch again`);
}
