/**
 * A durable consumer of an embedded stream: hands each message out until it is settled. Messages
 * that are out are recorded in memory (their receiver, the end of their ack-wait) and in
 * `stream_pending` (their number of deliveries), so that a restart delivers them again with their
 * count. Messages postponed by a nak count against `maxAckPending`, as in JetStream.
 */
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import {
  type Consumer,
  type ConsumerSpec,
  type Delivery,
  type StreamMessage,
  StreamUnavailable,
} from '../../../streams/platform/stream.ts';
import type { StreamFile } from './stream-file.ts';

interface Pending {
  deliveryCount: number;
  /** `Clock.elapsed` at which it is delivered again. */
  dueMs: number;
  /** true: its settlement is being written to disk, so it is not delivered for now. */
  settling: boolean;
}

interface Taker {
  /** undefined: the receiver was closed. */
  readonly take: (delivery: Delivery | undefined) => void;
  readonly fail: (error: unknown) => void;
}

// Messages to read ahead of the receivers; few, since a payload may be large.
const FETCH_MESSAGES = 16;

export class DurableConsumer {
  readonly #file: StreamFile;
  readonly #clock: Clock;
  readonly #id: number;
  readonly #pending = new Map<number, Pending>();
  readonly #takers: Taker[] = [];
  readonly #unsubscribe: () => void;
  #spec: ConsumerSpec;
  #due: number[] = [];
  #fetched: StreamMessage[] = [];
  #fetchedThrough: number;
  #timer: { dueMs: number; cancel: CancelWakeUp } | undefined;

  private constructor(file: StreamFile, clock: Clock, spec: ConsumerSpec, id: number, at: number) {
    this.#file = file;
    this.#clock = clock;
    this.#spec = spec;
    this.#id = id;
    this.#fetchedThrough = at;
    this.#unsubscribe = file.onAppended(spec.stream, () => this.#pump());
  }

  /**
   * The consumer with the state of its last run. Throws `StreamMisconfigured` if the stream is
   * missing.
   */
  static async open(file: StreamFile, clock: Clock, spec: ConsumerSpec): Promise<DurableConsumer> {
    const { id: stream } = file.reading(() => file.messages.get(spec.stream));
    const stored = await file.commits.submit(() => file.consumers.open(stream, spec.durable));
    const { id, deliveredThrough } = stored;
    const consumer = new DurableConsumer(file, clock, spec, id, deliveredThrough);
    const nowMs = clock.now();
    for (const pending of file.reading(() => file.consumers.pending(id))) {
      // Held by a receiver that no longer exists: due now. Postponed: never longer than requested,
      // whatever happened to the calendar.
      const leftMs = Math.min((pending.dueMs ?? nowMs) - nowMs, pending.delayMs ?? 0);
      const dueMs = clock.elapsed() + Math.max(0, leftMs);
      const { sequence, deliveryCount } = pending;
      consumer.#pending.set(sequence, { deliveryCount, dueMs, settling: false });
    }
    consumer.#fell();
    return consumer;
  }

  /** Adds a receiver; several share the messages. A new spec applies from its next delivery on. */
  receiver(spec: ConsumerSpec): Consumer {
    if (spec.subject !== this.#spec.subject) this.#fetchAgain();
    this.#spec = spec;
    let closed = false;
    const waiting = new Set<Taker>();
    const next = (): Promise<Delivery | undefined> =>
      new Promise((resolve, reject) => {
        if (closed) return resolve(undefined);
        const settle = <T>(how: (value: T) => void) => {
          return (value: T) => {
            waiting.delete(taker);
            how(value);
          };
        };
        const taker: Taker = { take: settle(resolve), fail: settle(reject) };
        waiting.add(taker);
        this.#takers.push(taker);
        this.#pump();
      });
    const close = async (): Promise<void> => {
      closed = true;
      for (const taker of [...waiting]) {
        this.#takers.splice(this.#takers.indexOf(taker), 1);
        taker.take(undefined);
      }
    };
    return {
      close,
      async *[Symbol.asyncIterator]() {
        try {
          for (let got = await next(); got !== undefined; got = await next()) yield got;
        } finally {
          await close();
        }
      },
    };
  }

  /** Ends all receivers. Messages that are out are delivered again after the next open. */
  close(): void {
    this.#unsubscribe();
    this.#timer?.cancel();
    for (const taker of this.#takers.splice(0)) taker.take(undefined);
  }

  #pump(): void {
    while (this.#takers.length > 0) {
      try {
        const message = this.#nextDue() ?? this.#nextNew();
        if (message === undefined) return;
        this.#takers.shift()?.take(this.#handOut(message));
      } catch (error) {
        this.#takers.shift()?.fail(error);
      }
    }
  }

  #nextDue(): StreamMessage | undefined {
    for (;;) {
      const sequence = this.#due.shift();
      if (sequence === undefined) return undefined;
      const pending = this.#pending.get(sequence);
      const due = pending !== undefined && pending.dueMs <= this.#clock.elapsed();
      if (!due || pending.settling) continue;
      const message = this.#readOne(sequence);
      if (message !== undefined) return message;
      // Truncated while it was out, so there is nothing to deliver.
      this.#pending.delete(sequence);
      this.#file.commits.submitLazily(() => this.#file.consumers.settled(this.#id, sequence));
    }
  }

