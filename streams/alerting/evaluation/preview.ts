/**
 * Preview of a rule on one VM: its stored samples through the evaluation pipeline. The rule counts
 * as applied at the start of the window, so that it knows the samples stored before, like any new
 * rule.
 *
 *     [ caught up: sustainedMs + tolerance | window: evaluated, counted ]
 *                                          ^ the rule's marker
 */

import { type Edge, type EvaluationRule, GAP_TOLERANCE_MS } from '../../telemetry/entry.ts';
import { ObservedIntervals } from '../../telemetry/metrics/coverage.ts';
import type { Instance } from './instance.ts';
import type { EvaluatedEntry } from './pipeline.ts';
import { PathRecorder, type RecomputedPath } from './recompute-path.ts';
import type { EvaluationState } from './state.ts';
import { evaluateStored, type StoredSamples } from './stored-samples.ts';
import { BOOT_GRACE_MS } from './timeline.ts';

/**
 * `columns` from `previewFromMs` on to the end of the window; for a rule on the age of telemetry,
 * from `telemetryFromMs`.
 */
export interface VmPreviewOptions extends StoredSamples {
  /** Start of the window, Unix ms; rows of exactly that time are before it. */
  readonly fromMs: number;
  /** End of the window, Unix ms. Time passes until then even without an observation. */
  readonly toMs: number;
  /** true: the path of each instance is recorded too. Default false. */
  readonly withPaths?: boolean;
}

/** Result of the rule on one VM, and the amount of data behind it. */
export interface VmPreview {
  /** Oldest first; those of several series by start. */
  readonly firings: readonly PreviewedFiring[];
  /** Number of sampling intervals in the window in which the metric had a value. */
  readonly evaluated: ObservedIntervals;
  /** True if the metric had a value before the window, or within the gap tolerance of its start. */
  readonly reachesBack: boolean;
  /** By the label part of the instance; empty without `withPaths`. */
  readonly paths: ReadonlyMap<string, RecomputedPath>;
}

/** Times are Unix ms. */
export interface PreviewedFiring {
  /** Canonical label part of the instance; '' for the VM itself. */
  readonly labels: string;
  /** First breaching observation of the run. */
  readonly startedMs: number;
  /** The observation that completed the recovery. Absent: it still fires at the end. */
  readonly endedMs?: number;
}

/** Start of the samples for a preview. A rate needs the observation before the first. */
export function previewFromMs({ sustainedMs }: EvaluationRule, fromMs: number): number {
  return fromMs - sustainedMs - 2 * GAP_TOLERANCE_MS;
}

/**
 * Required start of the samples of a preview on telemetry, Unix ms. The last observation before
 * those of any other rule decides, however old it is, and whether the VM ran again shortly before.
 *
 * @param newestTime the VM's newest observation up to a time, Unix ms; undefined = none
 */
export function telemetryFromMs(
  sampledFromMs: number,
  newestTime: (atMs: number) => number | undefined,
): number {
  const lastMs = newestTime(sampledFromMs);
  if (lastMs === undefined) return sampledFromMs;
  const ranFromMs = lastMs - BOOT_GRACE_MS;
  return (newestTime(ranFromMs) ?? ranFromMs) - GAP_TOLERANCE_MS;
}

/** Throws only the errors of `checkpoint`. */
export function previewVm(options: VmPreviewOptions): VmPreview {
  const { rule, columns, fromMs, toMs } = options;
  const firings = new Firings();
  const paths = options.withPaths ? new Paths(options) : undefined;
  const evaluated = new ObservedIntervals();
  let reachesBack = false;
  const firstRow = columns.timesMs.findLastIndex((timeMs) => timeMs <= fromMs) + 1;
  const log = { markerMs: fromMs, firstRow, untilMs: toMs };
  evaluateStored(options, log, ({ entry, state, edges }) => {
    firings.take(edges);
    paths?.take({ state, edges });
    if (entry.kind === 'rules') {
      reachesBack = hasValueSince(state, rule.project, Number.MIN_SAFE_INTEGER);
    }
    if (entry.kind !== 'batch') return;
    const { receivedMs } = entry.batch;
    if (!hasValueSince(state, rule.project, receivedMs)) return;
    evaluated.add(receivedMs);
    reachesBack ||= receivedMs <= fromMs + GAP_TOLERANCE_MS;
  });
  const recorded = paths?.end() ?? new Map<string, RecomputedPath>();
  return { firings: firings.list(), evaluated, reachesBack, paths: recorded };
}

/** The path of an instance without samples in the window, of which nothing is known. */
export function unknownPath(window: Pick<VmPreviewOptions, 'fromMs' | 'toMs'>): RecomputedPath {
  return new PathRecorder(window).end(undefined);
}

/** True if a series of the state's only VM has a value of `timeMs` or later. */
function hasValueSince({ projects }: EvaluationState, project: string, timeMs: number): boolean {
  for (const { buffers } of projects.get(project)?.vms.values() ?? []) {
    for (const { newestValueMs } of buffers.values()) if (newestValueMs >= timeMs) return true;
  }
  return false;
}

/** Firings of one VM, from its edges. */
class Firings {
  readonly #all: { labels: string; startedMs: number; endedMs?: number }[] = [];

  take(edges: readonly Edge[]): void {
    for (const edge of edges) {
      const { labels } = edge.key;
      if (edge.kind === 'fired') this.#all.push({ labels, startedMs: edge.startedMs });
      if (edge.kind !== 'recovered' || edge.observedMs === undefined) continue;
      const open = this.#all.findLast((one) => one.labels === labels);
      if (open) open.endedMs = edge.observedMs;
    }
  }

  list(): PreviewedFiring[] {
    return this.#all.toSorted((a, b) => a.startedMs - b.startedMs);
  }
}

/** Paths of every instance of one VM, recorded beside its firings, in the same fold. */
class Paths {
  readonly #options: VmPreviewOptions;
  readonly #recorders = new Map<string, PathRecorder>();
  #state: EvaluationState | undefined;

  constructor(options: VmPreviewOptions) {
    this.#options = options;
  }

  take({ state, edges }: Pick<EvaluatedEntry, 'state' | 'edges'>): void {
    this.#state = state;
    for (const edge of edges) this.#recorderOf(edge.key.labels).takeEdge(edge);
    for (const [labels, instance] of this.#instances()) this.#recorderOf(labels).observe(instance);
  }

  end(): ReadonlyMap<string, RecomputedPath> {
    const last = new Map(this.#instances());
    return new Map(
      [...this.#recorders].map(([labels, recorder]) => [labels, recorder.end(last.get(labels))]),
    );
  }

  /** As of the last entry. */
  *#instances(): Generator<[labels: string, instance: Instance]> {
    const { rule, vm } = this.#options;
    const watched = this.#state?.projects.get(rule.project)?.vms.get(vm);
    for (const { labels, instances } of watched?.buffers.values() ?? []) {
      const [instance] = instances;
      if (instance) yield [labels, instance];
    }
  }

  #recorderOf(labels: string): PathRecorder {
    let recorder = this.#recorders.get(labels);
    if (!recorder) {
      recorder = new PathRecorder(this.#options);
      this.#recorders.set(labels, recorder);
    }
    return recorder;
  }
}
