/**
 * A rule over the stored history of its VMs, one VM after another: what it would have done, and how
 * much of what would have been sampled was there to judge it by. Runs in a query thread; what the
 * thread holds at any moment is one VM's columns of the rule's metric.
 */

import { ReadCancelled } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import {
  type PreviewedFiring,
  previewFromMs,
  previewVm,
  telemetryFromMs,
  type VmPreview,
} from '../../../../streams/alerting/evaluation/preview.ts';
import { Refusal } from '../../../../streams/platform/refusal.ts';
import type { EvaluationRule } from '../../../../streams/telemetry/entry.ts';
import { AGE_METRIC } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { SAMPLING_INTERVAL_MS } from '../../../../streams/telemetry/metrics/derive-columns.ts';
import { seriesNamesOf } from '../../../../streams/telemetry/metrics/query.ts';
import { PREVIEW_FIRINGS_MAX, PREVIEW_SAMPLES_MAX } from '../limits.ts';

/** What is asked, checked; plain data, because it goes to a thread. Times are Unix ms. */
export interface AlertPreviewCall {
  readonly rule: EvaluationRule;
  /** The window, (fromMs, toMs]. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Nothing older is read. */
  readonly retainedFromMs: number;
}

export interface AlertPreview {
  readonly queryStatus: 'OK' | 'PARTIAL' | 'FAILED';
  readonly historyStatus: 'COMPLETE' | 'PARTIAL' | 'NONE';
  readonly evaluatedSamples: number;
  readonly expectedSamples: number;
  /** VM by VM, oldest first. */
  readonly firings: readonly (PreviewedFiring & { readonly vm: string })[];
  /** There were more. */
  readonly truncated: boolean;
  /** VMs whose history could not be read, and why the first of them: for the log. */
  readonly unreadable: { readonly vms: number; readonly first?: VmFailure };
}

interface VmFailure {
  readonly vm: string;
  readonly message: string;
}

type PreviewedHistory = Pick<HistoryView, 'read' | 'newestTime'>;

/** A VM of the project, as its record says. */
export interface PreviewedVm {
  readonly id: string;
  /** When its first row came, Unix ms. */
  readonly registeredMs: number;
  /** When it was retired, Unix ms: it is no more. */
  readonly retiredMs?: number;
  /** When it was last retired, Unix ms; what was observed until then is of the VM before. */
  readonly generationMs?: number;
}

/**
 * Throws a `Refusal` TOO_MANY_POINTS before anything is read, and `ReadCancelled` when
 * `isCancelled` answers true; a VM that cannot be read is part of the answer.
 *
 * @param known all VMs of the project
 */
export function previewAlert(
  history: PreviewedHistory,
  { known, ...call }: AlertPreviewCall & { readonly known: readonly PreviewedVm[] },
  isCancelled: () => boolean,
): AlertPreview {
  const chosen = call.rule.vms && new Set(call.rule.vms);
  const vms = known.filter(
    ({ id, retiredMs = Number.POSITIVE_INFINITY }) =>
      retiredMs > call.fromMs && (chosen === undefined || chosen.has(id)),
  );
  checkSize(vms.length, call);
  const sum = new Sum(vms.length);
  for (const vm of vms) {
    if (isCancelled()) throw new ReadCancelled();
    sum.add(vm.id, previewOne(history, lifeOf(call, vm), vm, isCancelled));
  }
  return sum.answer();
}

function checkSize(vms: number, { fromMs, toMs }: AlertPreviewCall): void {
  const samples = vms * Math.round((toMs - fromMs) / SAMPLING_INTERVAL_MS);
  if (samples <= PREVIEW_SAMPLES_MAX) return;
  const seconds = Math.round((toMs - fromMs) / 1000);
  const message = `${vms} VMs have ${samples} samples in ${seconds} seconds; ${PREVIEW_SAMPLES_MAX} at most: preview a shorter history, or fewer VMs`;
  const limit = String(PREVIEW_SAMPLES_MAX);
  throw new Refusal('TOO_MANY_POINTS', message, { points: String(samples), limit });
}

/** As far as the VM was there: nothing from before it came back, nothing from after it went. */
function lifeOf(
  call: AlertPreviewCall,
  { retiredMs, generationMs }: PreviewedVm,
): AlertPreviewCall {
  if (retiredMs !== undefined) return { ...call, toMs: Math.min(call.toMs, retiredMs) };
  const bornMs = (generationMs ?? Number.NEGATIVE_INFINITY) + 1;
  return { ...call, retainedFromMs: Math.max(call.retainedFromMs, bornMs) };
}

