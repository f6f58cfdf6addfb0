/**
 * What a rule would have done on one VM: its stored samples through the same fold as live ones, row
 * by row in the order of their times. The rule is taken to have been applied where the window
 * begins, so that it knows what was stored before, as any new rule does (`marker.ts`).
 *
 *     [ caught up: sustainedMs + tolerance | window: evaluated, counted ]
 *                                          ^ the rule's marker
 */

import { type Edge, type EvaluationRule, GAP_TOLERANCE_MS } from '../../telemetry/entry.ts';
import type { VmColumns } from '../../telemetry/samples/columns.ts';
import { rowBatches } from '../../telemetry/samples/row-batches.ts';
import { createState, fold, foldMarker } from './fold.ts';
import type { EvaluationState } from './state.ts';
import { allAtOnce } from './steps.ts';
import { silenceEdgesUnheld } from './telemetry-silence.ts';
import { BOOT_GRACE_MS } from './timeline.ts';

export interface VmPreviewOptions {
  readonly rule: EvaluationRule;
  readonly vm: string;
  /** From `previewFromMs` on to the window's end; of a rule on telemetry from `telemetryFromMs`. */
  readonly columns: VmColumns;
  /** Where the window begins, Unix ms; what was observed then is before it. */
  readonly fromMs: number;
  /** Where it ends, Unix ms: until then time passes without an observation, too. */
  readonly toMs: number;
  /** Called every few hundred rows; what it throws ends the preview. */
  readonly checkpoint: () => void;
}

export interface VmPreview {
  /** Oldest first; those of several series by their starts. */
  readonly firings: readonly PreviewedFiring[];
  /** Observation times in the window at which the metric had a value. */
  readonly evaluatedSamples: number;
  /** Had the metric a value where the window begins, within the gap tolerance, or before it? */
  readonly reachesBack: boolean;
}

/** Times are Unix ms. */
export interface PreviewedFiring {
  /** Canonical label part of the instance, '' = of the VM. */
  readonly labels: string;
  /** First breaching observation of the run. */
  readonly startedMs: number;
  /** The observation that completed the recovery; absent: it still fires at the end. */
  readonly endedMs?: number;
}

const CHECKPOINT_ROWS = 512;

/** Where the samples of a preview must begin: a rate needs the observation before the first. */
export function previewFromMs({ sustainedMs }: EvaluationRule, fromMs: number): number {
  return fromMs - sustainedMs - 2 * GAP_TOLERANCE_MS;
}

/**
 * Where the samples of a preview on telemetry must begin, Unix ms: the last observation before those
 * of any other rule decides, however long ago it was, and whether the VM ran again shortly before.
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

/** Throws what `checkpoint` throws, and nothing else. */
export function previewVm(options: VmPreviewOptions): VmPreview {
  const { rule, vm, columns, fromMs, toMs, checkpoint } = options;
  const state = createState();
  const firings = new Firings();
  const lastOfCatchUp = lastUpTo(columns.timesMs, fromMs);
  let evaluatedSamples = 0;
  let reachesBack = false;
  let row = 0;
  const atMs = fromMs;
  const marker = foldMarker(state, { kind: 'rules', atMs, upserts: [rule], removals: [] });
  const finish = (): void => {
    firings.take(allAtOnce(marker.finish()).edges);
    reachesBack = hasValueSince(state, rule.project, Number.MIN_SAFE_INTEGER);
  };
  if (lastOfCatchUp < 0) finish();
  for (const batch of rowBatches(columns, { project: rule.project, vm })) {
    if (row % CHECKPOINT_ROWS === 0) checkpoint();
    if (row <= lastOfCatchUp) {
      marker.take({ kind: 'batch', batch });
      if (row === lastOfCatchUp) finish();
    } else {
      firings.take(fold(state, { kind: 'batch', batch }).edges);
      if (hasValueSince(state, rule.project, batch.receivedMs)) {
        evaluatedSamples++;
        reachesBack ||= batch.receivedMs <= fromMs + GAP_TOLERANCE_MS;
      }
    }
    row++;
  }
  firings.take(silenceEdgesUnheld(state, toMs));
  return { firings: firings.list(), evaluatedSamples, reachesBack };
}

/** Index of the last time up to `limitMs`; -1 = none. */
function lastUpTo(timesMs: Float64Array, limitMs: number): number {
  return timesMs.findLastIndex((timeMs) => timeMs <= limitMs);
}

/** Has some series of the state's only VM a value of `timeMs` or later? */
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
