/**
 * Live evaluation of this node's partitions, from the log to commits: one reader of the log, then
 * history, then the evaluator, then the sink. All of it is soft state: what fails starts again from
 * checkpoints and the log, and whatever was stored or decided before is recognised and skipped. A
 * fault in the evaluation of a partition rebuilds that partition, and any other fault everything.
 *
 *     SAMPLES -> decode -> history.append -> fold -> edges -> commits
 *
 * After a start evaluation continues from its checkpoints, which are newer than what history has on
 * disk. A second reader then fills history up to the position of the first, while edges are
 * decided. Until history is filled, reads of it fail as incomplete.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Ownership } from '../../../streams/platform/membership/membership.ts';
import { TimeSlices } from '../../../streams/platform/operators.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { partitionOf, type Stream, type StreamState } from '../../../streams/platform/stream.ts';
import { type LivenessReport, observationRange } from '../../../streams/telemetry/entry.ts';
import type { PlacedEntry } from '../../../streams/telemetry/entry-codec.ts';
import type { SampleBatch } from '../../../streams/telemetry/samples/batch.ts';
import type { LatestRow } from '../../../streams/telemetry/samples/columns.ts';
import { AppliedPosition } from '../../platform/host/applier.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { type RowRecovery, recoverRows } from '../../telemetry/row-recovery.ts';
import { pastEntries, SAMPLES_STREAM, SampleLogReader } from '../../telemetry/sample-log.ts';
import type { Checkpoints } from './checkpoints.ts';
import { Evaluator, type EvaluatorDeps } from './evaluator.ts';
import {
  type EvaluatorView,
  type InspectedInstance,
  type InstancePage,
  type InstanceQuota,
  NO_INSTANCES,
  type SeriesOfRule,
  type SoftInstance,
} from './evaluator-port.ts';
import type { PartitionApart } from './partition-rebuilds.ts';
import type { PastHistory } from './past-readings.ts';

/** The interface to history that the pipeline needs. */
export interface HistoryWriter extends Partial<PastHistory> {
  append(batch: SampleBatch, position: { partition: number; sequence: number }): void;
  /** Records an entry without samples, so that the floor can pass it. */
  pass(position: { partition: number; sequence: number }): void;
  /** Sequence from which a restart needs the partition's log. */
  floor(partition: number): number;
  /** Newest row of a VM within retention. */
  newest?(project: string, vm: string): LatestRow | undefined;
  /** Sequence below which history needs no entry of any partition; 1: unknown. */
  oldestFloor(): number;
  /** While true, rows of the log are not stored yet, and reads of history fail as incomplete. */
  setFilling(isFilling: boolean): void;
}

/** Interval of the check whether the evaluator has caught up, ms. */
const CAUGHT_UP_MS = 50;

/** The log to read, and the two consumers of its entries: history first, then the evaluator. */
export interface SamplePipelineDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
  readonly history: HistoryWriter;
  readonly ownership: Ownership;
  /** Rows for which history had no space; see `recoverRows`. Absent: it always has space. */
  readonly recovery?: RowRecovery;
  /** See `EvaluatorDeps`. */
  readonly clockAhead?: EvaluatorDeps['clockAhead'] & {};
  /** See `EvaluatorDeps`. */
  readonly onHeard?: EvaluatorDeps['onHeard'] & {};
  /** See `EvaluatorDeps.onFault`. */
  readonly onFault?: (what: string, error: unknown) => void;
  /** See `EvaluatorDeps`. */
  readonly onPartitionFault?: EvaluatorDeps['onPartitionFault'] & {};
  /** Absent: each start reads all of the log. */
  readonly checkpoints?: Checkpoints;
}

/**
 * The reader of the log. It also answers between two runs, while no evaluator exists.
 */
