/**
 * The stream server: stored messages only, not how they get there (`connection.ts`). It outlives
 * every process, forgets nothing and makes no mistakes; faults happen on the connections. It has
 * its own clock, which stamps the messages; a new leader's clock may be seconds off.
 */
import {
  type Append,
  type AppendOutcome,
  type StreamMessage,
  StreamMisconfigured,
  type StreamSpec,
  type StreamState,
  subjectMatches,
} from '../../streams/platform/stream.ts';
import type { World } from './world.ts';

/** An unacknowledged message of a work queue. */
export interface Waiting {
  readonly message: StreamMessage;
  /** Elapsed time of the world before which it is not redelivered, ms. */
  visibleMs: number;
  deliveries: number;
}

/** A message with times by the world's elapsed time, whatever the clocks say. */
export interface StoredMessage extends StreamMessage {
  /** Time at which its sender sent it. */
  readonly sentElapsedMs: number;
  /** Time of the first send; later sends may have been lost again and again. */
  readonly firstSentElapsedMs: number;
  /** Time at which the server stored it. */
  readonly elapsedMs: number;
}

/** The server's time, which the streams share. */
export class ServerClock {
  readonly world: World;
  /** Offsets from true time in ms, with their start; the newest is last. */
  readonly skews = [{ fromMs: 0, ms: 0 }];

  constructor(world: World) {
    this.world = world;
  }

  /** Offset from true time, ms. */
  get skewMs(): number {
    return this.skews.at(-1)?.ms ?? 0;
  }

  set(ms: number): void {
    this.skews.push({ fromMs: this.world.elapsedMs, ms });
  }

  /** Offsets within that stretch of elapsed time, ms. */
  skewsIn(fromMs: number, untilMs: number): number[] {
    const first = this.skews.findLastIndex((skew) => skew.fromMs <= fromMs);
    return this.skews.slice(first).flatMap((skew) => (skew.fromMs <= untilMs ? [skew.ms] : []));
  }
}

export interface Arrival {
  /** Elapsed time of the send, ms. */
  readonly sentElapsedMs: number;
  /** Stored again, as after the de-duplication window. */
  readonly twice: boolean;
  /** Checks the message id first, as servers before 2.12 do. */
  readonly idsFirst: boolean;
}

export class StoredStream {
  readonly spec: StreamSpec;
  /** Every message ever stored, including removed ones, for the oracles. */
  readonly messages: StoredMessage[] = [];
  /** Unacknowledged messages of a work queue, by sequence. */
  readonly waiting = new Map<number, Waiting>();
  /** Sequences of messages whose senders did not learn that they were stored. */
  readonly unanswered = new Set<number>();
  /** Called with the sequences that a truncation removed. */
  onTruncated: ((sequences: readonly number[]) => void) | undefined;
  /** Elapsed time until which the stream has no leader and does not answer, ms. */
  leaderlessUntilMs = 0;
  readonly #clock: ServerClock;
  readonly #firstSent = new Map<string, number>();
  readonly #ids = new Map<string, number>();
  readonly #lastOfSubject = new Map<string, number>();
  readonly #changed = new Set<() => void>();
  /** Sequences removed by a truncation or by a newer message of their subject. */
  readonly #removed = new Set<number>();
  #first = 1;

  constructor(spec: StreamSpec, clock: ServerClock) {
    this.spec = spec;
    this.#clock = clock;
  }

  get lastSequence(): number {
    return this.messages.length;
  }

  get firstSequence(): number {
    return this.#first;
  }

  state(): StreamState {
    const { lastSequence, firstSequence } = this;
    const identity = `simulated-${this.spec.name}`;
    const messages = lastSequence - this.#removed.size;
    return { identity, firstSequence, lastSequence, messages };
  }

  /** The message at a sequence, unless it was removed or does not exist yet. */
  at(sequence: number): StoredMessage | undefined {
    return this.#removed.has(sequence) ? undefined : this.messages[sequence - 1];
  }

