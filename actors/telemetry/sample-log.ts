/**
 * The SAMPLES log of this node's partitions: a write-ahead log of sample batches, ticks and rule
 * markers, in the single order that history and evaluator both read. Ingest and the partition's
 * owner write it. It is read once per node, decoded once, and passed to all readers in step.
 */

import { Buffer } from 'node:buffer';
import { Subject } from 'rxjs';
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { TimeSlices } from '../../streams/platform/operators.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import {
  PARTITIONS,
  type Stream,
  type StreamSpec,
  StreamUnavailable,
} from '../../streams/platform/stream.ts';
import { isStale, type LogEntry, type RulesEntry } from '../../streams/telemetry/entry.ts';
import {
  decoded,
  encodeEntry,
  type LoggedEntry,
  type PlacedEntry,
} from '../../streams/telemetry/entry-codec.ts';
import { BatchBuilder } from '../../streams/telemetry/samples/batch.ts';
import type { IngestRow } from '../vms/sent-row.ts';

/** Stream of all partitions; a later deployment may split them over more streams. */
export const SAMPLES_STREAM = 'SAMPLES_0';

export const samplesSpec: StreamSpec = {
  name: SAMPLES_STREAM,
  subjects: ['svc.samples.>'],
  retention: 'log',
  duplicateWindowMs: 120_000,
  whenMissing: 'continue',
};

/**
 * Maximum number of times that a read of the past may break off at one position. After that, its
 * reader must restart.
 */
const BREAKS_MAX = 4;
/** Maximum number of entries that a reader may be behind; reading then waits for it. */
const BACKLOG_MAX = 256;

/** Pattern of the subjects of a partition: one for each kind of entry. */
export function partitionSubject(partition: number): string {
  return `svc.samples.${partition}.>`;
}

/** Appends one entry; durable when it resolves, with its sequence. Throws `StreamUnavailable`. */
export async function appendEntry(
  stream: Stream,
  partition: number,
  entry: LogEntry,
): Promise<number> {
  const subject = `svc.samples.${partition}.${entry.kind}`;
  const data = encodeEntry(entry);
  writtenTo(stream).remember({ data, entry, partition });
  const outcome = await stream.append({ stream: SAMPLES_STREAM, subject, data });
  if (outcome.kind === 'wrongLastSequence') throw new Error('An unconditional append was rejected');
  return outcome.sequence;
}

/**
 * Appends again the batches that this process has appended and not read back yet, e.g. because the
 * stream was deleted in between. Rows that are stored twice count once.
 */
export async function appendUnread(stream: Stream): Promise<void> {
  const unread = writtenTo(stream).unread();
  for (const { entry, partition } of unread) {
    if (entry.kind === 'batch') await appendEntry(stream, partition, entry);
  }
}

/**
 * Entries stored from there on (all partitions, or one kind in one partition), up to the current
 * end. A read that breaks off resumes at its position: a lost connection does not restart a read of
 * hours of the log. Entries that cannot be decoded are marked as unreadable. Rejects with
 * `StreamUnavailable` if it broke off `BREAKS_MAX` times without progress.
 */
export async function* pastEntries(
  stream: Stream,
  first: { readonly sequence: number } | { readonly timeMs: number },
  filter: { readonly partition?: number; readonly kind?: LogEntry['kind'] } = {},
): AsyncGenerator<PlacedEntry> {
  const subject = `svc.samples.${filter.partition ?? '*'}.${filter.kind ?? '*'}`;
  let from = first;
  for (let breaks = 0; ; ) {
    const began = from;
    const read = stream.read({ stream: SAMPLES_STREAM, from, subject, untilEnd: true });
    try {
      for await (const message of read) {
        from = { sequence: message.sequence + 1 };
        yield decodedIfReadable(place(message));
      }
      return;
    } catch (error) {
      breaks = from === began ? breaks + 1 : 0;
      if (breaks >= BREAKS_MAX || !(error instanceof StreamUnavailable)) throw error;
    } finally {
      await read.close();
    }
  }
}

/** The first batch of a partition that the log still has; undefined if it has none. */
export async function firstBatchOf(
  stream: Stream,
  partition: number,
): Promise<PlacedEntry | undefined> {
  const filter = { partition, kind: 'batch' } as const;
  for await (const first of pastEntries(stream, { sequence: 1 }, filter)) return first;
  return undefined;
}

/**
 * Markers of rules in the log, except those whose writer's lease had expired: see `isStale`.
 * @param only a partition; absent: all of them
 */
