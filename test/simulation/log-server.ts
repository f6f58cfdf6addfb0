/**
 * The server of streams: what is stored, and nothing of how one gets there (`connection.ts`). It
 * outlives every process, forgets nothing and makes no mistake: faults are those of the way. Its
 * clock is its own, and times of messages are of that clock; a new leader's may be seconds off.
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

/** A message of a work queue that nobody has acknowledged. */
export interface Waiting {
  readonly message: StreamMessage;
  /** Elapsed time of the world before which it is not delivered again, ms. */
  visibleMs: number;
  deliveries: number;
}

/** A message, with when things happened by the world's elapsed time, whatever clocks say. */
export interface StoredMessage extends StreamMessage {
  /** Its sender sent it. */
  readonly sentElapsedMs: number;
  /** Its sender sent it for the first time: it may have been lost again and again. */
  readonly firstSentElapsedMs: number;
  /** The server stored it. */
  readonly elapsedMs: number;
}

/** The server's time; the streams have it in common. */
export class ServerClock {
  readonly world: World;
  /** What it was ahead of the true time, ms, from when on; the newest is last. */
  readonly skews = [{ fromMs: 0, ms: 0 }];

  constructor(world: World) {
    this.world = world;
  }

  /** What it is ahead of the true time, ms. */
  get skewMs(): number {
    return this.skews.at(-1)?.ms ?? 0;
  }

  set(ms: number): void {
    this.skews.push({ fromMs: this.world.elapsedMs, ms });
  }

  /** What it was ahead in that stretch of elapsed time, ms. */
  skewsIn(fromMs: number, untilMs: number): number[] {
    const first = this.skews.findLastIndex((skew) => skew.fromMs <= fromMs);
    return this.skews.slice(first).flatMap((skew) => (skew.fromMs <= untilMs ? [skew.ms] : []));
  }
}

export interface Arrival {
  /** Elapsed time at which it was sent, ms. */
  readonly sentElapsedMs: number;
  /** Stored again, as after the window of de-duplication. */
  readonly twice: boolean;
  /** Looks at the message id first, as servers before 2.12. */
  readonly idsFirst: boolean;
}

export class StoredStream {
  readonly spec: StreamSpec;
  /** Every message ever stored, with those that are gone since: the oracles read them. */
  readonly messages: StoredMessage[] = [];
  /** Of a work queue: what is not acknowledged, by sequence. */
  readonly waiting = new Map<number, Waiting>();
  /** Sequences of messages whose senders did not learn that they are stored. */
  readonly unanswered = new Set<number>();
  /** Called with the sequences that a truncation has removed. */
  onTruncated: ((sequences: readonly number[]) => void) | undefined;
  /** Elapsed time until which it has no leader, and answers nobody, ms. */
  leaderlessUntilMs = 0;
  readonly #clock: ServerClock;
  readonly #firstSent = new Map<string, number>();
  readonly #ids = new Map<string, number>();
  readonly #lastOfSubject = new Map<string, number>();
  readonly #changed = new Set<() => void>();
  /** Sequences that a truncation or a newer message of their subject has removed. */
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

  /** The message at a sequence, unless it is gone or not yet there. */
  at(sequence: number): StoredMessage | undefined {
    return this.#removed.has(sequence) ? undefined : this.messages[sequence - 1];
  }

  /** Notes that a message is sent, before it is known whether it arrives. */
  noteSent({ messageId }: Append): void {
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

  /** Removes what lies below the sequence; of one subject, when given. */
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

  /** Calls `wake` at the next change. Returns its undo. */
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

  /** Throws `StreamMisconfigured` for one that nobody has made. */
  get(name: string): StoredStream {
    const stream = this.#streams.get(name);
    if (!stream) throw new StreamMisconfigured(`There is no stream ${name}`);
    return stream;
  }

  has(name: string): boolean {
    return this.#streams.has(name);
  }

  all(): readonly StoredStream[] {
    return [...this.#streams.values()];
  }

  /** Messages ever stored in a stream, none where nobody has made it. */
  messages(name: string): readonly StoredMessage[] {
    return this.#streams.get(name)?.messages ?? [];
  }
}
