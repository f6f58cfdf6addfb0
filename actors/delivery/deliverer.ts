/**
 * Deliveries as a work queue. The dispatcher of a project's owner publishes the attempts that may start;
 * the deliverer of any member takes them from the queue and runs them. A commit that rechecks everything
 * opens an attempt; it is sent under a deadline that starts with that commit; a second commit ends it.
 * Attempts that run at the same time share their commits. After a crash the outcome is recorded as
 * `unknown`, and the attempt is retried under the same delivery id: at-least-once delivery, never more
 * often than the rows say.
 */

import { once } from 'node:events';
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import type { Commit, InstanceStep } from '../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { nextTurn, TimeSlices } from '../../streams/platform/operators.ts';
import { pause } from '../../streams/platform/pause.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import type { Consumer, Delivery, Stream } from '../../streams/platform/stream.ts';
import { activePeople } from '../alerting/eligible.ts';
import type { Host, Instance } from '../platform/host/host-port.ts';
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
  recheckDelivery,
  sendAttempt,
} from './attempt.ts';
import { isHeld } from './audience.ts';
import type { AttemptOutcome, Notifier } from './notifier-port.ts';
import { type EndedAttempt, type ReportedAttempt, recordLost, recordOutcomes } from './outcome.ts';
import { Places } from './places.ts';
import {
  DestinationQueues,
  type DueAttempt,
  deliveriesConsumer,
  nextAttemptOf,
  parseDue,
  publishDue,
  type QueuedDelivery,
  type RecordedAttempt,
} from './queues.ts';
import { Sweeps } from './sweeps.ts';
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
      ...{ clock, write: deps.keepExcerpts },
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
      ...{ clock, write: (ids) => contents.discard(ids) },
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

interface DispatcherDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly stream: Stream;
  readonly ownership: Ownership;
  readonly notifier: Pick<Notifier, 'limitsOf' | 'sendsTo'>;
  /** True when this process has an attempt of the delivery under way. */
  readonly isOpen: (delivery: string) => boolean;
  /** Records the end of an attempt whose process died. */
  readonly onLost: (attempt: RecordedAttempt) => Promise<void>;
  readonly onFault: (what: string, error: unknown) => void;
}

/**
 * A published attempt that was not opened after this time is published again, ms: its message was lost,
 * the member that took it died, or the opening was refused for want of a place.
 */
const RETURN_MS = 10_000;
/** The same where this process knows already that it was not opened, ms. */
const BUSY_MS = 250;

/** Events of a destination that make its earlier failures meaningless. */
const FIXED: ReadonlySet<string> = new Set(['retargeted', 'resumed']);

interface Published {
  readonly job: QueuedDelivery;
  /** When it is published again, elapsed time, ms. */
  readonly returnAtMs: number;
}

/**
 * The dispatcher of a project's owner: follows commits, keeps the deliveries that are due in a queue
 * for each destination, and publishes those attempts that may start. Its memory is for fairness and
 * for sparing endpoints; what must hold is decided by the commit that opens an attempt.
 */
