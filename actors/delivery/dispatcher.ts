/**
 * The dispatcher of a project's owner: follows commits, keeps the due deliveries in a queue for
 * each destination, and publishes the attempts that may start. Its memory provides fairness and
 * spares endpoints. Correctness is decided by the commit that opens an attempt.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import type { Commit, InstanceStep } from '../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { activePeople } from '../alerting/eligible.ts';
import type { Host, Instance } from '../platform/host/host-port.ts';
import { kindOf } from './attempt.ts';
import { isHeld } from './audience.ts';
import { attemptEndOf, FIXED } from './breaker.ts';
import {
  type DueAttempt,
  nextAttemptOf,
  publishDue,
  type RecordedAttempt,
} from './due-attempts.ts';
import type { Notifier } from './notifier-port.ts';
import { recheckDelivery } from './opening.ts';
import { DestinationQueues, type QueuedDelivery } from './queues.ts';
import { Sweeps } from './sweeps.ts';

interface DispatcherDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly stream: Stream;
  readonly ownership: Ownership;
  readonly notifier: Pick<Notifier, 'limitsOf' | 'sendsTo'>;
  /** True if this process has an attempt of the delivery in progress. */
  readonly isOpen: (delivery: string) => boolean;
  /** Records that an attempt ended because its process died. */
  readonly onLost: (attempt: RecordedAttempt) => Promise<void>;
  readonly onFault: (what: string, error: unknown) => void;
}

/**
 * A published attempt that was not opened after this time is published again, ms: its message was
 * lost, the member that took it died, or there was no free slot.
 */
const RETURN_MS = 10_000;
/** The same if this process already knows that it was not opened, ms. */
const BUSY_MS = 250;

interface Published {
  readonly job: QueuedDelivery;
  /** Time when it is published again, elapsed, ms. */
  readonly returnAtMs: number;
}

/** One run. Everything that it holds in memory ends with it. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #queues = new DestinationQueues();
  readonly #sweeps: Sweeps;
  /** By delivery: waiting or in flight. */
  readonly #jobs = new Map<string, QueuedDelivery>();
  /** By delivery: published but not opened yet. */
  readonly #published = new Map<string, Published>();
  /** By rule, then by delivery: due when the rule's pending version is applied. */
  readonly #held = new Map<string, Map<string, Instance<'delivery'>>>();
  /** Kinds of destination that this process cannot send to and has already logged. */
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

  /** Destinations with queued deliveries or recent failures. */
  queues(): number {
    return this.#queues.size;
  }

  /** Records that the attempt had no slot yet, if its opening was decided here. */
  recordBusy({ delivery }: DueAttempt): void {
    const published = this.#published.get(delivery);
    if (!published) return;
    const returnAtMs = this.#deps.clock.elapsed() + BUSY_MS;
    this.#published.set(delivery, { ...published, returnAtMs });
    this.#wakeUp();
  }

  #follow({ project, decisions }: Commit): void {
    const steps = decisions.flatMap((decision) => decision.steps);
    if (!this.#deps.ownership.owns(project)) {
      // A lease can lapse for less time than a sweep takes, so older queue entries are no longer
      // valid.
      if (steps.some(({ instance }) => this.#jobs.has(instance))) this.#dropUnowned();
      return;
    }
    const last = new Map<string, InstanceStep>();
    for (const step of steps) {
      if (step.machine === 'delivery') {
        this.#recordAttempt(step);
        // Only the last state counts, because opening an attempt passes through `rechecking`.
        last.set(step.instance, step);
      }
      if (step.machine === 'destination') this.#recordDestination(project, step);
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

  /** Applies the step to an attempt that was published here. */
  #recordAttempt({ instance, event, to, final }: InstanceStep): void {
    const job = this.#jobs.get(instance);
    if (!job) return;
    if (to === 'sending') this.#published.delete(instance);
    if (!final && to !== 'waiting') return;
    this.#forget(job);
    const { result, restMs } = attemptEndOf(event);
    this.#queues.end(job, result, this.#deps.clock.elapsed(), restMs);
  }

  #recordDestination(project: string, { instance, event, final, context }: InstanceStep): void {
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
    // A group has no other delivery to be ordered with; its commit knows its incidents.
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
   * False for a kind that this process is not configured for, logged once. Its deliveries wait for
   * a process that is, or expire after 24 hours, because attempts that cannot succeed would only
   * use up the retry schedule.
   */
  #canSend(kind: string): boolean {
    if (this.#deps.notifier.sendsTo(kind)) return true;
    if (!this.#unsendable.has(kind)) {
      this.#unsendable.add(kind);
      const error = new Error('Its deliveries wait until they expire');
      this.#deps.onFault(`sending to ${kind}, for which this service is not configured,`, error);
    }
    return false;
  }

  /** Publishes every attempt that may start, and wakes up when the next one may start. */
  #pump(): void {
    this.#cancelWake?.();
    if (this.#isStopped) return;
    const nowMs = this.#deps.clock.elapsed();
    this.#requeue(nowMs);
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

  /** Attempts that were published long ago and not opened return to the queue. */
  #requeue(nowMs: number): void {
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

  /** Drops queued jobs of projects that another member now owns. */
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
