/**
 * A process's connection to the streams, with all its faults: requests and answers are lost,
 * delayed or duplicated, reads break off, acknowledgements vanish, messages are reordered. A
 * process that has died receives nothing more, but its sent messages may still arrive.
 */
import {
  type Append,
  type AppendOutcome,
  type Consumer,
  type ConsumerSpec,
  type Delivery,
  type ReadOptions,
  type Stream,
  type StreamMessage,
  type StreamRead,
  type StreamSpec,
  type StreamState,
  StreamUnavailable,
  subjectMatches,
} from '../../streams/platform/stream.ts';
import type { Dice } from './dice.ts';
import type { FaultRates } from './faults.ts';
import type { LogServer, StoredStream, Waiting } from './log-server.ts';
import type { Owner, World } from './world.ts';

/** State that the connections of all processes of one machine share. */
export interface Wire {
  /** Name of the machine, for traces. */
  readonly name: string;
  readonly world: World;
  readonly server: LogServer;
  readonly dice: Dice;
  /** Current fault rates; all zero once the run settles. */
  faults: FaultRates;
  /** Elapsed time until which nothing gets through, ms. */
  outageUntilMs: number;
}

/** Longest wait of a client for an answer, ms. */
const TIME_OUT_MS = 4_000;
/** Messages that may arrive without another round trip. */
const BURST = 16;

export class Connection implements Stream {
  readonly #wire: Wire;
  readonly #owner: Owner;

  constructor(wire: Wire, owner: Owner) {
    this.#wire = wire;
    this.#owner = owner;
  }

  async ensure(spec: StreamSpec): Promise<StreamState> {
    await this.#roundTrip();
    return this.#wire.server.ensure(spec).state();
  }

  async compare({ name }: StreamSpec): Promise<StreamState | undefined> {
    await this.#roundTrip();
    const { server } = this.#wire;
    return server.has(name) ? server.get(name).state() : undefined;
  }

  async state(name: string): Promise<StreamState> {
    const stream = this.#wire.server.get(name);
    await this.#roundTrip(stream);
    return stream.state();
  }

