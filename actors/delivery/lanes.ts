/**
 * All lanes of this process, and whose turn it is: projects take turns, and so do a project's
 * destinations, so that no backlog starves another. A delivery that waits holds no slot; slots are
 * bounded for the process and for each project.
 */
import { type AttemptResult, Lane, type LaneJob } from './lane.ts';

/** Attempts in flight in this process, and of one project, at most. */
const PROCESS_IN_FLIGHT_MAX = 64;
const PROJECT_IN_FLIGHT_MAX = 32;

/** A delivery whose attempt may start now. */
export interface Start {
  readonly job: LaneJob;
  readonly destination: string;
}

interface ProjectLanes {
  /** By destination, the one whose turn is next first. */
  readonly lanes: Map<string, Lane>;
  inFlight: number;
}

export class Lanes {
  /** By project, the one whose turn is next first. */
  readonly #projects = new Map<string, ProjectLanes>();
  #inFlight = 0;

  /** Attempts under way now. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Queues a delivery for its destination; twice is once.
   *
   * @param spacingMs between the starts of two attempts there, ms
   */
  add(destination: string, job: LaneJob, spacingMs = 0): void {
    let project = this.#projects.get(job.project);
    if (!project) {
      project = { lanes: new Map(), inFlight: 0 };
      this.#projects.set(job.project, project);
    }
    const lane = project.lanes.get(destination) ?? new Lane(spacingMs);
    project.lanes.set(destination, lane);
    lane.add(job);
  }

  /** Takes the next delivery that may start. @param nowMs elapsed time, ms */
  next(nowMs: number): Start | undefined {
    if (this.#inFlight >= PROCESS_IN_FLIGHT_MAX) return undefined;
    for (const [id, project] of this.#projects) {
      if (project.inFlight >= PROJECT_IN_FLIGHT_MAX) continue;
      const start = nextOf(project, nowMs);
      if (!start) continue;
      moveLast(this.#projects, id, project);
      project.inFlight++;
      this.#inFlight++;
      return start;
    }
    return undefined;
  }

  /** The attempt of a taken delivery ended; see `Lane.end`. */
  end({ job, destination }: Start, result: AttemptResult, nowMs: number, restMs = 0): void {
    const project = this.#projects.get(job.project);
    const lane = project?.lanes.get(destination);
    if (!project || !lane) throw new Error(`${job.delivery} ended and was not under way`);
    lane.end(job, result, nowMs, restMs);
    project.inFlight--;
    this.#inFlight--;
    if (lane.isIdle(nowMs)) this.#forget(job.project, destination);
  }

  /** The destination is deleted: its lane goes when nothing is left in it, failing or not. */
  retire(project: string, destination: string, nowMs: number): void {
    const lane = this.#projects.get(project)?.lanes.get(destination);
    lane?.retire();
    if (lane?.isIdle(nowMs)) this.#forget(project, destination);
  }

  /** Destinations that have a lane. */
  get size(): number {
    return [...this.#projects.values()].reduce((sum, { lanes }) => sum + lanes.size, 0);
  }

  #forget(id: string, destination: string): void {
    const project = this.#projects.get(id);
    project?.lanes.delete(destination);
    if (project?.lanes.size === 0) this.#projects.delete(id);
  }

  /** Elapsed time (ms) at which the next lane that lets none through may; undefined: none waits. */
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
}

function nextOf({ lanes }: ProjectLanes, nowMs: number): Start | undefined {
  for (const [destination, lane] of lanes) {
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
