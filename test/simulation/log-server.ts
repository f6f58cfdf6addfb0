/**
 * The server of streams: what is stored, and nothing of how one gets there (`connection.ts`). It
 * outlives every process, forgets nothing and makes no mistake: faults are those of the way.
 */
import {
  type Append,
  type AppendOutcome,
  type StreamMessage,
  StreamMisconfigured,
  type StreamSpec,
  type StreamState,
} from '../../streams/platform/stream.ts';

/** A message of a work queue that nobody has acknowledged. */
export interface Waiting {
  readonly message: StreamMessage;
  /** Elapsed time of the world before which it is not delivered again, ms. */
  visibleMs: number;
  deliveries: number;
}

export class StoredStream {
  readonly spec: StreamSpec;
  /** Every message ever stored, those of a work queue included: the oracles read them. */
  readonly messages: StreamMessage[] = [];
  /** Of a work queue: what is not acknowledged, by sequence. */
  readonly waiting = new Map<number, Waiting>();
  readonly #ids = new Map<string, number>();
  readonly #lastOfSubject = new Map<string, number>();
  readonly #changed = new Set<() => void>();

  constructor(spec: StreamSpec) {
    this.spec = spec;
  }

  get lastSequence(): number {
    return this.messages.length;
  }

  state(): StreamState {
    const { lastSequence } = this;
    const identity = `simulated-${this.spec.name}`;
    return { identity, firstSequence: 1, lastSequence, messages: lastSequence };
  }

  /** @param twice stored again, as after the window of de-duplication */
  store(append: Append, nowMs: number, { twice = false, idsFirst = true } = {}): AppendOutcome {
    const { messageId, subject, expectedLastSubjectSequence: expected } = append;
    const known = messageId === undefined ? undefined : this.#ids.get(messageId);
    const isWrong = expected !== undefined && expected !== (this.#lastOfSubject.get(subject) ?? 0);
    if (known !== undefined && (idsFirst || !isWrong)) {
      return { kind: 'duplicate', sequence: known };
    }
    if (isWrong) return { kind: 'wrongLastSequence' };
    const sequence = this.#push(append, nowMs);
    if (twice) this.#push(append, nowMs);
    return { kind: 'appended', sequence };
  }

  /** Calls `wake` at the next change. Returns its undo. */
  onChange(wake: () => void): () => void {
    this.#changed.add(wake);
    return () => void this.#changed.delete(wake);
  }

  /** Sequence of the first message stored at that time or later. */
  firstSince(timeMs: number): number {
    const found = this.messages.find((message) => message.timeMs >= timeMs);
    return found?.sequence ?? this.lastSequence + 1;
  }

  #push({ subject, data, messageId }: Append, timeMs: number): number {
    const sequence = this.messages.length + 1;
    const id = messageId === undefined ? {} : { messageId };
    const message = { subject, sequence, timeMs, data: data.slice(), ...id };
    this.messages.push(message);
    if (messageId !== undefined && !this.#ids.has(messageId)) this.#ids.set(messageId, sequence);
    this.#lastOfSubject.set(subject, sequence);
    if (this.spec.retention === 'workQueue') {
      this.waiting.set(sequence, { message, visibleMs: 0, deliveries: 0 });
    }
    for (const wake of [...this.#changed]) wake();
    return sequence;
  }
}

export class LogServer {
  readonly #streams = new Map<string, StoredStream>();

  ensure(spec: StreamSpec): StoredStream {
    const stream = this.#streams.get(spec.name) ?? new StoredStream(spec);
    this.#streams.set(spec.name, stream);
    return stream;
  }

  /** Throws `StreamMisconfigured` for one that nobody has made. */
  get(name: string): StoredStream {
    const stream = this.#streams.get(name);
    if (!stream) throw new StreamMisconfigured(`There is no stream ${name}`);
    return stream;
  }

  /** Messages of a stream, none where nobody has made it. */
  messages(name: string): readonly StreamMessage[] {
    return this.#streams.get(name)?.messages ?? [];
  }
}