  append(append: Append): Promise<AppendOutcome> {
    const { world, server, dice } = this.#wire;
    const stream = server.get(append.stream);
    const isOut = this.#isOut(stream);
    const fault = isOut ? dice.pick(['refuse', 'loseRequest'] as const) : this.#draw();
    if (fault) world.count(`append: ${fault}`);
    stream.recordSent(append);
    const { elapsedMs: sentElapsedMs } = world;
    const idsFirst = dice.chance(0.5);
    const store = (twice = false): AppendOutcome | undefined =>
      this.#isOut(stream) ? undefined : stream.store(append, { sentElapsedMs, twice, idsFirst });
    const storeUnanswered = (): void => {
      const outcome = store();
      if (outcome?.kind === 'appended') stream.unanswered.add(outcome.sequence);
    };
    world.trace(() => {
      return `${this.#wire.name} appends to ${append.subject}${fault ? `: ${fault}` : ''}`;
    });
    // Messages that a process had sent when it died may still arrive.
    const sender = dice.chance(0.5) ? undefined : this.#owner;
    return new Promise((resolve, reject) => {
      const answer = (ms: number, settle: () => void) => void world.in(ms, settle, this.#owner);
      const silence = (): void =>
        answer(Math.min(append.answerMs ?? TIME_OUT_MS, TIME_OUT_MS), () =>
          reject(new StreamUnavailable('No answer', 'unknown')),
        );
      switch (fault) {
        case 'refuse':
          return answer(this.#legMs(), () => reject(new StreamUnavailable('Refused', 'refused')));
        case 'loseRequest':
          return silence();
        case 'late':
          world.in(dice.between(0, 30_000), storeUnanswered, sender);
          return silence();
        case 'loseAnswer':
          world.in(this.#legMs(), storeUnanswered, sender);
          return silence();
        default:
          world.in(
            this.#legMs(),
            () => {
              const outcome = store(fault === 'double');
              if (outcome) answer(this.#legMs(), () => resolve(outcome));
              else silence();
            },
            sender,
          );
      }
    });
  }

  read(options: ReadOptions): StreamRead {
    const waiter = new Waiter();
    return {
      [Symbol.asyncIterator]: () => this.#iterate(options, waiter),
      close: async () => waiter.close(),
    };
  }

  async *#iterate(options: ReadOptions, waiter: Waiter): AsyncGenerator<StreamMessage> {
    const { world, server, dice } = this.#wire;
    const stream = server.get(options.stream);
    const { from, subject = '>' } = options;
    await world.wait(this.#legMs(), this.#owner);
    const last = stream.lastSequence;
    let sequence = 'sequence' in from ? from.sequence : stream.firstSince(from.timeMs);
    for (let burst = 0; !waiter.isClosed; ) {
      // The server also answers a bounded read that finds nothing.
      if (options.untilEnd && sequence > last && this.#isOut(stream)) this.#breakOff();
      if (sequence > stream.lastSequence || (options.untilEnd && sequence > last)) {
        if (options.untilEnd) return;
        await waiter.wait((wake) => stream.onChange(wake), this.#owner);
        await world.wait(this.#legMs(), this.#owner);
        continue;
      }
      const message = stream.at(sequence);
      if (!message) {
        sequence++;
        continue;
      }
      if (burst-- <= 0) {
        await world.wait(this.#legMs(), this.#owner);
        if (waiter.isClosed) return;
        burst = dice.below(BURST);
      }
      if (this.#isOut(stream) || dice.chance(this.#wire.faults.breakRead)) this.#breakOff();
      sequence++;
      if (subjectMatches(message.subject, subject)) yield message;
    }
  }

  #breakOff(): never {
    this.#wire.world.count('read broken off');
    throw new StreamUnavailable('The read broke off', 'refused');
  }

  async consume(spec: ConsumerSpec): Promise<Consumer> {
    const stream = this.#wire.server.get(spec.stream);
    await this.#roundTrip(stream);
    const waiter = new Waiter();
    return {
      [Symbol.asyncIterator]: () => this.#consume(stream, spec, waiter),
      close: async () => waiter.close(),
    };
  }

  async *#consume(
    stream: StoredStream,
    { ackWaitMs }: ConsumerSpec,
    waiter: Waiter,
  ): AsyncGenerator<Delivery> {
    const { world, dice } = this.#wire;
    while (!waiter.isClosed) {
      const ready = [...stream.waiting.values()].filter((one) => one.visibleMs <= world.elapsedMs);
      if (ready.length === 0 || this.#isOut(stream)) {
        const again = (wake: () => void) => {
          const undo = [stream.onChange(wake), world.in(1_000, wake, this.#owner)];
          return () => undo.forEach((each) => void each());
        };
        await waiter.wait(again, this.#owner);
        continue;
      }
      // Not always the oldest: redelivered messages arrive between new ones.
      const next = dice.pick(ready.slice(0, 4));
      const isTwice = dice.chance(this.#wire.faults.redeliver);
      if (isTwice) world.count('wake-up twice');
      next.visibleMs = world.elapsedMs + (isTwice ? 0 : ackWaitMs);
      next.deliveries++;
      await world.wait(this.#legMs(), this.#owner);
      if (!waiter.isClosed) yield this.#delivery(stream, next);
    }
  }

  #delivery(stream: StoredStream, waiting: Waiting): Delivery {
    const { world, dice } = this.#wire;
    const settle = async (): Promise<void> => {
      await world.wait(this.#legMs(), this.#owner);
      if (this.#isOut(stream) || dice.chance(this.#wire.faults.loseAck)) {
        world.count('acknowledgement lost');
        throw new StreamUnavailable('No answer', 'unknown');
      }
      stream.waiting.delete(waiting.message.sequence);
    };
    return {
      ...waiting.message,
      deliveryCount: waiting.deliveries,
      ack: settle,
      term: settle,
      async nak(delayMs) {
        waiting.visibleMs = world.elapsedMs + delayMs;
      },
    };
  }

  async truncate(options: {
    readonly stream: string;
    readonly belowSequence: number;
    readonly subject?: string;
  }): Promise<void> {
    const { world, server } = this.#wire;
    const stream = server.get(options.stream);
    await this.#roundTrip(stream);
    world.count('truncated');
    stream.truncate(options.belowSequence, options.subject);
  }

  health() {
    return this.#isOut()
      ? ({ state: 'unavailable', reason: 'The stream is unreachable' } as const)
      : ({ state: 'available' } as const);
  }

  async close(): Promise<void> {}

  async #roundTrip(stream?: StoredStream): Promise<void> {
    const { world, dice, faults } = this.#wire;
    await world.wait(this.#legMs() + this.#legMs(), this.#owner);
    if (!this.#isOut(stream) && !dice.chance(faults.refuse / 4)) return;
    world.count('question refused');
    throw new StreamUnavailable('No answer', 'refused');
  }

  /** True if this machine is cut off from the server, or the stream has no leader. */
  #isOut(stream?: StoredStream): boolean {
    const { world, outageUntilMs } = this.#wire;
    return world.elapsedMs < Math.max(outageUntilMs, stream?.leaderlessUntilMs ?? 0);
  }

  /** Mostly a few ms, sometimes much longer. */
  #legMs(): number {
    const { dice } = this.#wire;
    return dice.chance(0.01) ? dice.between(0, 1_500) : dice.between(0, 4);
  }

  #draw() {
    const { dice, faults } = this.#wire;
    let left = dice.roll();
    for (const kind of ['refuse', 'loseRequest', 'loseAnswer', 'late', 'double'] as const) {
      if (left < faults[kind]) return kind;
      left -= faults[kind];
    }
    return undefined;
  }
}

/** A wait for a change, which `close` ends as well. */
class Waiter {
  isClosed = false;
  #wake: (() => void) | undefined;

  /** @param subscribe registers `wake` for the change; returns its undo */
  wait(subscribe: (wake: () => void) => () => void, owner: Owner): Promise<void> {
    if (this.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        undo();
        if (owner.isAlive) resolve();
      };
      const undo = subscribe(wake);
      this.#wake = wake;
    });
  }

  close(): void {
    this.isClosed = true;
    this.#wake?.();
  }
}
