/**
 * Deliveries as a work queue. The dispatcher of a project's owner publishes the attempts that may
 * start. The deliverer of any member takes them from the queue and runs each along its path
 * (`attempt-path.ts`). After a crash the outcome is recorded as `unknown`, and the attempt is retried
 * under the same delivery id: delivery is at least once, never more often than the rows say.
 */

import { once } from 'node:events';
import type { Commit } from '../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { TimeSlices } from '../../streams/platform/operators.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Consumer, Delivery, Stream } from '../../streams/platform/stream.ts';
import { isRetryable } from '../platform/retryable.ts';
import type { AnswerExcerpt, AttemptDeps, DeliveryContents } from './attempt.ts';
import { type AttemptPath, attemptPath } from './attempt-path.ts';
import { Bodies, BodyGone } from './bodies.ts';
import { DestinationSlots } from './destination-slots.ts';
import { Dispatcher } from './dispatcher.ts';
import { type DueAttempt, deliveriesConsumer, parseDue } from './due-attempts.ts';
import { consumeUnlessResting, type Egress } from './egress.ts';
import { type ReportedAttempt, recordLost } from './outcome.ts';
import { WriteBatch } from './write-batch.ts';

/** Wake-ups, rows, and the recipients of an attempt's results. */
export interface DelivererDeps extends Omit<AttemptDeps, 'contents' | 'bodies' | 'excerpts'> {
  readonly stream: Stream;
  readonly ownership: Ownership;
  /** False for a member that cannot reach endpoints. Other members send what it dispatches. */
  readonly delivers: boolean;
  readonly contents: DeliveryContents;
  /** Stores excerpts of answers in one write. */
  readonly keepExcerpts: (excerpts: readonly AnswerExcerpt[]) => Promise<void>;
  /** Rests while no receiver can be reached from here. Default: it never does. */
  readonly egress?: Egress;
  readonly onAttempt: (attempt: ReportedAttempt) => void;
}

const RETRY_MS = 500;
/** Interval after which a due attempt that could not be opened is offered to a member again, ms. */
const AGAIN_MS = 1_000;
/** Number of checks of a delivery without its body before that counts as a fault. */
const LOOKS_MAX = 20;

/**
 * Delivers notifications, one per process. Each run has its own deliverer, which starts from the
 * rows. The memory of a failed run is lost with it.
 */
export function delivererPart(deps: DelivererDeps) {
  let current: Deliverer | undefined;
  return {
    name: 'deliverer',
    run(signal: AbortSignal) {
      current = new Deliverer(deps);
      return current.run(signal);
    },
    /** Attempts in progress. */
    inFlight: () => current?.inFlight() ?? 0,
    /** Destinations with queued deliveries or recent failures. */
    queues: () => current?.queues() ?? 0,
  };
}

/** Stopping it waits for the attempts in progress, and starts no others. */
class Deliverer {
  readonly #deps: DelivererDeps;
  readonly #dispatcher: Dispatcher;
  readonly #slots: DestinationSlots;
  readonly #path: AttemptPath;
  readonly #slices: TimeSlices;
  /** Ids of ended deliveries whose bodies must be deleted. */
  readonly #discards: WriteBatch<string>;
  readonly #excerpts: WriteBatch<AnswerExcerpt>;
  readonly #attempts = new Set<Promise<void>>();
  /** Deliveries with an open attempt of this process, until its outcome is committed. */
  readonly #open = new Set<string>();
  /** True if it starts no more attempts, because the process stops or this run has failed. */
  #stopped = false;
  /** True if the process stops. */
  #isEnding = false;