  /** Records that a message is sent, before its arrival is known. */
  recordSent({ messageId }: Append): void {
    if (messageId === undefined || this.#firstSent.has(messageId)) return;
    this.#firstSent.set(messageId, this.#clock.world.elapsedMs);
  }

  store(append: Append, { sentElapsedMs, twice, idsFirst }: Arrival): AppendOutcome {
    const { messageId, subject, expectedLastSubjectSequence: expected } = append;
    const known = messageId === undefined ? undefined : this.#ids.get(messageId);
    const isWrong = expected !== undefined && expected !== (this.#lastOfSubject.get(subject) ?? 0);
    if (known !== undefined && (idsFirst || !isWrong)) {
      return { kind: 'duplicate', sequence: known };
    }
    if (isWrong) return { kind: 'wrongLastSequence' };
    const sequence = this.#push(append, sentElapsedMs);
    if (twice) this.#push(append, sentElapsedMs);
    return { kind: 'appended', sequence };
  }

  /** Removes messages below the sequence, of one subject if given. */
  truncate(belowSequence: number, subject = '>'): void {
    const removed: number[] = [];
    for (let sequence = this.#first; sequence < belowSequence; sequence++) {
      const message = this.messages[sequence - 1];
      if (!message || this.#removed.has(sequence)) continue;
      if (!subjectMatches(message.subject, subject)) continue;
      this.#remove(message);
      removed.push(sequence);
    }
    if (removed.length > 0) this.onTruncated?.(removed);
  }

  /** Calls `wake` on the next change. Returns its undo. */
  onChange(wake: () => void): () => void {
    this.#changed.add(wake);
    return () => void this.#changed.delete(wake);
  }

  /** Sequence of the first message stored at that time or later. */
  firstSince(timeMs: number): number {
    const found = this.messages.find(
      (message) => message.timeMs >= timeMs && !this.#removed.has(message.sequence),
    );
    return found?.sequence ?? this.lastSequence + 1;
  }

  #push({ subject, data, messageId }: Append, sentElapsedMs: number): number {
    const { world, skewMs } = this.#clock;
    const sequence = this.messages.length + 1;
    const { elapsedMs } = world;
    const id = messageId === undefined ? {} : { messageId };
    const firstSentElapsedMs = this.#firstSent.get(messageId ?? '') ?? sentElapsedMs;
    const sent = { sentElapsedMs, firstSentElapsedMs };
    const times = { timeMs: world.nowMs + skewMs, elapsedMs, ...sent };
    const message = { subject, sequence, ...times, data: data.slice(), ...id };
    const before = this.#lastOfSubject.get(subject);
    this.messages.push(message);
    if (messageId !== undefined && !this.#ids.has(messageId)) this.#ids.set(messageId, sequence);
    this.#lastOfSubject.set(subject, sequence);
    const replaced = before === undefined ? undefined : this.at(before);
    if (this.spec.lastOfSubject && replaced) this.#remove(replaced);
    if (this.spec.retention === 'workQueue') {
      this.waiting.set(sequence, { message, visibleMs: 0, deliveries: 0 });
    }
    for (const wake of [...this.#changed]) wake();
    return sequence;
  }

  #remove({ sequence, subject }: StreamMessage): void {
    this.#removed.add(sequence);
    this.waiting.delete(sequence);
    if (this.#lastOfSubject.get(subject) === sequence) this.#lastOfSubject.delete(subject);
    while (this.#first <= this.lastSequence && this.#removed.has(this.#first)) this.#first++;
  }
}

export class LogServer {
  readonly clock: ServerClock;
  readonly #streams = new Map<string, StoredStream>();

  constructor(world: World) {
    this.clock = new ServerClock(world);
  }

  ensure(spec: StreamSpec): StoredStream {
    const stream = this.#streams.get(spec.name) ?? new StoredStream(spec, this.clock);
    this.#streams.set(spec.name, stream);
    return stream;
  }

  /** Throws `StreamMisconfigured` for a stream that was never created. */
  get(name: string): StoredStream {
    const stream = this.#streams.get(name);
    if (!stream) throw new StreamMisconfigured(`Stream ${name} does not exist`);
    return stream;
  }

  has(name: string): boolean {
    return this.#streams.has(name);
  }

  all(): readonly StoredStream[] {
    return [...this.#streams.values()];
  }

  /** Messages ever stored in a stream; none if it was never created. */
  messages(name: string): readonly StoredMessage[] {
    return this.#streams.get(name)?.messages ?? [];
  }
}