export async function* pastMarkers(stream: Stream, only?: number): AsyncGenerator<RulesEntry> {
  const epochs = new Map<number, number>();
  const filter = { kind: 'rules', ...(only !== undefined && { partition: only }) } as const;
  for await (const { entry, partition } of pastEntries(stream, { sequence: 1 }, filter)) {
    if (entry.kind !== 'rules' || isStale(entry, epochs.get(partition) ?? 0)) continue;
    epochs.set(partition, entry.epoch ?? 0);
    yield entry;
  }
}

/** The live log: one reader, and subscribers that report when they have handled an entry. */
export class SampleLogReader {
  readonly entries = new Subject<LoggedEntry>();
  readonly #slices: TimeSlices;
  #handled = 0;
  #read = 0;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#slices = new TimeSlices(clock);
  }

  /**
   * Reads from `sequence` until `signal`, yielding to other work. Rejects with the error that broke
   * the stream.
   */
  async run(stream: Stream, sequence: number, signal: AbortSignal): Promise<void> {
    const read = stream.read({
      stream: SAMPLES_STREAM,
      from: { sequence },
      subject: 'svc.samples.>',
      untilEnd: false,
    });
    const close = (): void => {
      void read.close();
      this.#wake?.();
    };
    signal.addEventListener('abort', close, { once: true });
    try {
      for await (const message of read) {
        if (signal.aborted) return;
        await this.#slices.yieldIfDue();
        this.#read++;
        const known = writtenTo(stream).take(message.data);
        this.entries.next(decodedIfReadable(place(message, known)));
        while (this.#read - this.#handled > BACKLOG_MAX && !signal.aborted)
          await this.#untilHandled();
      }
    } finally {
      signal.removeEventListener('abort', close);
      await read.close();
    }
  }

  /** Called when the slowest subscriber (the evaluator) has handled one more entry. */
  handled(): void {
    this.#handled++;
    this.#wake?.();
  }

  /** Number of entries read and not yet handled. */
  backlog(): number {
    return this.#read - this.#handled;
  }

  #untilHandled(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

interface StoredMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly timeMs: number;
  readonly data: Uint8Array;
}

/** @param entry the decoded bytes of the message, if known */
function place(message: StoredMessage, entry?: LogEntry): LoggedEntry {
  const partition = Number(message.subject.split('.')[2]);
  if (!(partition >= 0 && partition < PARTITIONS)) {
    throw new Error(`Subject ${message.subject} does not name a partition`);
  }
  const { sequence, timeMs: storedMs } = message;
  return { sequence, partition, storedMs, entry: entry ?? message.data };
}

/** An entry that cannot be decoded concerns its own partition only: the reader continues. */
function decodedIfReadable(logged: LoggedEntry): PlacedEntry {
  try {
    return decoded(logged);
  } catch (cause) {
    const { sequence, storedMs } = logged;
    const entry = { kind: 'rules', atMs: storedMs, upserts: [], removals: [] } as const;
    return { ...logged, entry, unreadable: new UnreadableEntry(sequence, cause) };
  }
}

/** Names an entry that cannot be decoded, and says what to do. */
class UnreadableEntry extends Error {
  constructor(sequence: number, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      `Entry ${sequence} of ${SAMPLES_STREAM} cannot be read: ${reason}. If a newer version wrote it, ` +
        'update this member. If it is damaged, its content is lost: with NATS, remove it by ' +
        `nats stream rmm ${SAMPLES_STREAM} ${sequence}`,
      { cause },
    );
    this.name = 'UnreadableEntry';
  }
}

/**
 * Number of written entries kept until the log's reader meets them; it is rarely more than a few
 * behind.
 */
const WRITTEN_KEPT = 64;

interface WrittenEntry {
  readonly data: Uint8Array;
  readonly entry: LogEntry;
  readonly partition: number;
}

/**
 * Entries that this process has just encoded and will read back. They are found by their bytes, so
 * that they need not be decoded again. Only equal bytes count as the same entry, regardless of the
 * writer and the order of arrival.
 */
class WrittenEntries {
  readonly #kept = new BoundedCache<number, WrittenEntry>(WRITTEN_KEPT);

  remember(written: WrittenEntry): void {
    this.#kept.set(fingerprint(written.data), written);
  }