  constructor(deps: DelivererDeps) {
    const { clock, contents, onFault } = deps;
    this.#deps = deps;
    this.#excerpts = new WriteBatch({
      clock,
      write: deps.keepExcerpts,
      onFault: (count, error) => onFault(`storing ${count} excerpts of answers`, error),
    });
    this.#slots = new DestinationSlots(clock);
    this.#path = attemptPath({
      ...deps,
      bodies: new Bodies(contents),
      excerpts: this.#excerpts,
      slots: this.#slots,
      persist: (submit) => this.#persist(submit),
    });
    this.#slices = new TimeSlices(clock);
    this.#dispatcher = new Dispatcher({
      ...deps,
      isOpen: (delivery) => this.#open.has(delivery),
      onLost: (attempt) => this.#persist(() => recordLost(this.#deps, attempt)),
    });
    // Bodies that remain after a crash are found at the next start.
    this.#discards = new WriteBatch({
      clock,
      write: (ids) => contents.discard(ids),
      onFault: (count, error) => onFault(`deleting the bodies of ${count} deliveries`, error),
    });
  }

  /**
   * Runs until `signal`, then waits until the attempts in progress are recorded. Called once only.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { host } = this.#deps;
    const messages = await this.#messages(signal);
    const unfollow = host.onApplied(({ commit }) => this.#follow(commit));
    const stop = (): void => {
      this.#stopped = true;
      this.#isEnding = true;
      this.#slots.close();
      void this.#dispatcher.stop();
      void messages.close();
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) return;
      await this.#discardLeftOver();
      await this.#dispatcher.start();
      for await (const message of messages) this.#take(message);
    } finally {
      this.#stopped = true;
      this.#slots.close();
      signal.removeEventListener('abort', stop);
      await messages.close();
      await Promise.all([...this.#attempts, this.#dispatcher.stop()]);
      unfollow();
      await Promise.all([this.#discards.flush(), this.#excerpts.flush()]);
    }
  }

  inFlight(): number {
    return this.#open.size - this.#slots.count;
  }

  queues(): number {
    return this.#dispatcher.queues();
  }

  /** Due attempts for this member. */
  #messages(signal: AbortSignal): Promise<Consumer> {
    const { clock, delivers, egress, stream } = this.#deps;
    if (!delivers) return Promise.resolve(nothing(signal));
    const consume = () => stream.consume(deliveriesConsumer);
    return egress ? consumeUnlessResting({ clock, egress, consume }) : consume();
  }

  /** Settles the message once it needs no more work. */
  #take(message: Delivery): void {
    const { onFault } = this.#deps;
    const attempt = this.#run(message)
      .catch((error: unknown) => onFault('settling a due attempt', error))
      .then(() => void this.#attempts.delete(attempt));
    this.#attempts.add(attempt);
  }

  async #run(message: Delivery): Promise<void> {
    let due: DueAttempt;
    try {
      due = parseDue(message.data);
    } catch (error) {
      this.#deps.onFault('a due attempt that cannot be read', error);
      return message.term();
    }
    // While stopping or resting, another member gets the message at once. A copy of an attempt that
    // is open here needs no work.
    if (this.#stopped || this.#deps.egress?.isResting) return message.nak(0);
    if (this.#open.has(due.delivery)) return message.ack();
    this.#open.add(due.delivery);
    try {
      await this.#attempt(due);
    } catch (error) {
      // Usually the delivery has ended at another member, and its row will show that.
      const isEnding = error instanceof BodyGone && message.deliveryCount < LOOKS_MAX;
      if (isEnding) return message.nak(AGAIN_MS);
      this.#deps.onFault(`delivery ${due.delivery}`, error);
      if (isRetryable(error)) return message.nak(AGAIN_MS);
    } finally {
      this.#open.delete(due.delivery);
    }
    return message.ack();
  }

  async #attempt(due: DueAttempt): Promise<void> {
    const opened = await this.#path(due);
    if (opened.kind === 'busy') this.#dispatcher.recordBusy(due);
    if (opened.kind === 'faulty') throw opened.error;
    if (opened.kind !== 'open') this.#notSent(due);
  }

  /** If the delivery ended while its body was being stored, the body is deleted too. */
  #notSent({ project, delivery }: DueAttempt): void {
    const row = this.#deps.host.view(project).instance('delivery', delivery);
    if (row?.final) this.#discards.add(delivery);
  }

  /** Repeats until the stream answers, because the outcome of a sent attempt must not be lost. */
  async #persist(submit: () => Promise<void>): Promise<void> {
    while (true) {
      try {
        return await submit();
      } catch (error) {
        if (!isRetryable(error) || this.#isEnding) throw error;
        this.#deps.onFault('recording an attempt', error);
        await pause(this.#deps.clock, RETRY_MS);
      }
    }
  }

  /**
   * One member deletes the body of each ended delivery. All members release the slots of ended
   * attempts.
   */
  #follow({ decisions, project }: Commit): void {
    const isOwner = this.#deps.ownership.owns(project);
    for (const step of decisions.flatMap(({ steps }) => steps)) {
      const { machine, instance, event, from, final, context } = step;
      if (machine !== 'delivery') continue;
      if (final && isOwner) this.#discards.add(instance);
      if (from !== 'sending') continue;
      const destination = String(context.destination);
      if (event.failing === true) this.#slots.refuse(destination);
      else this.#slots.free(destination);
    }
  }

  /** Deletes bodies of deliveries that ended while this part was not running. */
  async #discardLeftOver(): Promise<void> {
    const { contents, host, onFault } = this.#deps;
    try {
      for (const id of contents.stored()) {
        await this.#slices.yieldIfDue();
        if (host.findInstance('delivery', id)?.final) this.#discards.add(id);
      }
    } catch (error) {
      onFault('looking for leftover bodies', error);
    }
  }
}

/** The consumer of a member that delivers nothing. It has no messages until `signal`. */
function nothing(signal: AbortSignal): Consumer {
  return {
    close: () => Promise.resolve(),
    [Symbol.asyncIterator]: () => ({
      async next() {
        if (!signal.aborted) await once(signal, 'abort');
        return { done: true, value: undefined };
      },
    }),
  };
}
