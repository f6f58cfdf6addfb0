/**
 * The stream port in memory, with faults on request: appends that are refused, lost, stored without
 * an answer, stored late or twice, and reads that break off. One `FaultyLog` is the server. Each
 * node has its own connection, so two nodes meet every order of events that a seed can produce.
 *
 * A `World` decides what happens next: everything asynchronous waits for its turn there, and the
 * seed picks the next turn. This file knows no commits.
 */
import { VirtualClock } from '../../streams/platform/clock.ts';
import { fraction, type Random, seededRandom } from '../../streams/platform/random.ts';
import {
  type Append,
  type AppendOutcome,
  type ReadOptions,
  type Stream,
  type StreamMessage,
  type StreamRead,
  type StreamState,
  StreamUnavailable,
  subjectMatches,
} from '../../streams/platform/stream.ts';

/** Faults of one append, as probabilities; their sum is at most 1. */
export interface Faults {
  readonly refuse: number;
  /** The request is lost on its way: it is not stored, and its outcome is unknown. */
  readonly loseRequest: number;
  /** Stored, but the answer is lost. */
  readonly loseAnswer: number;
  /** Outcome unknown; stored some time later. */
  readonly late: number;
  /** Stored twice: the copy arrives after the de-duplication window. */
  readonly double: number;
  /** A read breaks off at a message. */
  readonly breakRead: number;
}

export const NO_FAULTS: Faults = {
  refuse: 0,
  loseRequest: 0,
  loseAnswer: 0,
  late: 0,
  double: 0,
  breakRead: 0,
};

/** The order of everything asynchronous, from a seed. */
export class World {
  readonly random: Random;
  readonly clock: VirtualClock;
  readonly #waiting: (() => void)[] = [];

  constructor(seed: number, startMs = 1_750_000_000_000) {
    this.random = seededRandom(seed);
    this.clock = new VirtualClock(startMs);
  }

  chance(probability: number): boolean {
    return fraction(this.random) < probability;
  }

  below(bound: number): number {
    return Math.floor(fraction(this.random) * bound);
  }

