/**
 * The deliverer: takes wake-ups, keeps a queue for each destination, and runs attempts. A commit that
 * rechecks everything opens an attempt; it is sent under a deadline that starts with that commit; a
 * second commit ends it. After a crash the outcome is recorded as `unknown`, and the attempt is
 * retried under the same delivery id: at-least-once delivery, never more often than the rows say.
 */
import type { Commit } from '../../streams/platform/commit/commit.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { isRetryable } from '../platform/retryable.ts';
import { TimeSlices } from '../platform/time-slices.ts';
import {
  type AnswerExcerpt,
  type AttemptDeps,
  Bodies,
  type DeliveryContents,
  kindOf,
  openAttempt,
  sendAttempt,
} from './attempt.ts';
import { type AttemptResult, DestinationQueues, type Start } from './destination-queues.ts';
import type { AttemptOutcome } from './notifier-port.ts';
import { isBounce, isOurs, recordLost, recordOutcome } from './outcome.ts';
import { Sweeps } from './sweeps.ts';
import { DELIVERIES_STREAM, parseWakeUp, type WakeUp, wakeOnCommit } from './wake-ups.ts';
import { WriteBatch } from './write-batch.ts';

export type { DeliveryContents } from './attempt.ts';

export interface DelivererDeps extends Omit<AttemptDeps, 'contents' | 'bodies' | 'excerpts'> {
  readonly stream: Stream;
  readonly contents: DeliveryContents;
  /** Keeps excerpts of answers in one write. */
  readonly keepExcerpts: (excerpts: readonly AnswerExcerpt[]) => void;
  readonly onAttempt: (outcome: AttemptOutcome['kind'] | 'suppressed', durationMs: number) => void;
}

const RETRY_MS = 500;

/** Events of a destination that make its earlier failures meaningless. */
const FIXED: ReadonlySet<string> = new Set(['retargeted', 'resumed']);

/** The end of an attempt, as its destination's queue takes it. */
interface Ended {
  readonly result: AttemptResult;
  /** How long the endpoint asked for no attempt, ms. */
  readonly restMs?: number;
}

const NOTHING_SENT: Ended = { result: 'neutral' };

export class Deliverer {
  readonly #deps: DelivererDeps & AttemptDeps;
  readonly #queues = new DestinationQueues();
  readonly #sweeps: Sweeps;
  readonly #slices: TimeSlices;
  /** Ids of ended deliveries whose bodies are to be deleted. */
  readonly #discards: WriteBatch<string>;
  readonly #excerpts: WriteBatch<AnswerExcerpt>;
  readonly #attempts = new Set<Promise<void>>();
  /** Deliveries with an open attempt of this process, until its outcome is committed. */
  readonly #open = new Set<string>();
  /** Kinds of destination that this process cannot send to, already logged. */
  readonly #unsendable = new Set<string>();
  #stopped = false;
  #cancelWake: (() => void) | undefined;

