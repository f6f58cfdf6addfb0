/**
 * Deliveries as a work queue. The dispatcher of a project's owner publishes the attempts that may start;
 * the deliverer of any member takes them from the queue and runs them. A commit that rechecks everything
 * opens an attempt; it is sent under a deadline that starts with that commit; a second commit ends it.
 * Attempts that run at the same time share their commits. After a crash the outcome is recorded as
 * `unknown`, and the attempt is retried under the same delivery id: at-least-once delivery, never more
 * often than the rows say.
 */

import { once } from 'node:events';
import type { Commit } from '../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { nextTurn, TimeSlices } from '../../streams/platform/operators.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Consumer, Delivery, Stream } from '../../streams/platform/stream.ts';
import { isRetryable } from '../platform/retryable.ts';
import {
  type AnswerExcerpt,
  type Attempt,
  type AttemptDeps,
  BATCH_ITEMS_MAX,
  Bodies,
  BodyGone,
  type DeliveryContents,
  kindOf,
  type Opened,
  openAttempts,
  ProjectBatches,
  sendAttempt,
} from './attempt.ts';
import { Dispatcher } from './dispatcher.ts';
import type { AttemptOutcome } from './notifier-port.ts';
import { type EndedAttempt, type ReportedAttempt, recordLost, recordOutcomes } from './outcome.ts';
import { Places } from './places.ts';
import { type DueAttempt, deliveriesConsumer, parseDue } from './queues.ts';
import { WriteBatch } from './write-batch.ts';

export type { DeliveryContents } from './attempt.ts';

/** Wake-ups, rows, and what becomes of attempts. */
export interface DelivererDeps extends Omit<AttemptDeps, 'contents' | 'bodies' | 'excerpts'> {
  readonly stream: Stream;
  readonly ownership: Ownership;
  /** False for a member that may not reach endpoints: others send what it dispatches. */
  readonly delivers: boolean;
  readonly contents: DeliveryContents;
  /** Keeps excerpts of answers in one write. */
  readonly keepExcerpts: (excerpts: readonly AnswerExcerpt[]) => Promise<void>;
  readonly onAttempt: (attempt: ReportedAttempt) => void;
}

const RETRY_MS = 500;
/** When a due attempt that could not be opened is handed to a member again, ms. */
const AGAIN_MS = 1_000;
/** How often a delivery without its body is looked at before that counts as a fault. */
const LOOKS_MAX = 20;

/**
 * The part that delivers, one for each process. Each run has a deliverer of its own, which begins with
 * what the rows say: what one that failed had in memory is gone with it.
 */
export function delivererPart(deps: DelivererDeps) {
  let current: Deliverer | undefined;
  return {
    name: 'deliverer',
    run(signal: AbortSignal) {
      current = new Deliverer(deps);
      return current.run(signal);
    },
    /** Attempts under way now. */
    inFlight: () => current?.inFlight() ?? 0,
    /** Destinations with something to send, or with recent failures. */
    queues: () => current?.queues() ?? 0,
  };
}

/** Stopping it waits for the attempts under way, and starts no other. */
class Deliverer {
  readonly #deps: DelivererDeps & AttemptDeps;
  readonly #dispatcher: Dispatcher;
  readonly #places: Places;
  readonly #openings: ProjectBatches<DueAttempt, Opened>;
  readonly #endings: ProjectBatches<EndedAttempt, undefined>;
  readonly #slices: TimeSlices;
  /** Ids of ended deliveries whose bodies are to be deleted. */
  readonly #discards: WriteBatch<string>;
  readonly #excerpts: WriteBatch<AnswerExcerpt>;
  readonly #attempts = new Set<Promise<void>>();
  /** By project: attempts whose outcome is not known yet. */
  readonly #sending = new Map<string, number>();
  /** Deliveries with an open attempt of this process, until its outcome is committed. */
  readonly #open = new Set<string>();
  /** It starts no further attempt: the process ends, or this run has failed. */
  #stopped = false;
  /** The process ends. */
  #isEnding = false;

