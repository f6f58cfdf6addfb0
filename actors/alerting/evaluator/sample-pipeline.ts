/**
 * The sample pipeline of this node, assembled in one place: one reader of the log, history first,
 * then the evaluator. It is soft as a whole: when any of it fails, all of it starts again from the
 * log's first sequence, and what had been stored or decided before is recognised.
 *
 *     SAMPLES -> decode -> history.append -> fold -> edges -> commits
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Stream } from '../../../streams/platform/stream.ts';
import type { PlacedEntry } from '../../../streams/telemetry/decode-entries.ts';
import type { LivenessReport } from '../../../streams/telemetry/entry.ts';
import type { SampleBatch } from '../../../streams/telemetry/samples/batch.ts';
import type { LatestRow } from '../../../streams/telemetry/samples/columns.ts';
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

/** What the pipeline needs of history. */
export interface HistoryWriter {
  append(batch: SampleBatch, position: { partition: number; sequence: number }): void;
  /** Notes an entry without samples, so that the floor can pass it. */
  pass(position: { partition: number; sequence: number }): void;
  /** Sequence from which a restart needs the partition's log. */
  floor(partition: number): number;
  /** Newest row of a VM within retention. */
  newest?(project: string, vm: string): LatestRow | undefined;
}

export interface SamplePipelineDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
  readonly history: HistoryWriter;
  /** Rows that history had no room for; see `recoverRows`. Absent: it always has room. */
  readonly recovery?: RowRecovery;
  /** See `EvaluatorDeps`. */
  readonly clockAhead?: EvaluatorDeps['clockAhead'] & {};
  /** See `EvaluatorDeps.onFault`. */
  readonly onFault?: (what: string, error: unknown) => void;
}

export class SamplePipeline implements EvaluatorView {
  readonly #deps: SamplePipelineDeps;
  readonly #partitions = new Set<number>();
  #evaluator: Evaluator | undefined;
  #caughtUpAt = Number.POSITIVE_INFINITY;

  constructor(deps: SamplePipelineDeps) {
    this.#deps = deps;
  }

  /** Runs until `signal`; rejects on a fault, after which it may be run again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, stream, history, recovery } = this.#deps;
    const state = await stream.state(SAMPLES_STREAM);
    this.#caughtUpAt = state.lastSequence;
    const log = new SampleLogReader(clock);
    const newest = (project: string, vm: string) => history.newest?.(project, vm);
    const store = (placed: PlacedEntry) => this.#store(history, placed);
    const evaluator = new Evaluator({ ...this.#deps, log, newest, store });
    this.#evaluator = evaluator;
    await evaluator.rebuild();
    // Aborted meanwhile: a listener that is added now would never hear of it.
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

  /** See `Evaluator.livenessReport`. */
  livenessReport(partition: number, atMs: number): LivenessReport | undefined {
    return this.#evaluator?.livenessReport(partition, atMs);
  }

  /** Position in SAMPLES up to which everything has been evaluated. */
  throughSequence(): number {
    return this.#evaluator?.throughSequence() ?? 0;
  }

  /** True when everything that was in the log at the last start has been evaluated. */
  isCaughtUp(): boolean {
    return this.#evaluator !== undefined && this.throughSequence() >= this.#caughtUpAt;
  }

  /** Partitions with an entry in the log since the start. */
  partitions(): ReadonlySet<number> {
    return this.#partitions;
  }

  #store(history: HistoryWriter, { entry, partition, sequence }: PlacedEntry): void {
    this.#partitions.add(partition);
    // Older entries are in chunks on disk: only the evaluator reads them again.
    if (sequence < history.floor(partition)) return;
    if (entry.kind === 'batch') history.append(entry.batch, { partition, sequence });
    else history.pass({ partition, sequence });
  }
}
