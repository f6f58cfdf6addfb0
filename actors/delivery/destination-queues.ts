/**
 * All destination queues of this process, and whose turn it is. Projects take turns, and so do a
 * project's destinations, so no backlog starves another. A waiting delivery holds no slot, and the
 * first attempt of a destination does not compete for shared slots, so a hanging endpoint delays
 * nobody else. Mails take longer and share one server, so they have slots of their own.
 */
import { type AttemptResult, DestinationQueue, type QueuedDelivery } from './destination-queue.ts';
import type { SendingLimits, SlotKind } from './notifier-port.ts';

/** Most attempts in flight in this process. */
interface Caps {
  /** In all, which also bounds the destinations that have a first attempt. */
  readonly total: number;
  /** Beyond the first attempt of each destination: in all, and of one project. */
  readonly more: number;
  readonly moreOfProject: number;
}

/** `mail`: below the 50 connections of one client that a mail server commonly takes (Postfix). */
const CAPS = {
  web: { total: 512, more: 64, moreOfProject: 32 },
  mail: { total: 32, more: 16, moreOfProject: 8 },
} as const satisfies Readonly<Record<SlotKind, Caps>>;

/** A delivery whose attempt may start now. */
export interface Start {
  readonly job: QueuedDelivery;
  readonly destination: string;
  readonly slots: SlotKind;
}

export class DestinationQueues {
  readonly #pools: Readonly<Record<SlotKind, Pool>> = {
    web: new Pool(CAPS.web),
    mail: new Pool(CAPS.mail),
  };

  /** Attempts under way now. */
  get inFlight(): number {
    return this.#all().reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  /** Destinations that have a queue. */
  get size(): number {
    return this.#all().reduce((sum, { size }) => sum + size, 0);
  }

  /** Queues a delivery. No-op when it is queued already. The limits of a destination never change. */
  add(
    destination: string,
    job: QueuedDelivery,
    { slots, spacingMs }: Pick<SendingLimits, 'slots' | 'spacingMs'>,
  ): void {
    this.#pools[slots].add(destination, job, spacingMs);
  }

  /** Takes the next delivery that may start. @param nowMs elapsed time, ms */
  next(nowMs: number): Start | undefined {
    for (const slots of ['web', 'mail'] as const) {
      const taken = this.#pools[slots].next(nowMs);
      if (taken) return { ...taken, slots };
    }
    return undefined;
  }

  /** Records the end of a started attempt; see `DestinationQueue.end`. */
  end({ slots, ...taken }: Start, result: AttemptResult, nowMs: number, restMs = 0): void {
    this.#pools[slots].end(taken, result, nowMs, restMs);
  }

  /** The destination is deleted: its queue is dropped once it is empty, failing or not. */
  retire(project: string, destination: string, nowMs: number): void {
    for (const pool of this.#all()) pool.retire(project, destination, nowMs);
  }

  /** The destination was fixed: it is tried at once, whatever happened before. */
  reset(project: string, destination: string): void {
    for (const pool of this.#all()) pool.reset(project, destination);
  }

  /** Elapsed time (ms) at which the next blocked queue may start one; undefined: none waits. */
  wakeAtMs(nowMs: number): number | undefined {
    const times = this.#all().flatMap((pool) => pool.wakeAtMs(nowMs) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
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

type Taken = Omit<Start, 'slots'>;

/** The queues that share slots. */
class Pool {
  readonly #caps: Caps;
  /** By project, in order of their turns. */
  readonly #projects = new Map<string, ProjectQueues>();
  inFlight = 0;
  #busy = 0;

  constructor(caps: Caps) {
    this.#caps = caps;
  }

  get size(): number {
    return [...this.#projects.values()].reduce((sum, { queues }) => sum + queues.size, 0);
  }

  add(destination: string, job: QueuedDelivery, spacingMs: number): void {
    let project = this.#projects.get(job.project);
    if (!project) {
      project = { queues: new Map(), inFlight: 0, busy: 0 };
      this.#projects.set(job.project, project);
    }
    const queue = project.queues.get(destination) ?? new DestinationQueue(spacingMs);
    project.queues.set(destination, queue);
    queue.add(job);
  }

  /** First attempts of destinations start before any second one. */
  next(nowMs: number): Taken | undefined {
    const { total, more } = this.#caps;
    if (this.inFlight >= total) return undefined;
    const first = this.#take(nowMs, true);
    if (first || this.inFlight - this.#busy >= more) return first;
    return this.#take(nowMs, false);
  }

  #take(nowMs: number, isFirst: boolean): Taken | undefined {
    for (const [id, project] of this.#projects) {
      const isFull = project.inFlight - project.busy >= this.#caps.moreOfProject;
      if (!isFirst && isFull) continue;
      const taken = nextOf(project, nowMs, isFirst);
      if (!taken) continue;
      moveLast(this.#projects, id, project);
      this.#count(project, 1, isFirst ? 1 : 0);
      return taken;
    }
    return undefined;
  }

  end({ job, destination }: Taken, result: AttemptResult, nowMs: number, restMs: number): void {
    const project = this.#projects.get(job.project);
    const queue = project?.queues.get(destination);
    if (!project || !queue) throw new Error(`${job.delivery} ended and was not under way`);
    queue.end(job, result, nowMs, restMs);
    this.#count(project, -1, queue.inFlight === 0 ? -1 : 0);
    if (queue.isIdle(nowMs)) this.#forget(job.project, destination);
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

function nextOf({ queues }: ProjectQueues, nowMs: number, isFirst: boolean): Taken | undefined {
  for (const [destination, queue] of queues) {
    if (isFirst && queue.inFlight > 0) continue;
    const job = queue.take(nowMs);
    if (!job) continue;
    moveLast(queues, destination, queue);
    return { job, destination };
  }
  return undefined;
}

function moveLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}