  constructor(deps: DelivererDeps) {
    const { clock, contents, onFault } = deps;
    this.#excerpts = new WriteBatch({
      clock,
      write: deps.keepExcerpts,
      onFault: (count, error) => onFault(`keeping ${count} excerpts of answers`, error),
    });
    this.#deps = { ...deps, excerpts: this.#excerpts, bodies: new Bodies(contents) };
    this.#places = new Places(clock);
    this.#openings = new ProjectBatches(
      (project, dues) => openAttempts(this.#deps, project, dues),
      nextTurn,
    );
    this.#endings = new ProjectBatches(
      async (project, ended) => {
        await recordOutcomes(this.#deps, project, ended);
        return ended.map(() => undefined);
      },
      (project, count) => this.#gatherEnds(project, count),
    );
    this.#slices = new TimeSlices(clock);
    this.#dispatcher = new Dispatcher({
      ...deps,
      isOpen: (delivery) => this.#open.has(delivery),
      onLost: (attempt) => this.#persist(() => recordLost(this.#deps, attempt)),
    });
    // Bodies that a crash keeps from being deleted are found at the next start.
    this.#discards = new WriteBatch({
      clock,
      write: (ids) => contents.discard(ids),
      onFault: (count, error) => onFault(`deleting the bodies of ${count} deliveries`, error),
    });
  }

  /** Runs until `signal`, then waits until the attempts under way are recorded. Once only. */
  async run(signal: AbortSignal): Promise<void> {
    const { delivers, host, stream } = this.#deps;
    const consumer = delivers ? await stream.consume(deliveriesConsumer) : nothing(signal);
    const unfollow = host.onApplied(({ commit }) => this.#follow(commit));
    const stop = (): void => {
      this.#stopped = true;
      this.#isEnding = true;
      this.#places.refuseAll();
      void this.#dispatcher.stop();
      void consumer.close();
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) return;
      await this.#discardLeftOver();
      await this.#dispatcher.start();
      for await (const message of consumer) this.#take(message);
    } finally {
      this.#stopped = true;
      this.#places.refuseAll();
      signal.removeEventListener('abort', stop);
      await consumer.close();
      await Promise.all([...this.#attempts, this.#dispatcher.stop()]);
      unfollow();
      await Promise.all([this.#discards.flush(), this.#excerpts.flush()]);
    }
  }

  inFlight(): number {
    return this.#open.size - this.#places.count;
  }

  queues(): number {
    return this.#dispatcher.queues();
  }

  /** Settles the message once there is nothing left to do about it. */
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
      this.#deps.onFault('due attempt that cannot be read', error);
      return message.term();
    }
    // Stopping: for another member, at once. A copy of what is open here: nothing to do.
    if (this.#stopped) return message.nak(0);
    if (this.#open.has(due.delivery)) return message.ack();
    this.#open.add(due.delivery);
    try {
      await this.#attempt(due);
    } catch (error) {
      // Mostly it has ended elsewhere: its row will say so.
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
    const { clock } = this.#deps;
    const opened = await this.#openInPlace(due);
    if (opened.kind === 'suppressed') this.#report(due, opened, 0);
    if (opened.kind === 'busy') this.#dispatcher.noteBusy(due);
    if (opened.kind === 'faulty') throw opened.error;
    if (opened.kind !== 'open') return this.#notSent(due);
    const startedMs = clock.elapsed();
    const outcome = await this.#send(opened.attempt);
    const durationMs = clock.elapsed() - startedMs;
    this.#report(due, outcome, durationMs);
    const { project, delivery, attemptId } = opened.attempt;
    const ended = { project, delivery, attemptId, outcome, durationMs };
    await this.#persist(async () => void (await this.#endings.add(project, ended)));
  }

  #report(due: DueAttempt, outcome: ReportedAttempt['outcome'], durationMs: number): void {
    const { project, delivery, attempt } = due;
    const view = this.#deps.host.view(project);
    const row = view.instance('delivery', delivery);
    if (!row) return;
    const { destination } = row.context;
    const about = { project, delivery, attempt, destination, kind: kindOf(view, row.context) };
    this.#deps.onAttempt({ ...about, outcome, durationMs });
  }

  async #send(attempt: Attempt): Promise<AttemptOutcome> {
    const { project } = attempt;
    const sending = this.#sending;
    sending.set(project, (sending.get(project) ?? 0) + 1);
    try {
      return await sendAttempt(this.#deps, attempt);
    } finally {
      const left = (sending.get(project) ?? 1) - 1;
      if (left > 0) sending.set(project, left);
      else sending.delete(project);
    }
  }

  /**
   * Attempts that were opened together mostly end together: an end waits while more of them come, turn
   * by turn of the event loop. Of an attempt that is alone, or of slow ones, nothing is waited for.
   */
  async #gatherEnds(project: string, count: () => number): Promise<void> {
    const { clock } = this.#deps;
    const startedMs = clock.elapsed();
    const isOver = () =>
      !this.#sending.has(project) ||
      count() >= BATCH_ITEMS_MAX ||
      clock.elapsed() - startedMs > GATHER_MS_MAX;
    let [before, quietTurns] = [0, 0];
    while (!isOver() && quietTurns < GATHER_TURNS) {
      quietTurns = count() > before ? 0 : quietTurns + 1;
      before = count();
      await nextTurn();
    }
  }

  /** Opens the attempt, waiting for a place at its destination. */
  async #openInPlace(due: DueAttempt): Promise<Opened> {
    while (true) {
      const opened = await this.#openings.add(due.project, due);
      if (opened.kind !== 'busy' || this.#stopped) return opened;
      const row = this.#deps.host.view(due.project).instance('delivery', due.delivery);
      const hasPlace = row && (await this.#places.wait(row.context.destination));
      if (!hasPlace) return opened;
    }
  }

  /** The delivery may have ended while its body was being stored: then that goes too. */
  #notSent({ project, delivery }: DueAttempt): void {
    const row = this.#deps.host.view(project).instance('delivery', delivery);
    if (row?.final) this.#discards.add(delivery);
  }

  /** Repeats until the stream answers: the outcome of a sent attempt must not be lost. */
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

  /** One member deletes the body of each delivery that ended; all give the places of ended attempts on. */
  #follow({ decisions, project }: Commit): void {
    const isOwner = this.#deps.ownership.owns(project);
    for (const step of decisions.flatMap(({ steps }) => steps)) {
      const { machine, instance, event, from, final, context } = step;
      if (machine !== 'delivery') continue;
      if (final && isOwner) this.#discards.add(instance);
      if (from !== 'sending') continue;
      const destination = String(context.destination);
      if (event.failing === true) this.#places.refuse(destination);
      else this.#places.free(destination);
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

/** The consumer of a member that delivers nothing: without messages until `signal`. */
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

/** Turns without another end, and time, ms, after which the ends of attempts wait no longer. */
const GATHER_TURNS = 4;
const GATHER_MS_MAX = 20;
