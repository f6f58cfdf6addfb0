/**
 * All lanes of this process, and whose turn it is: projects take turns, and so do a project's
 * destinations, so that no backlog starves another. A delivery that waits holds no slot, and a
 * destination with nothing in flight needs none of those that others compete for: endpoints that
 * hang delay nobody else. Mails, which may take longer and share one server, have slots apart.
 */
import { type AttemptResult, Lane, type LaneJob } from './destination-queue.ts';

/** How many attempts may be in flight in this process. */
interface Caps {
  /** In all: only so many destinations at once get their first one. */
  readonly total: number;
  /** Beyond the first one of each destination; in all, and of one project. */
  readonly more: number;
  readonly moreOfProject: number;
}

/** `mail`: below the 50 connections of one client that a mail server commonly takes (Postfix). */
const CAPS = {
  web: { total: 512, more: 64, moreOfProject: 32 },
  mail: { total: 32, more: 16, moreOfProject: 8 },
} as const satisfies Readonly<Record<string, Caps>>;

/** Which slots a destination's attempts take. */
export type SlotKind = keyof typeof CAPS;

/** A delivery whose attempt may start now. */
export interface Start {
  readonly job: LaneJob;
  readonly destination: string;
  readonly slots: SlotKind;
}

export interface LaneOptions {
  readonly slots: SlotKind;
  /** Between the starts of two attempts, ms. */
  readonly spacingMs?: number | undefined;
}

export class Lanes {
  readonly #pools: Readonly<Record<SlotKind, Pool>> = {
    web: new Pool(CAPS.web),
    mail: new Pool(CAPS.mail),
  };

  /** Attempts under way now. */
  get inFlight(): number {
    return this.#all().reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  /** Destinations that have a lane. */
  get size(): number {
    return this.#all().reduce((sum, { size }) => sum + size, 0);
  }

  /** Queues a delivery for its destination, whose options never change; twice is once. */
  add(destination: string, job: LaneJob, { slots, spacingMs = 0 }: LaneOptions): void {
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

  /** The attempt of a taken delivery ended; see `Lane.end`. */
  end({ slots, ...taken }: Start, result: AttemptResult, nowMs: number, restMs = 0): void {
    this.#pools[slots].end(taken, result, nowMs, restMs);
  }

  /** The destination is deleted: its lane goes when nothing is left in it, failing or not. */
  retire(project: string, destination: string, nowMs: number): void {
    for (const pool of this.#all()) pool.retire(project, destination, nowMs);
  }

  /** The destination was mended: it is tried at once, whatever it did before. */
  reset(project: string, destination: string): void {
    for (const pool of this.#all()) pool.reset(project, destination);
  }

  /** Elapsed time (ms) at which the next lane that lets none through may; undefined: none waits. */
  wakeAtMs(nowMs: number): number | undefined {
    const times = this.#all().flatMap((pool) => pool.wakeAtMs(nowMs) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #all(): readonly Pool[] {
    return Object.values(this.#pools);
  }
}

interface ProjectLanes {
  /** By destination, the one whose turn is next first. */
  readonly lanes: Map<string, Lane>;
  inFlight: number;
  /** Lanes with something in flight. */
  busy: number;
}

type Taken = Omit<Start, 'slots'>;

/** The lanes that share slots. */
class Pool {
  readonly #caps: Caps;
  /** By project, the one whose turn is next first. */
  readonly #projects = new Map<string, ProjectLanes>();
  inFlight = 0;
  #busy = 0;

  constructor(caps: Caps) {
    this.#caps = caps;
  }

  get size(): number {
    return [...this.#projects.values()].reduce((sum, { lanes }) => sum + lanes.size, 0);
  }

  add(destination: string, job: LaneJob, spacingMs: number): void {
    let project = this.#projects.get(job.project);
    if (!project) {
      project = { lanes: new Map(), inFlight: 0, busy: 0 };
      this.#projects.set(job.project, project);
    }
    const lane = project.lanes.get(destination) ?? new Lane(spacingMs);
    project.lanes.set(destination, lane);
    lane.add(job);
  }

  /** First ones of destinations go before any second one. */
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
    const lane = project?.lanes.get(destination);
    if (!project || !lane) throw new Error(`${job.delivery} ended and was not under way`);
    lane.end(job, result, nowMs, restMs);
    this.#count(project, -1, lane.inFlight === 0 ? -1 : 0);
    if (lane.isIdle(nowMs)) this.#forget(job.project, destination);
  }

  retire(project: string, destination: string, nowMs: number): void {
    const lane = this.#projects.get(project)?.lanes.get(destination);
    lane?.retire();
    if (lane?.isIdle(nowMs)) this.#forget(project, destination);
  }

  reset(project: string, destination: string): void {
    this.#projects.get(project)?.lanes.get(destination)?.reset();
  }

  wakeAtMs(nowMs: number): number | undefined {
    let first: number | undefined;
    for (const { lanes } of this.#projects.values()) {
      for (const lane of lanes.values()) {
        const at = lane.wakeAtMs(nowMs);
        if (at !== undefined) first = Math.min(first ?? at, at);
      }
    }
    return first;
  }

  #count(project: ProjectLanes, inFlight: number, busy: number): void {
    project.inFlight += inFlight;
    project.busy += busy;
    this.inFlight += inFlight;
    this.#busy += busy;
  }

  #forget(id: string, destination: string): void {
    const project = this.#projects.get(id);
    project?.lanes.delete(destination);
    if (project?.lanes.size === 0) this.#projects.delete(id);
  }
}

function nextOf({ lanes }: ProjectLanes, nowMs: number, isFirst: boolean): Taken | undefined {
  for (const [destination, lane] of lanes) {
    if (isFirst && lane.inFlight > 0) continue;
    const job = lane.take(nowMs);
    if (!job) continue;
    moveLast(lanes, destination, lane);
    return { job, destination };
  }
  return undefined;
}

function moveLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}
