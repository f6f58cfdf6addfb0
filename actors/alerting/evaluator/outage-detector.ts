/**
 * The liveness report that ticks carry: which data centers are silent as a whole, where VMs are,
 * and whose clocks are ahead. It can be made once the log's backlog has been read, and VMs without
 * a row in it have been looked up in history. Until then ticks carry none, and the last report
 * holds.
 */
import {
  type EvaluationState,
  type LastObservation,
  noteKnownVms,
} from '../../../streams/alerting/evaluation/fold.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { partitionOf } from '../../../streams/platform/stream.ts';
import type { LivenessReport, LogEntry } from '../../../streams/telemetry/entry.ts';
import type { VmRef } from '../../../streams/telemetry/samples/batch.ts';
import type { LatestRow } from '../../../streams/telemetry/samples/columns.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { TimeSlices } from '../../platform/time-slices.ts';
import { VmLiveness } from './vm-liveness.ts';

export interface OutagePorts {
  /** Newest row of a VM within retention: of those that fell silent before the log's floor. */
  readonly newest?: (project: string, vm: string) => LatestRow | undefined;
  /** VMs whose clocks are ahead, as of rows refused since then, Unix ms. */
  readonly clockAhead?: (sinceMs: number) => Iterable<VmRef>;
}

interface OutageDeps extends OutagePorts {
  readonly host: Host;
  readonly clock: Clock;
  /** A VM's history could not be read. Absent: that ends the evaluator's run. */
  readonly onFault?: (what: string, error: unknown) => void;
}

/** One sampling interval, ms: the time telemetry has to resume after a blind window. */
const INTERVAL_MS = 30_000;
/** Time for which a row refused for its clock counts as evidence that the clock is ahead, ms. */
const AHEAD_MS = 90_000;
/** Most VMs whose data centers one tick names; the next ticks name the others. */
const PLACED_MAX = 2_000;

export class OutageDetector {
  readonly #deps: OutageDeps;
  readonly #states: ReadonlyMap<number, EvaluationState>;
  readonly #slices: TimeSlices;
  readonly #liveness: VmLiveness;
  #leave: () => void = () => {};
  #backlogThrough = 0;
  #isKnown = false;

  /** @param states of the partitions, as the evaluator folds them */
  constructor(deps: OutageDeps, states: ReadonlyMap<number, EvaluationState>) {
    this.#deps = deps;
    this.#states = states;
    this.#slices = new TimeSlices(deps.clock);
    this.#liveness = new VmLiveness(deps.host);
  }

  /** Starts again. `backlogThrough`: last sequence of the log as it stands. */
  async begin(backlogThrough: number): Promise<void> {
    this.#leave();
    this.#isKnown = false;
    this.#backlogThrough = backlogThrough;
    this.#leave = await this.#liveness.load();
  }

  /** Follows registrations no longer. */
  end(): void {
    this.#leave();
  }

  /** Each entry of the log, before it is folded. */
  async note(entry: LogEntry, sequence: number): Promise<void> {
    if (!this.#isKnown && sequence > this.#backlogThrough) await this.#lookUp();
    this.#liveness.note(entry);
  }

  /** A project's VMs as far as they were observed up to `atMs`. */
  lastOf(project: string, atMs?: number): Iterable<LastObservation> {
    return this.#liveness.lastOf(project, atMs);
  }

  /** Of a partition at a tick. */
  of(partition: number, atMs: number): LivenessReport | undefined {
    const outages = this.#isKnown ? this.#liveness.outages(atMs, INTERVAL_MS) : undefined;
    const state = this.#states.get(partition);
    if (!outages || !state) return undefined;
    const placed = [...state.projects].flatMap(([project, { facts }]) => [
      ...this.#liveness.unplaced(project, facts, PLACED_MAX),
    ]);
    const ahead = [...(this.#deps.clockAhead?.(atMs - AHEAD_MS) ?? [])];
    const clockAhead = ahead.filter(({ project }) => partitionOf(project) === partition);
    return { outages, placed: placed.slice(0, PLACED_MAX), clockAhead };
  }

  /**
   * Called when the backlog has been read. Looks up the VMs without a row in it in history, once.
   * From then on rules on telemetry age know the VMs that fell silent before the log's floor.
   */
  async #lookUp(): Promise<void> {
    const { newest, onFault } = this.#deps;
    for (const { project, vm } of [...this.#liveness.unheard()]) {
      await this.#slices.yieldIfDue();
      try {
        const latest = newest?.(project, vm);
        if (latest) this.#liveness.recall(project, vm, latest);
      } catch (error) {
        if (!onFault) throw error;
        onFault(`the last observation of ${vm} in ${project}`, error);
      }
    }
    for (const state of this.#states.values()) {
      state.isReplaying = false;
      this.#liveness.adopt(state.outages?.values() ?? []);
      for (const project of state.projects.keys())
        noteKnownVms(state, this.#liveness.lastOf(project));
    }
    this.#isKnown = true;
  }
}