  /** Resolves when the seed picks it. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Lets one waiter continue, or time pass, until nothing can continue at once. */
  async step(): Promise<void> {
    if (this.#waiting.length === 0 || this.chance(0.02)) await this.clock.advance(5);
    else this.#waiting.splice(this.below(this.#waiting.length), 1)[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Steps until `done`. Throws after `stepsMax` steps, because something hangs. */
  async run(done: () => boolean, stepsMax = 20_000): Promise<void> {
    for (let steps = 0; !done(); steps++) {
      if (steps > stepsMax) throw new Error(`Not done after ${stepsMax} steps`);
      await this.step();
    }
  }
}

export interface FaultyLogOptions {
  /** Order of events; absent: everything happens at once. */
  readonly world?: World;
  /** Servers differ in the order of the checks for a repeated message id. */
  readonly idsBeforeExpected?: boolean;
  /** The server's clock. Absent: the world's, or none. */
  readonly clock?: Pick<VirtualClock, 'now'>;
}

/** The server: one stream's messages. */
export class FaultyLog {
  readonly #options: FaultyLogOptions;
  readonly #ids = new Map<string, number>();
  readonly #changed = new Set<() => void>();
  identity = 'first';
  messages: StreamMessage[] = [];
  firstSequence = 1;
  lastSequence = 0;

  constructor(options: FaultyLogOptions = {}) {
    this.#options = options;
  }

  connect(faults: Faults = NO_FAULTS): Stream {
    return new FaultyConnection(this, faults, this.#options.world);
  }

  state(): StreamState {
    const { identity, firstSequence, lastSequence, messages } = this;
    return { identity, firstSequence, lastSequence, messages: messages.length };
  }

  store(append: Append, twice: boolean): AppendOutcome {
    const { messageId, expectedLastSubjectSequence: expected } = append;
    const known = messageId === undefined ? undefined : this.#ids.get(messageId);
    const wrong = expected !== undefined && expected !== this.#lastOf(append.subject);
    const idsFirst = this.#options.idsBeforeExpected ?? true;
    if (known !== undefined && (idsFirst || !wrong)) return { kind: 'duplicate', sequence: known };
    if (wrong) return { kind: 'wrongLastSequence' };
    const sequence = this.#push(append);
    if (messageId !== undefined) this.#ids.set(messageId, sequence);
    if (twice) this.#push(append);
    return { kind: 'appended', sequence };
  }

  /** Removes all messages below a sequence, as retention does. */
  truncate(belowSequence: number): void {
    this.messages = this.messages.filter((message) => message.sequence >= belowSequence);
    this.firstSequence = this.messages[0]?.sequence ?? this.lastSequence + 1;
  }

  /** Removes the end, as a power loss does. Its sequences are then reused. */
  shorten(lastSequence: number): void {
    this.messages = this.messages.filter((message) => message.sequence <= lastSequence);
    this.lastSequence = lastSequence;
    for (const [id, sequence] of this.#ids) if (sequence > lastSequence) this.#ids.delete(id);
  }

  from(sequence: number): StreamMessage | undefined {
    // Sequences are dense, except those that truncation removed from the front.
    const first = this.messages[0];
    return first && this.messages[Math.max(0, sequence - first.sequence)];
  }

  /** Resolves at the next change, or when `wake` is called. */
  change(onWaker: (wake: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#changed.delete(wake);
        resolve();
      };
      this.#changed.add(wake);
      onWaker(wake);
    });
  }

  #lastOf(subject: string): number {
    return this.messages.findLast((message) => message.subject === subject)?.sequence ?? 0;
  }

  #push({ subject, data, messageId }: Append): number {
    const sequence = ++this.lastSequence;
    const timeMs = (this.#options.clock ?? this.#options.world?.clock)?.now() ?? 0;
    const id = messageId === undefined ? {} : { messageId };
    this.messages.push({ subject, sequence, timeMs, data: data.slice(), ...id });
    for (const wake of [...this.#changed]) wake();
    return sequence;
  }
}

/** One node's connection. */
class FaultyConnection implements Stream {
  readonly #log: FaultyLog;
  readonly #faults: Faults;
  readonly #world: World | undefined;

  constructor(log: FaultyLog, faults: Faults, world: World | undefined) {
    this.#log = log;
    this.#faults = faults;
    this.#world = world;
  }

  async ensure(): Promise<StreamState> {
    return this.#log.state();
  }

  compare(): Promise<StreamState> {
    return this.ensure();
  }

  async state(): Promise<StreamState> {
    await this.#world?.turn();
    return this.#log.state();
  }

  async append(append: Append): Promise<AppendOutcome> {
    await this.#world?.turn();
    const fault = this.#draw();
    if (fault === 'refuse') throw new StreamUnavailable('Refused', 'refused');
    if (fault === 'loseRequest') throw new StreamUnavailable('Lost', 'unknown');
    if (fault === 'late') {
      const delayed = this.#world?.turn().then(() => this.#world?.turn());
      void delayed?.then(() => this.#log.store(append, false));
      throw new StreamUnavailable('Slow', 'unknown');
    }
    const outcome = this.#log.store(append, fault === 'double');
    await this.#world?.turn();
    if (fault === 'loseAnswer') throw new StreamUnavailable('No answer', 'unknown');
    return outcome;
  }

  #draw(): keyof Faults | undefined {
    let left = this.#world ? fraction(this.#world.random) : 1;
    for (const kind of ['refuse', 'loseRequest', 'loseAnswer', 'late', 'double'] as const) {
      if (left < this.#faults[kind]) return kind;
      left -= this.#faults[kind];
    }
    return undefined;
  }

  read(options: ReadOptions): StreamRead {
    let closed = false;
    let wake = (): void => {};
    return {
      [Symbol.asyncIterator]: () =>
        this.#iterate(
          options,
          () => closed,
          (waker) => {
            wake = waker;
          },
        ),
      async close() {
        closed = true;
        wake();
      },
    };
  }

  async *#iterate(
    options: ReadOptions,
    isClosed: () => boolean,
    onWaker: (wake: () => void) => void,
  ): AsyncGenerator<StreamMessage> {
    let sequence = 'sequence' in options.from ? options.from.sequence : 1;
    while (!isClosed()) {
      const message = this.#log.from(sequence);
      if (message === undefined || message.sequence < sequence) {
        if (options.untilEnd) return;
        await this.#log.change(onWaker);
        continue;
      }
      await this.#world?.turn();
      if (isClosed()) return;
      if (this.#world?.chance(this.#faults.breakRead)) {
        throw new StreamUnavailable('Read broke off', 'refused');
      }
      sequence = message.sequence + 1;
      if (subjectMatches(message.subject, options.subject ?? '>')) yield message;
    }
  }

  async consume(): Promise<never> {
    throw new Error('Commits have no consumers');
  }

  async truncate({ belowSequence }: { belowSequence: number }): Promise<void> {
    this.#log.truncate(belowSequence);
  }

  health() {
    return { state: 'available' } as const;
  }

  async close(): Promise<void> {}
}
