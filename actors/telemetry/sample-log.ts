/**
 * The SAMPLES log of this node's partitions: a write-ahead log of sample batches, ticks and rule
 * markers, in the one order that history and evaluator both read. Ingest and the partition's owner
 * write it. It is read once a node, decoded once, and passed to every reader in step.
 */

import { Buffer } from 'node:buffer';
import { Subject } from 'rxjs';
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { PARTITIONS, type Stream, type StreamSpec } from '../../streams/platform/stream.ts';
import { isStale, type LogEntry, type RulesEntry } from '../../streams/telemetry/entry.ts';
import {
  decoded,
  encodeEntry,
  type LoggedEntry,
  type PlacedEntry,
} from '../../streams/telemetry/entry-codec.ts';
import { TimeSlices } from '../platform/time-slices.ts';

/** Stream of all partitions; more streams may share them in a later deployment. */
export const SAMPLES_STREAM = 'SAMPLES_0';

export const samplesSpec: StreamSpec = {
  name: SAMPLES_STREAM,
  subjects: ['svc.samples.>'],
  retention: 'log',
  duplicateWindowMs: 120_000,
};

/** Most entries that a reader may be behind; then reading waits for it. */
const BACKLOG_MAX = 256;

/** Appends one entry; durable when it resolves, with its sequence. Throws `StreamUnavailable`. */
export async function appendEntry(
  stream: Stream,
  partition: number,
  entry: LogEntry,
): Promise<number> {
  const subject = `svc.samples.${partition}.${entry.kind}`;
  const data = encodeEntry(entry);
  writtenTo(stream).remember(data, entry);
  const outcome = await stream.append({ stream: SAMPLES_STREAM, subject, data });
  if (outcome.kind === 'wrongLastSequence') throw new Error('An unconditional append was refused');
  return outcome.sequence;
}

/** Entries stored from `fromMs` on (all partitions, or one kind of one), up to the end as of now. */
export async function* pastEntries(
  stream: Stream,
  from: { readonly sequence: number } | { readonly timeMs: number },
  filter: { readonly partition?: number; readonly kind?: LogEntry['kind'] } = {},
): AsyncGenerator<PlacedEntry> {
  const subject = `svc.samples.${filter.partition ?? '*'}.${filter.kind ?? '*'}`;
  const read = stream.read({ stream: SAMPLES_STREAM, from, subject, untilEnd: true });
  try {
    for await (const message of read) yield decoded(place(message));
  } finally {
    await read.close();
  }
}

/** Markers of rules in the log, but for those whose writer's lease had ended: see `isStale`. */
export async function* pastMarkers(stream: Stream): AsyncGenerator<RulesEntry> {
  const epochs = new Map<number, number>();
  for await (const { entry, partition } of pastEntries(
    stream,
    { sequence: 1 },
    { kind: 'rules' },
  )) {
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
   * Reads from `sequence` until `signal`, letting other work in between. Rejects with what broke
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
        this.entries.next(place(message, writtenTo(stream).take(message.data)));
        while (this.#read - this.#handled > BACKLOG_MAX && !signal.aborted)
          await this.#untilHandled();
      }
    } finally {
      signal.removeEventListener('abort', close);
      await read.close();
    }
  }

  /** The slowest subscriber (the evaluator) is done with one more entry. */
  handled(): void {
    this.#handled++;
    this.#wake?.();
  }

  /** Entries read and not yet handled. */
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

/** @param entry what the message's bytes decode to, where that is known */
function place(message: StoredMessage, entry?: LogEntry): LoggedEntry {
  const partition = Number(message.subject.split('.')[2]);
  if (!(partition >= 0 && partition < PARTITIONS)) {
    throw new Error(`Subject ${message.subject} names no partition`);
  }
  const { sequence, timeMs: storedMs } = message;
  return { sequence, partition, storedMs, entry: entry ?? message.data };
}

/** Entries kept until the log's reader meets them; it is rarely more than a few behind. */
const WRITTEN_KEPT = 64;

interface WrittenEntry {
  readonly data: Uint8Array;
  readonly entry: LogEntry;
}

/**
 * Entries that this process has just encoded and will read back. They are found by their bytes, so
 * that they need not be decoded again. Only equal bytes count as the same entry, whoever wrote them
 * and in whatever order they arrive.
 */
class WrittenEntries {
  readonly #kept = new BoundedCache<number, WrittenEntry>(WRITTEN_KEPT);

  remember(data: Uint8Array, entry: LogEntry): void {
    this.#kept.set(fingerprint(data), { data, entry });
  }

  take(data: Uint8Array): LogEntry | undefined {
    const key = fingerprint(data);
    const found = this.#kept.get(key);
    if (found === undefined || Buffer.compare(found.data, data) !== 0) return undefined;
    this.#kept.delete(key);
    return found.entry;
  }
}

/** Of the last bytes, where entries differ most: values, and zstd's end. */
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