export class SamplePipeline implements EvaluatorView {
  readonly #deps: SamplePipelineDeps;
  readonly #partitions = new Set<number>();
  /** Position in SAMPLES up to which history has stored everything, so that queries find it. */
  readonly stored = new AppliedPosition(0);
  #evaluator: Evaluator | undefined;
  #rebasedBefore = 0;
  #caughtUpAt = Number.POSITIVE_INFINITY;
  /** Last sequence of the log at the first start: history is whole from there on. */
  #wholeAt = Number.POSITIVE_INFINITY;
  /** Last entry that the evaluator's reader has passed on while another reader fills history. */
  #arrivedThrough: number | undefined;

  constructor(deps: SamplePipelineDeps) {
    this.#deps = deps;
  }

  /** Runs until `signal`. Rejects on a fault, after which it may be run again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, stream, history, recovery } = this.#deps;
    const state = await stream.state(SAMPLES_STREAM);
    // An empty log leaves nothing to catch up on, whatever its sequences.
    this.#caughtUpAt = state.messages === 0 ? 0 : state.lastSequence;
    const log = new SampleLogReader(clock);
    const newest = (project: string, vm: string) => history.newest?.(project, vm);
    const store = (placed: PlacedEntry) => this.#arrive(placed);
    const evaluator = new Evaluator({ ...this.#deps, log, newest, store });
    this.#rebasedBefore = this.rebased();
    this.#evaluator = evaluator;
    const fromSequence = this.#storedBefore(state);
    const evaluatedFrom = await evaluator.rebuild();
    // If it was aborted, a listener added now would never be called.
    if (signal.aborted) return;
    const readFrom = Math.max(evaluatedFrom, state.firstSequence);
    this.#arrivedThrough = fromSequence < readFrom ? readFrom - 1 : undefined;
    const ending = new AbortController();
    const end = (): void => ending.abort();
    signal.addEventListener('abort', end, { once: true });
    const evaluating = evaluator.run(ending.signal);
    const working = [evaluating];
    if (recovery) working.push(recoverRows({ clock, stream, recovery }, ending.signal));
    if (this.#arrivedThrough !== undefined) working.push(this.#fill(fromSequence, ending.signal));
    try {
      const reading = log.run(stream, readFrom, ending.signal);
      await Promise.race([...working, reading]);
    } finally {
      end();
      signal.removeEventListener('abort', end);
      await Promise.allSettled(working);
      await evaluator.save();
    }
  }

  instances(project: string, page?: InstancePage): readonly SoftInstance[] {
    return this.#evaluator?.instances(project, page) ?? [];
  }

  instance(series: SeriesOfRule): InspectedInstance | undefined {
    return this.#evaluator?.instance(series);
  }

  quota(project: string): InstanceQuota {
    return this.#evaluator?.quota(project) ?? NO_INSTANCES;
  }

  /** Number of times that were moved after the clock was set back, since the start. */
  rebased(): number {
    return this.#rebasedBefore + (this.#evaluator?.rebased() ?? 0);
  }

  /** See `Evaluator.livenessReport`. */
  livenessReport(partition: number, atMs: number): LivenessReport | undefined {
    return this.#evaluator?.livenessReport(partition, atMs);
  }

  /** Position in SAMPLES up to which everything has been evaluated. */
  throughSequence(): number {
    return this.#evaluator?.throughSequence() ?? 0;
  }

