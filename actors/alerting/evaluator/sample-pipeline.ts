/**
 * Live evaluation of this node's partitions, from the log to commits: one reader of the log, then
 * history, then the evaluator, then the sink. All of it is soft state: if any part fails, everything
 * starts again from the log's first sequence, and whatever was stored or decided before is recognised
 * and skipped.
 *
 *     SAMPLES -> decode -> history.append -> fold -> edges -> commits
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Ownership } from '../../../streams/platform/membership/membership.ts';
import type { Stream } from '../../../streams/platform/stream.ts';
import type { LivenessReport } from '../../../streams/telemetry/entry.ts';
import type { PlacedEntry } from '../../../streams/telemetry/entry-codec.ts';
import type { SampleBatch } from '../../../streams/telemetry/samples/batch.ts';
import type { LatestRow } from '../../../streams/telemetry/samples/columns.ts';
import { AppliedPosition } from '../../platform/host/applier.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { type RowRecovery, recoverRows } from '../../telemetry/row-recovery.ts';
import { SAMPLES_STREAM, SampleLogReader } from '../../telemetry/sample-log.ts';
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
}

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

  constructor(deps: SamplePipelineDeps) {
    this.#deps = deps;
  }

  /** Runs until `signal`. Rejects on a fault, after which it may be run again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, stream, history, recovery } = this.#deps;
    const state = await stream.state(SAMPLES_STREAM);
    this.#caughtUpAt = state.lastSequence;
    const log = new SampleLogReader(clock);
    const newest = (project: string, vm: string) => history.newest?.(project, vm);
    const store = (placed: PlacedEntry) => this.#store(history, placed);
    const evaluator = new Evaluator({ ...this.#deps, log, newest, store });
    this.#rebasedBefore = this.rebased();
    this.#evaluator = evaluator;
    await evaluator.rebuild();
    // Aborted meanwhile: a listener added now would never be called.
    if (signal.aborted) return;
    const ending = new AbortController();
    const end = (): void => ending.abort();
    signal.addEventListener('abort', end, { once: true });
    const evaluating = evaluator.run(ending.signal);
    const recovering = recovery && recoverRows({ clock, stream, recovery }, ending.signal);
    try {
      const reading = log.run(stream, state.firstSequence, ending.signal);
      await Promise.race([evaluating, reading, ...(recovering ? [recovering] : [])]);
    } finally {
      end();
      signal.removeEventListener('abort', end);
      await evaluating.catch(() => {});
      await recovering?.catch(() => {});
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

  /** Times that were re-based after the clock was set back, since the start. */
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
   * Position in SAMPLES up to which everything of the partition has been evaluated. One without an
   * entry has the reader's position.
   */
  throughOf(_partition: number): number {
    return this.throughSequence();
  }

  /** Position in SAMPLES from which the evaluator still needs the log of the partition. */
  floorOf(partition: number): number {
    return this.throughOf(partition) + 1;
  }

  /** True if everything that was in the log at the last start has been evaluated. */
  isCaughtUp(): boolean {
    return this.#evaluator !== undefined && this.throughSequence() >= this.#caughtUpAt;
  }

  /** Partitions with an entry in the log since the start. */
  partitions(): ReadonlySet<number> {
    return this.#partitions;
  }

  #store(history: HistoryWriter, { entry, partition, sequence }: PlacedEntry): void {
    this.#partitions.add(partition);
    // Older entries are in chunks on disk. Only the evaluator reads them again.
    if (sequence >= history.floor(partition)) {
      if (entry.kind === 'batch') history.append(entry.batch, { partition, sequence });
      else history.pass({ partition, sequence });
    }
    // A new run reads entries that an earlier one has stored.
    if (sequence > this.stored.sequence) this.stored.advance(sequence);
  }
}