type Part = { readonly expectedSamples: number } & (
  | VmPreview
  | { readonly failure: string; readonly firings?: never }
);

function previewOne(
  history: PreviewedHistory,
  call: AlertPreviewCall,
  { id: vm, registeredMs, retiredMs }: PreviewedVm,
  isCancelled: () => boolean,
): Part {
  const { rule, fromMs, toMs } = call;
  const names = seriesNamesOf(rule.metricId);
  const expectedSince = (knownMs: number) =>
    Math.max(0, Math.round((toMs - Math.max(fromMs, knownMs)) / SAMPLING_INTERVAL_MS));
  let columns: ReturnType<HistoryView['read']>;
  try {
    const request = {
      project: rule.project,
      vm,
      fromMs: readFromMs(history, call, vm),
      toMs,
      names,
    };
    columns = history.read(request, isCancelled);
  } catch (error) {
    if (error instanceof ReadCancelled) throw error;
    const failure = error instanceof Error ? error.message : String(error);
    return { failure, expectedSamples: expectedSince(registeredMs) };
  }
  const checkpoint = (): void => {
    if (isCancelled()) throw new ReadCancelled();
  };
  const preview = previewVm({ rule, vm, columns, fromMs, toMs, checkpoint });
  // Rows that had been buffered are older than the VM's registration.
  const knownMs = Math.min(registeredMs, columns.timesMs[0] ?? registeredMs);
  // With the VM end its alerts.
  const firings =
    toMs === retiredMs
      ? preview.firings.map((one) => ({ endedMs: toMs, ...one }))
      : preview.firings;
  return { ...preview, firings, expectedSamples: expectedSince(knownMs) };
}

function readFromMs(
  history: PreviewedHistory,
  { rule, fromMs, retainedFromMs }: AlertPreviewCall,
  vm: string,
): number {
  const sampledFromMs = Math.max(previewFromMs(rule, fromMs), retainedFromMs);
  const { project } = rule;
  if (rule.metricId !== AGE_METRIC) return sampledFromMs;
  const request = { project, vm, notBeforeMs: retainedFromMs };
  const neededMs = telemetryFromMs(sampledFromMs, (atMs) =>
    history.newestTime({ ...request, atMs }),
  );
  return Math.max(retainedFromMs, neededMs);
}

/** The parts added up. */
class Sum {
  readonly #vms: number;
  readonly #firings: (PreviewedFiring & { vm: string })[] = [];
  #evaluated = 0;
  #expected = 0;
  #reachingBack = 0;
  #unreadable = 0;
  #first: VmFailure | undefined;
  #truncated = false;

  /** @param vms how many there will be */
  constructor(vms: number) {
    this.#vms = vms;
  }

  add(vm: string, part: Part): void {
    this.#expected += part.expectedSamples;
    if ('failure' in part) {
      this.#unreadable++;
      this.#first ??= { vm, message: part.failure };
      return;
    }
    this.#evaluated += part.evaluatedSamples;
    if (part.reachesBack) this.#reachingBack++;
    const room = PREVIEW_FIRINGS_MAX - this.#firings.length;
    if (part.firings.length > room) this.#truncated = true;
    for (const firing of part.firings.slice(0, room)) this.#firings.push({ ...firing, vm });
  }

  answer(): AlertPreview {
    return {
      queryStatus: this.#queryStatus(),
      historyStatus: this.#historyStatus(),
      evaluatedSamples: this.#evaluated,
      expectedSamples: this.#expected,
      firings: this.#firings,
      truncated: this.#truncated,
      unreadable: { vms: this.#unreadable, ...(this.#first && { first: this.#first }) },
    };
  }

  #queryStatus(): AlertPreview['queryStatus'] {
    if (this.#unreadable === 0) return 'OK';
    return this.#unreadable < this.#vms ? 'PARTIAL' : 'FAILED';
  }

  #historyStatus(): AlertPreview['historyStatus'] {
    if (this.#evaluated === 0) return 'NONE';
    return this.#reachingBack === this.#vms ? 'COMPLETE' : 'PARTIAL';
  }
}