  /** The entries that the reader has not met. */
  unread(): readonly WrittenEntry[] {
    return [...this.#kept.values()];
  }

  take(data: Uint8Array): LogEntry | undefined {
    const key = fingerprint(data);
    const found = this.#kept.get(key);
    if (found === undefined || Buffer.compare(found.data, data) !== 0) return undefined;
    this.#kept.delete(key);
    return found.entry;
  }
}

/**
 * Computed from the last bytes, where entries differ most: values, and the end of the zstd frame.
 */
function fingerprint(data: Uint8Array): number {
  const { length } = data;
  let hash = length;
  for (let i = Math.max(0, length - 32); i < length; i++) {
    hash = (Math.imul(hash, 31) + (data[i] as number)) | 0;
  }
  return hash;
}

const written = new WeakMap<Stream, WrittenEntries>();

function writtenTo(stream: Stream): WrittenEntries {
  let entries = written.get(stream);
  if (entries === undefined) {
    entries = new WrittenEntries();
    written.set(stream, entries);
  }
  return entries;
}

/**
 * Approximate size at which an entry is closed, bytes: its values and rows take less than three
 * times as much.
 */
const ENTRY_BYTES_MAX = 64 * 1024;
/**
 * Size of texts at which an entry is closed, bytes. The row that closes it may add as many again
 * (`SERIES_BYTES_MAX` of the API). All of it must fit into 512 KiB, the smallest accepted
 * `max_payload` of NATS, however badly it compresses.
 */
const ENTRY_TEXT_BYTES_MAX = 160 * 1024;
/** Entries written at once, in one transaction: encoding more would block the loop for too long. */
const ENTRIES_AT_ONCE = 4;
/**
 * Delay from the end of a write that several requests shared to the next, ms: within the 20
 * allowed.
 */
const DISTANCE_MS = 2;
/**
 * Maximum number of rows waiting for one partition's disk; more are rejected and have to be sent
 * again.
 */
const WAITING_ROWS_MAX = 200_000;

interface OpenEntry {
  readonly builder: BatchBuilder;
  requests: number;
  /** Resolves once the entry is durable, with its sequence in SAMPLES. */
  readonly done: Promise<number>;
  readonly settle: (written: number | { readonly error: unknown }) => void;
}

interface Partition {
  readonly waiting: OpenEntry[];
  /** Finished builders for reuse: they know the usual layouts. */
  readonly spare: BatchBuilder[];
  rows: number;
  busy: boolean;
  /** End of the last write that several requests shared, elapsed ms. */
  sharedUntilMs: number;
}

/**
 * Merges rows that arrive together into one entry of their partition's log. The first row is
 * written at the end of its turn of the event loop. Rows that arrive during a write share the next
 * one. With several concurrent senders the next write waits a little, so that all of them join it.
 * An idle system does not wait, and a busy one needs one disk write for many requests.
 */
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
   * Resolves once all rows are durable. Throws a `Refusal`: TOO_MANY_REQUESTS if too many rows
   * wait; NOT_READY if the stream does not accept them (the rows may or may not be stored; sending
   * them again is harmless).
   */
  async write(number: number, project: string, rows: readonly IngestRow[]): Promise<number> {
    if (rows.length === 0) return 0;
    const partition = this.#partitionOf(number);
    if (partition.rows + rows.length > WAITING_ROWS_MAX) {
      throw new Refusal(
        'TOO_MANY_REQUESTS',
        'Too many rows are waiting for the disk: send the batch again later',
      );
    }
    const entries: OpenEntry[] = [];
    let entry: OpenEntry | undefined;
    for (const row of rows) {
      if (entry === undefined || isFull(entry)) {
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

  /** Resolves once nothing waits: part of a graceful stop. */
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

  /** Waits unless an entry is full: other senders write too, and their next rows are on the way. */
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

  /** An entry with space for one more request. */
  #openEntry({ waiting, spare }: Partition): OpenEntry {
    const last = waiting.at(-1);
    if (last && !isFull(last)) {
      last.requests++;
      return last;
    }
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    // If the writer no longer waits, a rejected entry must not become an unhandled rejection.
    promise.catch(() => {});
    const settle = (written: number | { readonly error: unknown }): void =>
      typeof written === 'number' ? resolve(written) : reject(asRefusal(written.error));
    const builder = spare.pop() ?? new BatchBuilder();
    const entry = { builder, requests: 1, done: promise, settle };
    waiting.push(entry);
    return entry;
  }
}

function isFull({ builder }: OpenEntry): boolean {
  return builder.approximateBytes >= ENTRY_BYTES_MAX || builder.textBytes >= ENTRY_TEXT_BYTES_MAX;
}

function asRefusal(error: unknown): unknown {
  if (!(error instanceof StreamUnavailable)) return error;
  // The stream's own message is for the operator: it names hosts, folders and servers. Health
  // reports it.
  const message = 'The sample log is not responding: send the same batch again';
  return new Refusal('NOT_READY', message);
}
