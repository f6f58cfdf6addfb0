/**
 * The destination queues of the projects that this process acts for, and the order of their turns.
 * Projects take turns, and so do a project's destinations, so no backlog starves another. A waiting
 * delivery holds no slot, and the first attempt of a destination does not compete for shared slots,
 * so a hanging endpoint delays no other. Many that hang at once would still fill all slots. So those
 * that failed last use only a share, and some slots are spared for projects with nothing in flight.
 * Mails take longer and share one server, so they have slots of their own.
 */
import type { AttemptEnd } from '../../machines/delivery/attempt-cap.ts';
import { Breaker } from './breaker.ts';
import type { DueAttempt } from './due-attempts.ts';
import type { SendingLimits, SlotKind } from './notifier-port.ts';

/** Maximum attempts in flight, of those that this process published. */
interface Caps {
  /** Maximum in total, which also bounds the number of destinations with a first attempt. */
  readonly total: number;
  /** Beyond the total, for the first attempts of projects that have nothing in flight. */
  readonly spare: number;
  /** Maximum at destinations whose last attempt failed. */
  readonly failing: number;
  /** Beyond the first attempt of each destination: in total, and per project. */
  readonly more: number;
  readonly moreOfProject: number;
}

/**
 * A hanging attempt costs a socket and about 50 KiB. `mail` is below the 50 connections that a mail
 * server commonly accepts from one client (Postfix).
 */
const CAPS = {
  web: { total: 2_048, spare: 512, failing: 640, more: 384, moreOfProject: 160 },
  mail: { total: 32, spare: 8, failing: 16, more: 16, moreOfProject: 8 },
} as const satisfies Readonly<Record<SlotKind, Caps>>;

/** Limits of a destination's queue. Only the cap ever changes. */
export interface QueueLimits extends Pick<SendingLimits, 'slots' | 'spacingMs'> {
  /** Attempts that may be in flight at a time. */
  readonly cap: number;
}

