/**
 * Last readings of each collector, in each project that it writes to, for an operator who misses
 * VMs.
 */
import { type Clock, isAhead } from '../../../streams/platform/clock.ts';
import { RETENTION_MS } from '../../../streams/telemetry/entry.ts';
import type { Ingest, WriteAnswer, WriteRequest } from './ingest-port.ts';
import { refusesRow } from './rejections.ts';

/** Times are Unix ms. */
export interface CollectorReading {
  readonly project: string;
  /** Time of the newest row. */
  readonly observedMs: number;
  readonly receivedMs: number;
  /** VMs with a row in the last 90 s. */
  readonly vms: number;
}

/** Interval at which one collector's old readings are dropped, ms. */
const SWEEP_MS = 60_000;
/** Age of a VM's last row beyond which the VM is not counted, ms. */
const PRESENT_MS = 90_000;

/** Readings that one collector wrote to one project. */
interface Heard {
  observedMs: number;
  receivedMs: number;
  /** Time at which each VM was last received, elapsed ms. */
  readonly vms: Map<string, number>;
}

/**
 * Readings written by collectors to this process, in memory only: a running collector reports again
 * within an interval, and one that was silent for all of retention is dropped.
 */
export class CollectorReadings {
  readonly #clock: Clock;
  readonly #heard = new Map<string, Map<string, Heard>>();
  /** Time of the last sweep, elapsed ms. */
  #sweptMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wraps ingest and records its senders. */
  recording(ingest: Ingest): Ingest {
    return {
      write: async (request) => {
        const answer = await ingest.write(request);
        // An agent is not a collector: the inventory shows its VM.
        const name = request.reach === undefined ? request.source : request.reach.name;
        if (name !== undefined && !request.reach?.vm) this.#record(name, request, answer);
        return answer;
      },
    };
  }

  /** Number of recorded VMs of all collectors and projects. */
  get size(): number {
    let size = 0;
    for (const projects of this.#heard.values())
      for (const { vms } of projects.values()) size += vms.size;
    return size;
  }

  /** Readings of a collector by its resource name, or of a source of this node; one per project. */
  of(name: string): readonly CollectorReading[] {
    const projects = this.#heard.get(name);
    if (projects === undefined) return [];
    this.#forgetAbsent(projects);
    return [...projects].map(([project, { vms, observedMs, receivedMs }]) => ({
      project,
      observedMs,
      receivedMs,
      vms: vms.size,
    }));
  }

  /** Names of all collectors heard within retention, or since the start; sorted. */
  names(): readonly string[] {
    return [...this.#heard.keys()].sort();
  }

  #record(name: string, { project, rows, indexes }: WriteRequest, { rejected }: WriteAnswer): void {
    const nowMs = this.#clock.elapsed();
    this.#sweep(nowMs);
    const refused = new Set(rejected.flatMap((one) => (refusesRow(one) ? [one.row] : [])));
    const stored = rows.filter((_, i) => !refused.has(indexes?.[i] ?? i));
    if (stored.length === 0) return;
    const projects = this.#heard.get(name) ?? new Map<string, Heard>();
    this.#heard.set(name, projects);
    const heard = projects.get(project) ?? { observedMs: 0, receivedMs: 0, vms: new Map() };
    projects.set(project, heard);
    heard.receivedMs = this.#clock.now();
    if (isAhead(heard.observedMs, heard.receivedMs)) heard.observedMs = 0;
    for (const { vm, observedMs } of stored) {
      heard.observedMs = Math.max(heard.observedMs, observedMs);
      heard.vms.set(vm, nowMs);
    }
  }

  /** Sweeps one collector at a time. */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    const [next] = this.#heard;
    if (next === undefined) return;
    const [name, projects] = next;
    this.#forgetAbsent(projects);
    const keptFromMs = this.#clock.now() - RETENTION_MS;
    for (const [project, { receivedMs }] of projects) {
      if (receivedMs < keptFromMs) projects.delete(project);
    }
    this.#heard.delete(name);
    if (projects.size > 0) this.#heard.set(name, projects);
  }

  #forgetAbsent(projects: ReadonlyMap<string, Heard>): void {
    const sinceMs = this.#clock.elapsed() - PRESENT_MS;
    for (const { vms } of projects.values()) {
      for (const [vm, atMs] of vms) if (atMs < sinceMs) vms.delete(vm);
    }
  }
}
