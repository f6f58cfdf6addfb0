/**
 * The stream port on SQLite tables: the whole service in one process without a server. An append
 * decides de-duplication and the expected sequence inside a transaction that concurrent appends
 * share (group commit, WAL, synchronous FULL), so a response means "on disk", and the same
 * conflicts occur as on a cluster. Streams are spread over files by name; each file has one writer.
 */
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import { type Random, systemRandom, ulid } from '../../../streams/platform/random.ts';
import {
  type Append,
  type AppendOutcome,
  type Consumer,
  type ConsumerSpec,
  type ReadOptions,
  type Stream,
  type StreamHealth,
  StreamMisconfigured,
  type StreamOrigin,
  type StreamRead,
  type StreamSpec,
  type StreamState,
  StreamUnavailable,
  subjectMatches,
} from '../../../streams/platform/stream.ts';
import { streamLosses } from '../../../streams/platform/stream-loss.ts';
import type { SqliteDatabase } from '../database.ts';
import { DurableConsumer } from './durable-consumer.ts';
import { StreamFile } from './stream-file.ts';
import { EmbeddedRead, type SkipsDamaged } from './stream-read.ts';

/** A path, opened and closed by the adapter, or an open connection, which it shares. */
type EmbeddedStorage = string | SqliteDatabase;

export interface EmbeddedStreamOptions {
  /** Location of the streams: one for all, or one per stream name. */
  readonly storage: EmbeddedStorage | ((stream: string) => EmbeddedStorage);
  readonly clock: Clock;
  /** Identities of new streams. Default: the system's generator. */
  readonly random?: Random;
  /**
   * Blocks the thread for this long in each commit, ms: a slow disk, for measurements. Default 0.
   */
  readonly fsyncDelayMs?: number;
  /** Whether reads continue after damaged messages. Default: they fail there. */
  readonly skipsDamaged?: SkipsDamaged;
}

// Checks per age limit for messages past their age, within these bounds.
const AGE_CHECKS = 8;
const AGE_CHECK_MS_MIN = 100;
const AGE_CHECK_MS_MAX = 3_600_000;

/** The embedded adapter. A file is opened when one of its streams is first named. */
export function openEmbeddedStream(options: EmbeddedStreamOptions): Stream {
  return new EmbeddedStream(options);
}

class EmbeddedStream implements Stream {
  readonly #options: EmbeddedStreamOptions;
  readonly #files = new Map<EmbeddedStorage, StreamFile>();
  readonly #consumers = new Map<string, Promise<DurableConsumer>>();
  readonly #expiry = new Map<string, CancelWakeUp>();
  readonly #reads = new Set<StreamRead>();
  #closed = false;

  constructor(options: EmbeddedStreamOptions) {
    this.#options = options;
  }

  async ensure(spec: StreamSpec, origin?: StreamOrigin): Promise<StreamState> {
    const file = this.#file(spec.name);
    const { clock, random = systemRandom } = this.#options;
    const made = origin ?? { identity: ulid(clock.now(), random), firstSequence: 1 };
    const existing = await file.commits.submit(() => {
      const row = file.messages.find(spec.name);
      if (row === undefined) file.messages.create(spec, made);
      return row?.spec;
    });
    if (existing !== undefined) assertKeeps(file, existing, spec);
    const ageMs = existing === undefined ? spec.maxAgeMs : existing.maxAgeMs;
    if (ageMs !== undefined) this.#checkAge(file, spec.name, ageMs);
    return this.state(spec.name);
  }

  async compare(spec: StreamSpec): Promise<StreamState | undefined> {
    const file = this.#file(spec.name);
    const existing = file.reading(() => file.messages.find(spec.name))?.spec;
    if (existing === undefined) return undefined;
    assertKeeps(file, existing, spec);
    return this.state(spec.name);
  }

  async state(stream: string): Promise<StreamState> {
    const file = this.#file(stream);
    return file.reading(() => file.messages.state(stream));
  }

  async append(append: Append): Promise<AppendOutcome> {
    const file = this.#file(append.stream);
    const { spec } = file.reading(() => file.messages.get(append.stream));
    if (!spec.subjects.some((pattern) => subjectMatches(append.subject, pattern))) {
      throw new StreamMisconfigured(`Stream ${append.stream} does not accept ${append.subject}`);
    }
    return file.append(append);
  }

  read(options: ReadOptions): StreamRead {
    const file = this.#file(options.stream);
    const onClosed = () => void this.#reads.delete(read);
    const read = new EmbeddedRead(file, options, onClosed, this.#options.skipsDamaged);
    this.#reads.add(read);
    return read;
  }

  async consume(spec: ConsumerSpec): Promise<Consumer> {
    const file = this.#file(spec.stream);
    const key = `${spec.stream} ${spec.durable}`;
    let opening = this.#consumers.get(key);
    if (opening === undefined) {
      opening = DurableConsumer.open(file, this.#options.clock, spec);
      this.#consumers.set(key, opening);
      opening.catch(() => this.#consumers.delete(key));
    }
    return (await opening).receiver(spec);
  }

  async truncate(options: { stream: string; belowSequence: number; subject?: string }) {
    const { stream, belowSequence, subject } = options;
    await this.#file(stream).removeBelow(stream, belowSequence, subject);
  }

  /** The first fault among the files. */
  health(): StreamHealth {
    if (this.#closed) return { state: 'unavailable', reason: 'The stream is closed' };
    const states = [...this.#files.values()].map((file) => file.commits.health());
    return states.find((health) => health.state === 'unavailable') ?? { state: 'available' };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const cancel of this.#expiry.values()) cancel();
    for (const read of [...this.#reads]) await read.close();
    for (const opening of this.#consumers.values()) {
      await opening.then(
        (consumer) => consumer.close(),
        () => {},
      );
    }
    for (const file of this.#files.values()) file.close();
  }

  #checkAge(file: StreamFile, stream: string, ageMs: number): void {
    this.#expiry.get(stream)?.();
    const waitMs = Math.min(Math.max(ageMs / AGE_CHECKS, AGE_CHECK_MS_MIN), AGE_CHECK_MS_MAX);
    const check = async (): Promise<void> => {
      try {
        await file.removeAged(stream, ageMs);
      } catch (error) {
        // The file's health reports it, and the next check retries.
        if (!(error instanceof StreamUnavailable)) throw error;
      }
      if (!this.#closed) this.#checkAge(file, stream, ageMs);
    };
    this.#expiry.set(
      stream,
      this.#options.clock.wakeAfter(waitMs, () => void check()),
    );
  }

  #file(stream: string): StreamFile {
    if (this.#closed) throw new StreamUnavailable('The stream is closed', 'refused');
    const { storage, clock, fsyncDelayMs } = this.#options;
    const place = typeof storage === 'function' ? storage(stream) : storage;
    let file = this.#files.get(place);
    if (file === undefined) {
      file = new StreamFile(place, clock, fsyncDelayMs ?? 0);
      this.#files.set(place, file);
    }
    return file;
  }
}

function assertKeeps(file: StreamFile, existing: StreamSpec, spec: StreamSpec): void {
  const losses = streamLosses(existing, spec);
  if (losses.length === 0) return;
  const where = `Stream ${spec.name} in ${file.database.name}`;
  throw new StreamMisconfigured(`${where} differs: ${losses.join('; ')}`);
}