class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #queues = new DestinationQueues();
  readonly #sweeps: Sweeps;
  /** By delivery: those that wait or are in flight. */
  readonly #jobs = new Map<string, QueuedDelivery>();
  /** By delivery: published and not opened yet. */
  readonly #published = new Map<string, Published>();
  /** By rule, then by delivery: due when the rule's pending version is applied. */
  readonly #held = new Map<string, Map<string, Instance<'delivery'>>>();
  /** Kinds of destination that this process cannot send to, already logged. */
  readonly #unsendable = new Set<string>();
  #cancelWake: CancelWakeUp | undefined;
  #unfollow: (() => void) | undefined;
  #isStopped = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#sweeps = new Sweeps({
      ...deps,
      onBegin: () => this.#dropUnowned(),
      onDue: (row) => this.#addSwept(row),
    });
  }

  /** Resolves after the first sweep, or rejects with its fault. */
  async start(): Promise<void> {
    this.#unfollow = this.#deps.host.onApplied(({ commit }) => this.#follow(commit));
    await this.#sweeps.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unfollow?.();
    this.#cancelWake?.();
    await this.#sweeps.stop();
  }

  /** Destinations with something to send, or with recent failures. */
  queues(): number {
    return this.#queues.size;
  }

  /** Notes that there was no place for the attempt yet, when its opening was decided here. */
  noteBusy({ delivery }: DueAttempt): void {
    const published = this.#published.get(delivery);
    if (!published) return;
    const returnAtMs = this.#deps.clock.elapsed() + BUSY_MS;
    this.#published.set(delivery, { ...published, returnAtMs });
    this.#wakeUp();
  }

  #follow({ project, decisions }: Commit): void {
    const steps = decisions.flatMap((decision) => decision.steps);
    if (!this.#deps.ownership.owns(project)) {
      // A lease can lapse for less than a sweep takes: what was queued before it is not true any more.
      if (steps.some(({ instance }) => this.#jobs.has(instance))) this.#dropUnowned();
      return;
    }
    const last = new Map<string, InstanceStep>();
    for (const step of steps) {
      if (step.machine === 'delivery') {
        this.#noteAttempt(step);
        // Only the last state counts: opening an attempt passes through `rechecking`.
        last.set(step.instance, step);
      }
      if (step.machine === 'destination') this.#noteDestination(project, step);
      if (step.machine === 'alertRule' && step.to === 'active') this.#release(step.instance);
    }
    const view = this.#deps.host.view(project);
    for (const { instance, to } of last.values()) {
      if (to !== 'queued' && to !== 'rechecking') continue;
      const row = view.instance('delivery', instance);
      if (row) this.#add(row, '');
    }
    this.#pump();
  }

  /** What the step says of an attempt that was published here. */
  #noteAttempt({ instance, event, to, final }: InstanceStep): void {
    const job = this.#jobs.get(instance);
    if (!job) return;
    if (to === 'sending') this.#published.delete(instance);
    if (!final && to !== 'waiting') return;
    this.#forget(job);
    const isHealthy = event.type === 'accepted';
    const result = isHealthy ? 'healthy' : event.failing === true ? 'failing' : 'neutral';
    const restMs = typeof event.restMs === 'number' ? event.restMs : 0;
    this.#queues.end(job, result, this.#deps.clock.elapsed(), restMs);
  }

  #noteDestination(project: string, { instance, event, final, context }: InstanceStep): void {
    if (final) this.#queues.retire(project, instance, this.#deps.clock.elapsed());
    if (FIXED.has(event.type)) this.#queues.reset(project, instance);
    if (typeof context.attemptCap === 'number') {
      this.#queues.setCap(project, instance, context.attemptCap);
    }
  }

  #release(rule: string): void {
    const rows = this.#held.get(rule)?.values() ?? [];
    this.#held.delete(rule);
    for (const { project, instance } of rows) {
      const row = this.#deps.host.view(project).instance('delivery', instance);
      if (row) this.#add(row, '');
    }
  }

  #addSwept(row: Instance<'delivery'>): void {
    const { clock, random } = this.#deps;
    this.#add(row, ulid(clock.now(), random));
    this.#pump();
  }

  /** @param again see `publishDue` */
  #add(row: Instance<'delivery'>, again: string): void {
    const { project, instance: delivery, context } = row;
    const attempt = nextAttemptOf(row);
    if (attempt === undefined || this.#jobs.has(delivery)) return;
    const { destination, recipient, rule } = context;
    // A group has no other delivery to be in order with; its commit knows its incidents.
    const incident = context.incident || delivery;
    const view = this.#deps.host.view(project);
    const isPersonActive = activePeople(this.#deps.host);
    if (isHeld(view, context) && !recheckDelivery(view, delivery, context, isPersonActive).reason) {
      const ofRule = this.#held.get(rule) ?? new Map<string, Instance<'delivery'>>();
      this.#held.set(rule, ofRule.set(delivery, row));
      return;
    }
    const job = { project, delivery, attempt, destination, incident, recipient, again };
    if (!this.#queues.has(job)) {
      const kind = kindOf(view, context);
      if (!this.#canSend(kind)) return;
      const cap = view.instance('destination', destination)?.context.attemptCap ?? 1;
      this.#queues.open(job, { ...this.#deps.notifier.limitsOf(kind), cap });
    }
    this.#jobs.set(delivery, job);
    this.#queues.add(job);
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

  /** Publishes every attempt that may start, and wakes up when the next one may. */
  #pump(): void {
    this.#cancelWake?.();
    if (this.#isStopped) return;
    const nowMs = this.#deps.clock.elapsed();
    this.#takeBack(nowMs);
    for (let job = this.#queues.next(nowMs); job; job = this.#queues.next(nowMs)) {
      this.#publish(job, nowMs);
    }
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#cancelWake?.();
    const { clock } = this.#deps;
    const nowMs = clock.elapsed();
    const times = [...this.#published.values()].map(({ returnAtMs }) => returnAtMs);
    const wakeAtMs = Math.min(...times, this.#queues.wakeAtMs(nowMs) ?? Number.POSITIVE_INFINITY);
    if (this.#isStopped || wakeAtMs === Number.POSITIVE_INFINITY) return;
    this.#cancelWake = clock.wakeAfter(wakeAtMs - nowMs, () => this.#pump());
  }

  #publish(job: QueuedDelivery, nowMs: number): void {
    const { stream, onFault, ownership } = this.#deps;
    if (!ownership.owns(job.project)) return;
    this.#published.set(job.delivery, { job, returnAtMs: nowMs + RETURN_MS });
    publishDue(stream, job, job.again).catch((error: unknown) =>
      onFault('publishing a due attempt', error),
    );
  }

  /** Attempts that were published long ago and not opened wait again. */
  #takeBack(nowMs: number): void {
    for (const { job, returnAtMs } of [...this.#published.values()]) {
      if (returnAtMs > nowMs) continue;
      this.#forget(job);
      this.#queues.end(job, 'neutral', nowMs);
      const row = this.#deps.host.view(job.project).instance('delivery', job.delivery);
      if (row) this.#add(row, ulid(this.#deps.clock.now(), this.#deps.random));
    }
  }

  #forget({ delivery }: QueuedDelivery): void {
    this.#jobs.delete(delivery);
    this.#published.delete(delivery);
  }

  /** What another member acts for by now is its affair. */
  #dropUnowned(): void {
    const { ownership } = this.#deps;
    const owns = (project: string): boolean => ownership.owns(project);
    for (const job of this.#jobs.values()) if (!owns(job.project)) this.#forget(job);
    for (const [rule, rows] of this.#held) {
      const [row] = rows.values();
      if (row && !owns(row.project)) this.#held.delete(rule);
    }
    this.#queues.keepProjects(owns);
  }
}