/** All queues of a process. A delivery is in at most one of them, once. */
export class DestinationQueues {
  readonly #pools: Readonly<Record<SlotKind, Pool>> = {
    web: new Pool(CAPS.web),
    mail: new Pool(CAPS.mail),
  };

  /** Attempts in progress. */
  get inFlight(): number {
    return this.#all().reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  /** Number of destinations with a queue. */
  get size(): number {
    return this.#all().reduce((sum, { size }) => sum + size, 0);
  }

  /** True if the delivery's destination has a queue. */
  has(job: QueuedDelivery): boolean {
    return this.#poolOf(job) !== undefined;
  }

  /** Makes the queue of the delivery's destination, which must have none. */
  open(job: QueuedDelivery, { slots, ...limits }: QueueLimits): void {
    this.#pools[slots].open(job, limits);
  }

  /** Queues a delivery. No-op if it is already queued. Throws if its destination has no queue. */
  add(job: QueuedDelivery): void {
    const queue = this.#poolOf(job)?.queueOf(job);
    if (!queue) throw new Error(`The destination of ${job.delivery} has no queue`);
    queue.add(job);
  }

  /** Takes the next delivery that may start. @param nowMs elapsed time, ms */
  next(nowMs: number): QueuedDelivery | undefined {
    return this.#pools.web.next(nowMs) ?? this.#pools.mail.next(nowMs);
  }

  /** Records the end of a delivery's attempt; see `DestinationQueue.end`. */
  end(job: QueuedDelivery, result: AttemptResult, nowMs: number, restMs = 0): void {
    this.#poolOf(job)?.end(job, result, nowMs, restMs);
  }

  setCap(project: string, destination: string, cap: number): void {
    const key = { project, destination };
    this.#poolOf(key)?.queueOf(key)?.setCap(cap);
  }

  /** Drops the queues of all other projects. */
  keepProjects(isKept: (project: string) => boolean): void {
    for (const pool of this.#all()) pool.keepProjects(isKept);
  }

  /**
   * Called when the destination is deleted. Its queue is dropped once it is empty, failing or not.
   */
  retire(project: string, destination: string, nowMs: number): void {
    for (const pool of this.#all()) pool.retire(project, destination, nowMs);
  }

  /** Called when the destination was fixed. It is tried at once, whatever happened before. */
  reset(project: string, destination: string): void {
    for (const pool of this.#all()) pool.reset(project, destination);
  }

  /**
   * Elapsed time (ms) when the next blocked queue may start a delivery; undefined if none waits.
   */
  wakeAtMs(nowMs: number): number | undefined {
    const times = this.#all().flatMap((pool) => pool.wakeAtMs(nowMs) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #poolOf(key: QueueKey): Pool | undefined {
    return this.#all().find((pool) => pool.queueOf(key));
  }

  #all(): readonly Pool[] {
    return Object.values(this.#pools);
  }
}

interface ProjectQueues {
  /** By destination, in order of their turns. */
  readonly queues: Map<string, DestinationQueue>;
  inFlight: number;
  /** Queues with something in flight. */
  busy: number;
}

type QueueKey = Pick<QueuedDelivery, 'project' | 'destination'>;

/** The queues that share slots. */
class Pool {
  readonly #caps: Caps;
  /** By project, in order of their turns. */
  readonly #projects = new Map<string, ProjectQueues>();
  inFlight = 0;
  #busy = 0;
  /** Deliveries in flight at destinations whose last attempt failed, with their projects. */
  readonly #failing = new Map<string, string>();

  constructor(caps: Caps) {
    this.#caps = caps;
  }

  get size(): number {
    return [...this.#projects.values()].reduce((sum, { queues }) => sum + queues.size, 0);
  }

  queueOf({ project, destination }: QueueKey): DestinationQueue | undefined {
    return this.#projects.get(project)?.queues.get(destination);
  }

  open({ project: id, destination }: QueueKey, limits: Omit<QueueLimits, 'slots'>): void {
    let project = this.#projects.get(id);
    if (!project) {
      project = { queues: new Map(), inFlight: 0, busy: 0 };
      this.#projects.set(id, project);
    }
    project.queues.set(destination, new DestinationQueue(limits));
  }

  keepProjects(isKept: (project: string) => boolean): void {
    for (const [id, { inFlight, busy }] of this.#projects) {
      if (isKept(id)) continue;
      this.#projects.delete(id);
      this.inFlight -= inFlight;
      this.#busy -= busy;
    }
    for (const [delivery, project] of this.#failing) {
      if (!isKept(project)) this.#failing.delete(delivery);
    }
  }

  /** First attempts of destinations start before any second ones. */
  next(nowMs: number): QueuedDelivery | undefined {
    const { total, spare, more } = this.#caps;
    if (this.inFlight >= total + spare) return undefined;
    if (this.inFlight >= total) return this.#take(nowMs, { isFirst: true, isIdle: true });
    const first = this.#take(nowMs, { isFirst: true });
    if (first || this.inFlight - this.#busy >= more) return first;
    return this.#take(nowMs, { isFirst: false });
  }

  /** @param isIdle true: only of projects that have nothing in flight */
  #take(
    nowMs: number,
    { isFirst, isIdle = false }: { readonly isFirst: boolean; readonly isIdle?: boolean },
  ): QueuedDelivery | undefined {
    const { moreOfProject, failing } = this.#caps;
    const mayFail = this.#failing.size < failing;
    for (const [id, project] of this.#projects) {
      if (isIdle && project.inFlight > 0) continue;
      if (!isFirst && project.inFlight - project.busy >= moreOfProject) continue;
      const taken = nextOf(project, nowMs, { isFirst, mayFail });
      if (!taken) continue;
      moveLast(this.#projects, id, project);
      this.#count(project, 1, isFirst ? 1 : 0);
      if (project.queues.get(taken.destination)?.isFailing) this.#failing.set(taken.delivery, id);
      return taken;
    }
    return undefined;
  }

  end(job: QueuedDelivery, result: AttemptResult, nowMs: number, restMs: number): void {
    const project = this.#projects.get(job.project);
    const queue = project?.queues.get(job.destination);
    if (!project || !queue) return;
    if (queue.end(job, result, nowMs, restMs)) {
      this.#failing.delete(job.delivery);
      this.#count(project, -1, queue.inFlight === 0 ? -1 : 0);
    }
    if (queue.isIdle(nowMs)) this.#forget(job.project, job.destination);
  }

  retire(project: string, destination: string, nowMs: number): void {
    const queue = this.#projects.get(project)?.queues.get(destination);
    queue?.retire();
    if (queue?.isIdle(nowMs)) this.#forget(project, destination);
  }

  reset(project: string, destination: string): void {
    this.#projects.get(project)?.queues.get(destination)?.reset();
  }

  wakeAtMs(nowMs: number): number | undefined {
    let first: number | undefined;
    for (const { queues } of this.#projects.values()) {
      for (const queue of queues.values()) {
        const at = queue.wakeAtMs(nowMs);
        if (at !== undefined) first = Math.min(first ?? at, at);
      }
    }
    return first;
  }

  #count(project: ProjectQueues, inFlight: number, busy: number): void {
    project.inFlight += inFlight;
    project.busy += busy;
    this.inFlight += inFlight;
    this.#busy += busy;
  }

  #forget(id: string, destination: string): void {
    const project = this.#projects.get(id);
    project?.queues.delete(destination);
    if (project?.queues.size === 0) this.#projects.delete(id);
  }
}

function nextOf(
  { queues }: ProjectQueues,
  nowMs: number,
  { isFirst, mayFail }: { readonly isFirst: boolean; readonly mayFail: boolean },
): QueuedDelivery | undefined {
  for (const [destination, queue] of queues) {
    if (isFirst && queue.inFlight > 0) continue;
    if (queue.isFailing && !mayFail) continue;
    const job = queue.take(nowMs);
    if (!job) continue;
    moveLast(queues, destination, queue);
    return job;
  }
  return undefined;
}

function moveLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}

/** From this cap on, attempts are published before they have a slot. */
const AHEAD_CAP_MIN = 16;

/** `neutral`: nothing was sent (suppressed, no longer due, or a fault of this service). */
export type AttemptResult = AttemptEnd['result'];

/**
 * The part of a delivery that a queue holds. Everything else is read from its row when its turn
 * comes.
 */
export interface QueuedDelivery extends DueAttempt {
  readonly destination: string;
  /** Deliveries of one incident to one recipient are sent one after the other. */
  readonly incident: string;
  readonly recipient: string | null;
  /** See `publishDue`. */
  readonly again: string;
}

/** The queue of one destination. Consecutive failures open its breaker; a success closes it. */
export class DestinationQueue {
  readonly #waiting = new Map<string, QueuedDelivery>();
  /** `orderOf` of each delivery in flight. */
  readonly #ordered = new Set<string>();
  readonly #inFlight = new Set<string>();
  readonly #spacingMs: number;
  #cap: number;
  readonly #breaker = new Breaker();
  /** The last delivery taken, and the time when the next could have started without it. */
  #last = { delivery: '', beforeMs: 0 };
  #nextStartMs = 0;
  #retired = false;
  /** In flight since before the destination was fixed. Their results no longer count. */
  readonly #outdated = new Set<string>();

  constructor({ spacingMs, cap }: Omit<QueueLimits, 'slots'>) {
    this.#spacingMs = spacingMs;
    this.#cap = cap;
  }

  /** Attempts in progress. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** True if its last attempt failed. */
  get isFailing(): boolean {
    return this.#breaker.isFailing;
  }

  /** Queues a delivery. No-op if it already waits or is in flight. */
  add(job: QueuedDelivery): void {
    if (!this.#inFlight.has(job.delivery)) this.#waiting.set(job.delivery, job);
  }

  /** Takes the next delivery that may start now. @param nowMs elapsed time, ms */
  take(nowMs: number): QueuedDelivery | undefined {
    if (nowMs < this.#closedUntilMs() || this.#inFlight.size >= widthOf(this.#cap))
      return undefined;
    for (const job of this.#waiting.values()) {
      if (this.#ordered.has(orderOf(job))) continue;
      this.#waiting.delete(job.delivery);
      this.#inFlight.add(job.delivery);
      this.#ordered.add(orderOf(job));
      this.#last = { delivery: job.delivery, beforeMs: this.#nextStartMs };
      this.#nextStartMs = nowMs + this.#spacingMs;
      return job;
    }
    return undefined;
  }

  /** Sets the maximum in flight from now on, from the destination's row. */
  setCap(cap: number): void {
    this.#cap = cap;
  }

  /**
   * Records the end of an attempt, or of a waiting delivery. @returns whether it was in flight
   *
   * @param restMs time for which the endpoint requested no attempts, ms
   */
  end(job: QueuedDelivery, result: AttemptResult, nowMs: number, restMs = 0): boolean {
    this.#waiting.delete(job.delivery);
    if (!this.#inFlight.delete(job.delivery)) return false;
    this.#ordered.delete(orderOf(job));
    const isOutdated = this.#outdated.delete(job.delivery);
    if (!isOutdated) this.#breaker.end(result, nowMs, restMs);
    // An attempt that sent nothing needs no spacing after it.
    const isLast = this.#last.delivery === job.delivery;
    if (result === 'neutral' && isLast) this.#nextStartMs = this.#last.beforeMs;
    return true;
  }

  /**
   * Called when the destination is deleted. Waiting deliveries end at their recheck, so no breaker
   * is needed.
   */
  retire(): void {
    this.#retired = true;
    this.#breaker.reset();
  }

  /**
   * Called when the destination was fixed. Earlier failures do not count, nor do attempts now in
   * flight.
   */
  reset(): void {
    for (const delivery of this.#inFlight) this.#outdated.add(delivery);
    this.#breaker.reset();
  }

  /**
   * True if nothing waits or is in flight and no failure counts, so that the queue can be dropped.
   */
  isIdle(nowMs: number): boolean {
    if (this.#waiting.size > 0 || this.#inFlight.size > 0) return false;
    return this.#retired || (!this.#breaker.isFailing && nowMs >= this.#closedUntilMs());
  }

  /** Elapsed time (ms) when the next may start; undefined if one may start now, or none waits. */
  wakeAtMs(nowMs: number): number | undefined {
    const untilMs = this.#closedUntilMs();
    return this.#waiting.size > 0 && untilMs > nowMs ? untilMs : undefined;
  }

  #closedUntilMs(): number {
    return Math.max(this.#breaker.closedUntilMs, this.#nextStartMs);
  }
}

/**
 * Number of attempts that may be published. With a wide cap, as many again wait at the member that
 * will open them.
 */
function widthOf(cap: number): number {
  return cap < AHEAD_CAP_MIN ? cap : cap * 2;
}

function orderOf({ incident, recipient }: QueuedDelivery): string {
  return recipient === null ? incident : `${incident} ${recipient}`;
}