  constructor(deps: DelivererDeps) {
    const { clock, contents, onFault } = deps;
    this.#excerpts = new WriteBatch({
      ...{ clock, write: deps.keepExcerpts },
      onFault: (count, error) => onFault(`keeping ${count} excerpts of answers`, error),
    });
    this.#deps = { ...deps, excerpts: this.#excerpts, bodies: new Bodies(contents) };
    this.#slices = new TimeSlices(clock);
    this.#sweeps = new Sweeps({
      ...deps,
      isOpen: (delivery) => this.#open.has(delivery),
      onDue: (wakeUp) => this.#enqueue(wakeUp),
      onLost: (attempt) => this.#persist(() => recordLost(this.#deps, attempt)),
    });
    // Bodies that a crash keeps from being deleted are found at the next start.
    this.#discards = new WriteBatch({
      ...{ clock, write: (ids) => contents.discard(ids) },
      onFault: (count, error) => onFault(`deleting the bodies of ${count} deliveries`, error),
    });
  }

  /** Runs until `signal`, then waits until the attempts under way are recorded. */
  async run(signal: AbortSignal): Promise<void> {
    const { host, stream, onFault } = this.#deps;
    this.#stopped = false;
    const consumer = await stream.consume({
      stream: DELIVERIES_STREAM,
      durable: 'deliverer',
      ackWaitMs: 30_000,
      maxAckPending: 256,
    });
    const undo = [
      wakeOnCommit(host, stream, (error) => onFault('wake-up', error)),
      host.onApplied(({ commit }) => this.#follow(commit)),
    ];
    const stop = (): void => {
      this.#stopped = true;
      void this.#sweeps.stop();
      void consumer.close();
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) return;
      await this.#discardLeftOver();
      await this.#sweeps.start();
      for await (const message of consumer) {
        this.#takeWakeUp(message.data);
        message.ack().catch((error: unknown) => onFault('acknowledging a wake-up', error));
      }
    } finally {
      this.#stopped = true;
      signal.removeEventListener('abort', stop);
      this.#cancelWake?.();
      await consumer.close();
      await Promise.all([...this.#attempts, this.#sweeps.stop()]);
      for (const end of undo) end();
      this.#discards.flush();
      this.#excerpts.flush();
    }
  }

  /** Attempts under way now. */
  inFlight(): number {
    return this.#queues.inFlight;
  }

  /** Destinations with something to send, or with recent failures. */
  queues(): number {
    return this.#queues.size;
  }

  #takeWakeUp(data: Uint8Array): void {
    try {
      this.#enqueue(parseWakeUp(data));
    } catch (error) {
      this.#deps.onFault('wake-up that cannot be read', error);
    }
  }

  #enqueue({ project, delivery }: WakeUp): void {
    const view = this.#deps.host.view(project);
    const row = view.instance('delivery', delivery);
    if (!row || row.final || this.#open.has(delivery)) return;
    const context = row.context;
    const kind = kindOf(view, context);
    if (!this.#canSend(kind)) return;
    const { destination, incident, recipient } = context;
    const job = { project, delivery, incident, recipient };
    this.#queues.add(destination, job, this.#deps.notifier.limitsOf(kind));
    this.#pump();
  }

  /**
   * False for a kind that this process is not set up for, logged once. Its deliveries wait for a
   * process that is, or expire after 24 hours: attempts that cannot succeed would only use up the
   * retry schedule.
   */
  #canSend(kind: string): boolean {
    if (this.#deps.notifier.sendsTo(kind)) return true;
    if (!this.#unsendable.has(kind)) {
      this.#unsendable.add(kind);
      const error = new Error('Its deliveries wait until they expire');
      this.#deps.onFault(`sending to ${kind}, which this service is not set up for,`, error);
    }
    return false;
  }

  /** Starts every attempt that may start, and wakes up when the next one may. */
  #pump(): void {
    this.#cancelWake?.();
    if (this.#stopped) return;
    const { clock } = this.#deps;
    for (let start = this.#next(); start; start = this.#next()) this.#begin(start);
    const wakeAtMs = this.#queues.wakeAtMs(clock.elapsed());
    if (wakeAtMs === undefined) return;
    this.#cancelWake = clock.wakeAfter(wakeAtMs - clock.elapsed(), () => this.#pump());
  }

  #next(): Start | undefined {
    return this.#queues.next(this.#deps.clock.elapsed());
  }

  #begin(start: Start): void {
    const { clock, onFault } = this.#deps;
    const attempt = this.#attempt(start.job)
      .catch((error: unknown): Ended => {
        onFault(`delivery ${start.job.delivery}`, error);
        return NOTHING_SENT;
      })
      .then(({ result, restMs }) => {
        this.#attempts.delete(attempt);
        this.#queues.end(start, result, clock.elapsed(), restMs);
        this.#pump();
      });
    this.#attempts.add(attempt);
  }

  async #attempt(job: WakeUp): Promise<Ended> {
    const { clock, onAttempt } = this.#deps;
    this.#open.add(job.delivery);
    try {
      const opened = await openAttempt(this.#deps, job);
      if (opened.kind === 'suppressed') onAttempt('suppressed', 0);
      if (opened.kind === 'held') this.#sweeps.hold();
      if (opened.kind !== 'open') return this.#notSent(job);
      const startedMs = clock.elapsed();
      const outcome = await sendAttempt(this.#deps, opened.attempt);
      onAttempt(outcome.kind, clock.elapsed() - startedMs);
      await this.#persist(() => recordOutcome(this.#deps, opened.attempt, outcome));
      return endedBy(outcome);
    } finally {
      this.#open.delete(job.delivery);
    }
  }

  /** The delivery may have ended while its body was being stored: then that goes too. */
  #notSent({ project, delivery }: WakeUp): Ended {
    const row = this.#deps.host.view(project).instance('delivery', delivery);
    if (row?.final) this.#discards.add(delivery);
    return NOTHING_SENT;
  }

  /** Repeats until the stream answers: the outcome of a sent attempt must not be lost. */
  async #persist(submit: () => Promise<void>): Promise<void> {
    while (true) {
      try {
        return await submit();
      } catch (error) {
        if (!isRetryable(error) || this.#stopped) throw error;
        this.#deps.onFault('recording an attempt', error);
        await pause(this.#deps.clock, RETRY_MS);
      }
    }
  }

  /**
   * Follows commits: deletes the body of a delivery that ended, drops the queue of a deleted
   * destination, and resets the queue of a fixed one.
   */
  #follow({ project, decisions }: Commit): void {
    const nowMs = this.#deps.clock.elapsed();
    for (const { machine, instance, event, final, to } of decisions.flatMap(({ steps }) => steps)) {
      if (machine === 'delivery' && final) this.#discards.add(instance);
      if (machine === 'alertRule' && to === 'active') this.#sweeps.release();
      if (machine !== 'destination') continue;
      if (final) this.#queues.retire(project, instance, nowMs);
      if (!FIXED.has(event.type)) continue;
      this.#queues.reset(project, instance);
      this.#pump();
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

function endedBy(outcome: AttemptOutcome): Ended {
  if (outcome.kind === 'accepted') return { result: 'healthy' };
  // `slows` counts even when our own mail server says it.
  if (isBounce(outcome) || (isOurs(outcome) && !outcome.slows)) return NOTHING_SENT;
  const restMs = outcome.kind === 'failed' && outcome.slows ? (outcome.retryAfterMs ?? 0) : 0;
  return { result: 'failing', restMs };
}