  #nextNew(): StreamMessage | undefined {
    if (this.#pending.size >= this.#spec.maxAckPending) return undefined;
    if (this.#fetched.length === 0) this.#fetch();
    return this.#fetched.shift();
  }

  #fetch(): void {
    const { stream, subject } = this.#spec;
    const through = this.#file.messages.get(stream).lastSequence;
    const after = this.#fetchedThrough;
    const limit = FETCH_MESSAGES;
    this.#fetched = this.#file.read({ stream, subject, after, through, limit });
    const last = this.#fetched.at(-1)?.sequence ?? through;
    this.#fetchedThrough = Math.max(after, this.#fetched.length < limit ? through : last);
  }

  #fetchAgain(): void {
    const first = this.#fetched.at(0);
    if (first !== undefined) this.#fetchedThrough = first.sequence - 1;
    this.#fetched = [];
  }

  #readOne(sequence: number): StreamMessage | undefined {
    const { stream } = this.#spec;
    return this.#file.read({ stream, after: sequence - 1, through: sequence, limit: 1 })[0];
  }

  #handOut(message: StreamMessage): Delivery {
    const { sequence } = message;
    const deliveryCount = (this.#pending.get(sequence)?.deliveryCount ?? 0) + 1;
    const dueMs = this.#clock.elapsed() + this.#spec.ackWaitMs;
    this.#pending.set(sequence, { deliveryCount, dueMs, settling: false });
    this.#wakeAt(dueMs);
    const record = () => this.#file.consumers.delivered(this.#id, sequence, deliveryCount);
    this.#file.commits.submitLazily(record);
    let settled = false;
    const once = async (settle: () => Promise<void>): Promise<void> => {
      if (settled)
        throw new Error(`Message ${sequence} of ${this.#spec.stream} is already settled`);
      settled = true;
      try {
        await settle();
      } catch (error) {
        // Nothing was recorded, so it may be retried. Otherwise it is delivered again after the
        // ack-wait.
        settled = !(error instanceof StreamUnavailable);
        throw error;
      }
    };
    const end = () => once(() => this.#end(sequence));
    const nak = (delayMs: number) => once(() => this.#postpone(sequence, deliveryCount, delayMs));
    return { ...message, deliveryCount, ack: end, term: end, nak };
  }

  /** Finishes a message, by ack or term: it is never delivered again. */
  async #end(sequence: number): Promise<void> {
    await this.#settling(sequence, () => {
      this.#file.consumers.settled(this.#id, sequence);
      const { stream } = this.#spec;
      const { retention } = this.#file.messages.get(stream).spec;
      if (retention === 'workQueue') this.#file.messages.removeOne(stream, sequence);
    });
    this.#pending.delete(sequence);
    this.#pump();
  }

  async #postpone(sequence: number, deliveryCount: number, delayMs: number): Promise<void> {
    // It has been delivered again, and that delivery decides.
    if (this.#pending.get(sequence)?.deliveryCount !== deliveryCount) return;
    const untilMs = this.#clock.now() + delayMs;
    await this.#settling(sequence, () =>
      this.#file.consumers.postponed(this.#id, sequence, untilMs, delayMs),
    );
    const pending = this.#pending.get(sequence);
    if (pending === undefined) return;
    pending.settling = false;
    pending.dueMs = this.#clock.elapsed() + delayMs;
    this.#wakeAt(pending.dueMs);
  }

  async #settling(sequence: number, write: () => void): Promise<void> {
    const pending = this.#pending.get(sequence);
    if (pending !== undefined) pending.settling = true;
    try {
      await this.#file.commits.submit(write);
    } catch (error) {
      if (pending !== undefined) {
        pending.settling = false;
        this.#wakeAt(pending.dueMs);
      }
      throw error;
    }
  }

  /** Arms the one timer, unless it is already armed for an earlier time. */
  #wakeAt(dueMs: number): void {
    if (this.#timer !== undefined) {
      if (this.#timer.dueMs <= dueMs) return;
      this.#timer.cancel();
    }
    const wait = Math.max(0, dueMs - this.#clock.elapsed());
    this.#timer = { dueMs, cancel: this.#clock.wakeAfter(wait, () => this.#fell()) };
  }

  #fell(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.elapsed();
    const due: number[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [sequence, pending] of this.#pending) {
      if (pending.settling) continue;
      if (pending.dueMs <= nowMs) due.push(sequence);
      else nextMs = Math.min(nextMs, pending.dueMs);
    }
    this.#due = due.sort((a, b) => a - b);
    if (nextMs < Number.POSITIVE_INFINITY) this.#wakeAt(nextMs);
    this.#pump();
  }
}
