/**
 * Merges rows that arrive together into one entry of their partition's log. The first row is
 * written at the end of its turn of the event loop. Rows that arrive during a write share the next
 * one. With several concurrent senders the next write waits a little, so that all of them join it.
 * An idle system waits for nothing, and a busy one pays one disk write for many requests.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { type Stream, StreamUnavailable } from '../../../streams/platform/stream.ts';
import { BatchBuilder } from '../../../streams/telemetry/samples/builder.ts';
import type { IngestRow } from '../../vms/sent-row.ts';
import { appendEntry } from '../sample-log.ts';

/** An entry is closed at about this size, bytes. */
const ENTRY_BYTES_MAX = 64 * 1024;
/** Entries written at once, in one transaction: encoding more would block the loop for too long. */
const ENTRIES_AT_ONCE = 4;
/** From the end of a write that several requests shared to the next, ms: within the 20 allowed. */
const DISTANCE_MS = 2;
/** Rows that may wait for one partition's disk; more is refused, to be sent again. */
const WAITING_ROWS_MAX = 200_000;

interface OpenEntry {
  readonly builder: BatchBuilder;
  requests: number;
  /** Its position in SAMPLES, once it is durable. */
  readonly done: Promise<number>;
  readonly settle: (written: number | { readonly error: unknown }) => void;
}

interface Partition {
  readonly waiting: OpenEntry[];
  /** Builders that have done their part: they know the usual layouts. */
  readonly spare: BatchBuilder[];
  rows: number;
  busy: boolean;
  /** When the last write that several requests shared ended, by the clock's elapsed time. */
  sharedUntilMs: number;
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
  async write(number: number, project: string, rows: readonly IngestRow[]): Promise<number> {
    if (rows.length === 0) return 0;
    const partition = this.#partitionOf(number);
    if (partition.rows + rows.length > WAITING_ROWS_MAX) {
      throw new Refusal('TOO_MANY_REQUESTS', 'Too many rows wait for the disk; send again later');
    }
    const entries: OpenEntry[] = [];
    let entry: OpenEntry | undefined;
    for (const row of rows) {
      if (entry === undefined || entry.builder.approximateBytes >= ENTRY_BYTES_MAX) {
        entry = this.#openEntry(partition);
        entries.push(entry);
      }
      entry.builder.addTo(project, row);
    }
    partition.rows += rows.length;
    if (!partition.busy) {
      partition.busy = true;
      setImmediate(() => void this.#drain(number, partition));
    }
    let last = 0;
    for (const { done } of entries) last = Math.max(last, await done);
    return last;
  }

  /** Resolves once nothing waits any more: part of a graceful stop. */
  async settled(): Promise<void> {
    const waiting = [...this.#partitions.values()].flatMap(({ waiting }) => waiting);
    await Promise.allSettled(waiting.map(({ done }) => done));
    while (this.#pending > 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  async #drain(number: number, partition: Partition): Promise<void> {
    this.#pending++;
    while (partition.waiting.length > 0) {
      await this.#keepDistance(partition);
      const entries = partition.waiting.splice(0, ENTRIES_AT_ONCE);
      await Promise.all(entries.map((entry) => this.#write(number, partition, entry)));
      if (entries.some(({ requests }) => requests > 1)) {
        partition.sharedUntilMs = this.#clock.elapsed();
      }
    }
    partition.busy = false;
    this.#pending--;
  }

  async #write(number: number, partition: Partition, entry: OpenEntry): Promise<void> {
    const { builder } = entry;
    partition.rows -= builder.count;
    try {
      const batch = builder.build(this.#clock.now());
      partition.spare.push(builder);
      entry.settle(await appendEntry(this.#stream, number, { kind: 'batch', batch }));
    } catch (error) {
      entry.settle({ error });
    }
  }

  /** Waits, unless an entry is full: others write as well, and their next rows are on the way. */
  #keepDistance({ waiting, sharedUntilMs }: Partition): Promise<void> | undefined {
    const waitMs = sharedUntilMs + DISTANCE_MS - this.#clock.elapsed();
    if (waitMs <= 0 || waiting.length > 1) return undefined;
    return new Promise((resolve) => void this.#clock.wakeAfter(waitMs, resolve));
  }

  #partitionOf(number: number): Partition {
    let partition = this.#partitions.get(number);
    if (!partition) {
      const sharedUntilMs = Number.NEGATIVE_INFINITY;
      partition = { waiting: [], spare: [], rows: 0, busy: false, sharedUntilMs };
      this.#partitions.set(number, partition);
    }
    return partition;
  }

  /** An entry that can take one more request. */
  #openEntry({ waiting, spare }: Partition): OpenEntry {
    const last = waiting.at(-1);
    if (last && last.builder.approximateBytes < ENTRY_BYTES_MAX) {
      last.requests++;
      return last;
    }
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    // A writer that stopped waiting must not turn a refused entry into an unhandled rejection.
    promise.catch(() => {});
    const settle = (written: number | { readonly error: unknown }): void =>
      typeof written === 'number' ? resolve(written) : reject(asRefusal(written.error));
    const builder = spare.pop() ?? new BatchBuilder();
    const entry = { builder, requests: 1, done: promise, settle };
    waiting.push(entry);
    return entry;
  }
}

function asRefusal(error: unknown): unknown {
  if (!(error instanceof StreamUnavailable)) return error;
  // Its words are the operator's: they name hosts, folders and servers. Health repeats them.
  const message = 'The sample log does not answer at the moment: send the same batch again';
  return new Refusal('NOT_READY', message);
}