  /**
   * True if everything that was in the log at the last start has been evaluated, except by partitions
   * that are rebuilt apart.
   */
  isCaughtUp(): boolean {
    return (this.#evaluator?.throughTogether() ?? -1) >= this.#caughtUpAt;
  }

  /** True if the project's partition has caught up. */
  isCurrent(project: string): boolean {
    const partition = partitionOf(project);
    return this.isCaughtUp() && !this.apart().some((one) => one.partition === partition);
  }

  /** Partitions that are rebuilt apart from the others. */
  apart(): readonly PartitionApart[] {
    return this.#evaluator?.apart() ?? [];
  }

  /** See `Evaluator.unjudged`. */
  unjudged(): readonly number[] {
    return this.#evaluator?.unjudged() ?? [];
  }

  /** Partitions with an entry in the log since the start. */
  partitions(): ReadonlySet<number> {
    return this.#partitions;
  }

  /** See `Checkpoints.coveredMs`; undefined: there are no checkpoints. */
  checkpointMs(): number | undefined {
    return this.#deps.checkpoints?.coveredMs();
  }

  /** True if history has everything that was in the log at the start of the process. */
  isHistoryWhole(): boolean {
    return this.stored.sequence >= this.#wholeAt;
  }

  /** Position in SAMPLES up to which the partition has been evaluated and decided. */
  throughOf(partition: number): number {
    return this.#evaluator?.throughOf(partition) ?? 0;
  }

  /** First sequence of a partition that a restart would need, of the evaluator or of history. */
  floorOf(partition: number): number {
    const evaluated = this.throughOf(partition) + 1;
    const checkpoint = this.#deps.checkpoints?.floorOf(partition) ?? evaluated;
    // While history is being filled, it has not seen every partition.
    return Math.min(evaluated, checkpoint, this.stored.sequence + 1);
  }

  /**
   * Position at which history continues; called when a run starts. Everything before it is stored.
   */
  #storedBefore({ firstSequence, lastSequence }: StreamState): number {
    const { history } = this.#deps;
    if (this.#wholeAt === Number.POSITIVE_INFINITY) {
      this.#wholeAt = lastSequence;
      const floor = Math.max(history.oldestFloor(), firstSequence);
      this.stored.advance(Math.min(floor - 1, lastSequence));
      history.setFilling(!this.isHistoryWhole());
    }
    return this.stored.sequence + 1;
  }

  /** Takes an entry of the evaluator's reader. */
  #arrive(placed: PlacedEntry): void {
    if (this.#arrivedThrough === undefined) this.#store(placed);
    else this.#arrivedThrough = placed.sequence;
  }

  /**
   * Stores the entries from `sequence` on until it has met the evaluator's reader, which stores the
   * later ones. It begins once the evaluator has caught up: edges are decided first. It ends with
   * the run.
   */
  async #fill(sequence: number, signal: AbortSignal): Promise<void> {
    const { clock, stream } = this.#deps;
    const slices = new TimeSlices(clock);
    while (!this.isCaughtUp() && !signal.aborted) await pause(clock, CAUGHT_UP_MS, signal);
    for (let next = sequence; next <= (this.#arrivedThrough ?? 0) && !signal.aborted; ) {
      const arrived = this.#arrivedThrough ?? 0;
      for await (const placed of pastEntries(stream, { sequence: next })) {
        if (signal.aborted || placed.sequence > (this.#arrivedThrough ?? 0)) break;
        this.#store(placed);
        next = placed.sequence + 1;
        await slices.yieldIfDue();
      }
      // The log had all of these, except truncated ones, which are in chunks.
      next = Math.max(next, arrived + 1);
    }
    // After an abort history has a hole here, which the next run fills.
    if (!signal.aborted) this.#arrivedThrough = undefined;
    await pause(clock, Number.POSITIVE_INFINITY, signal);
  }

  #store({ entry, partition, sequence, storedMs, unreadable }: PlacedEntry): void {
    const { history, recovery } = this.#deps;
    this.#partitions.add(partition);
    // Older entries are in chunks on disk. Only the evaluator reads them again.
    if (sequence >= history.floor(partition)) {
      if (unreadable) recovery?.recordLost(observationRange(storedMs));
      if (entry.kind === 'batch') history.append(entry.batch, { partition, sequence });
      else history.pass({ partition, sequence });
    }
    // A new run reads entries that an earlier one has stored.
    if (sequence <= this.stored.sequence) return;
    const wasWhole = this.isHistoryWhole();
    this.stored.advance(sequence);
    if (!wasWhole && this.isHistoryWhole()) history.setFilling(false);
  }
}
