/**
 * Previews of alert rules: a rule over the stored history of its VMs, one VM after another. The
 * result lists what the rule would have done, and how many of the expected samples were available.
 * Runs in a query thread, at most 10 s; the thread holds one VM's columns of the rule's metric at a
 * time.
 */

import { recordsOf } from '../../../../actors/platform/host/host-port.ts';
import type { RecordReader } from '../../../../sqlite/platform/control/record-reader.ts';
import { ReadCancelled } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import type { ThreadMethod } from '../../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import {
  type PreviewedFiring,
  previewFromMs,
  previewVm,
  telemetryFromMs,
  unknownPath,
  type VmPreview,
} from '../../../../streams/alerting/evaluation/preview.ts';
import type {
  PathSegment,
  RecomputedPath,
} from '../../../../streams/alerting/evaluation/recompute-path.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { Refusal, type RefusalReason } from '../../../../streams/platform/refusal.ts';
import type { EvaluationRule } from '../../../../streams/telemetry/entry.ts';
import { AGE_METRIC } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { expectedIntervals } from '../../../../streams/telemetry/metrics/coverage.ts';
import { SAMPLING_INTERVAL_MS } from '../../../../streams/telemetry/metrics/derive-columns.ts';
import { seriesNamesOf } from '../../../../streams/telemetry/metrics/query.ts';
import type { Log } from '../../../platform/log.ts';
import {
  PREVIEW_FIRINGS_MAX,
  PREVIEW_INSTANCES_MAX,
  PREVIEW_SAMPLES_MAX,
  PREVIEW_SEGMENTS_MAX,
  PREVIEW_UNKNOWN_NAMES_MAX,
} from '../threads/limits.ts';
import { type QueryThreads, runQuery } from '../threads/query-threads.ts';

/** The checked request; plain data, because it is sent to a thread. Times are Unix ms. */
export interface AlertPreviewRequest {
  readonly rule: EvaluationRule;
  /** The window, (fromMs, toMs]. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Retention bound: nothing older is read. */
  readonly retainedFromMs: number;
  /** true: list `instances`. Default false. */
  readonly withInstances?: boolean;
  /** The series to trace in `trace`; labels are canonical. */
  readonly traced?: { readonly vm: string; readonly labels: string };
}

/**
 * Simulated result of a rule over the window. `queryStatus`: whether all VMs could be read;
 * `historyStatus`: whether their history covers the window. Counts are of samples of the rule's
 * metric.
 */
export interface AlertPreview {
  readonly queryStatus: 'OK' | 'PARTIAL' | 'FAILED';
  readonly historyStatus: 'COMPLETE' | 'PARTIAL' | 'NONE';
  readonly evaluatedSamples: number;
  readonly expectedSamples: number;
  /** VM by VM, oldest first. */
  readonly firings: readonly (PreviewedFiring & { readonly vm: string })[];
  /** True if there were more. */
  readonly truncated: boolean;
  /** VMs whose history could not be read, with the error of the first of them: for the log. */
  readonly unreadable: { readonly vms: number; readonly first?: VmFailure };
  /** VMs without any known value, some by name. */
  readonly unknown: { readonly vms: number; readonly names: readonly string[] };
  /** Instances that would have fired first; `omitted` counts those beyond the limit. */
  readonly instances: { readonly listed: readonly PreviewedInstance[]; readonly omitted: number };
  readonly trace?: RecomputedPath;
}

/** One series of one VM over the window. */
export interface PreviewedInstance {
  readonly vm: string;
  /** Canonical label part; '' = the VM itself. */
  readonly labels: string;
  /** Number of times it would have fired. */
  readonly firings: number;
  /** The newest segments, without a gap between them. */
  readonly segments: readonly PathSegment[];
  /** True if there were older ones. */
  readonly truncated: boolean;
}

interface VmFailure {
  readonly vm: string;
  readonly message: string;
}

type PreviewedHistory = Pick<HistoryView, 'read' | 'newestTime'>;

/** A VM of the project, according to its record. */
export interface PreviewedVm {
  readonly id: string;
  /** Time of its first row, Unix ms. */
  readonly registeredMs: number;
  /** When it was retired, Unix ms. */
  readonly retiredMs?: number;
  /** Time at which it was last retired, Unix ms; earlier observations are of the previous VM. */
  readonly generationMs?: number;
}

/**
 * Throws a `Refusal` TOO_MANY_POINTS before anything is read, and `ReadCancelled` if `isCancelled`
 * returns true. A VM that cannot be read is part of the result.
 *
 * @param known all VMs of the project
 */
export function previewAlert(
  history: PreviewedHistory,
  { known, ...request }: AlertPreviewRequest & { readonly known: readonly PreviewedVm[] },
  isCancelled: () => boolean,
): AlertPreview {
  const chosen = request.rule.vms && new Set(request.rule.vms);
  const vms = known.filter(
    ({ id, retiredMs = Number.POSITIVE_INFINITY }) =>
      retiredMs > request.fromMs && (chosen === undefined || chosen.has(id)),
  );
  checkSize(vms.length, request);
  const sum = new Sum(vms.length, request.withInstances === true);
  for (const vm of vms) {
    if (isCancelled()) throw new ReadCancelled();
    const isTraced = request.traced?.vm === vm.id;
    const withPaths = isTraced || request.withInstances === true;
    const life = { ...lifeOf(request, vm), withPaths };
    const part = previewOne(history, life, vm, isCancelled);
    sum.add(vm.id, part);
    if (isTraced && part.paths) {
      sum.trace = part.paths.get(request.traced?.labels ?? '') ?? unknownPath(life);
    }
  }
  return sum.answer();
}

function checkSize(vms: number, { fromMs, toMs }: AlertPreviewRequest): void {
  const perVm = Math.round((toMs - fromMs) / SAMPLING_INTERVAL_MS);
  const samples = vms * perVm;
  if (samples <= PREVIEW_SAMPLES_MAX) return;
  const seconds = Math.round((toMs - fromMs) / 1000);
  const secondsMax = Math.floor(PREVIEW_SAMPLES_MAX / vms) * (SAMPLING_INTERVAL_MS / 1000);
  const vmsMax = Math.floor(PREVIEW_SAMPLES_MAX / perVm);
  const message =
    `${vms} VMs have ${samples} samples in ${seconds} seconds; at most ${PREVIEW_SAMPLES_MAX} ` +
    `can be previewed. Choose a history of at most ${secondsMax} seconds ` +
    `(${Math.floor(secondsMax / 3600)} hours) for these VMs, or at most ${vmsMax} VMs for this history`;
  throw new Refusal('TOO_MANY_POINTS', message, {
    points: String(samples),
    limit: String(PREVIEW_SAMPLES_MAX),
    historySecondsMax: String(secondsMax),
    vmsMax: String(vmsMax),
  });
}

/** Range in which the VM existed: after its previous retirement and until its own. */
function lifeOf(
  request: AlertPreviewRequest,
  { retiredMs, generationMs }: PreviewedVm,
): AlertPreviewRequest {
  if (retiredMs !== undefined) return { ...request, toMs: Math.min(request.toMs, retiredMs) };
  const bornMs = (generationMs ?? Number.NEGATIVE_INFINITY) + 1;
  return { ...request, retainedFromMs: Math.max(request.retainedFromMs, bornMs) };
}

type Part = { readonly expectedSamples: number } & (
  | (Omit<VmPreview, 'evaluated'> & { readonly evaluatedSamples: number })
  | { readonly failure: string; readonly firings?: never; readonly paths?: never }
);

function previewOne(
  history: PreviewedHistory,
  request: AlertPreviewRequest & { readonly withPaths: boolean },
  { id: vm, registeredMs, retiredMs }: PreviewedVm,
  isCancelled: () => boolean,
): Part {
  const { rule, fromMs, toMs, withPaths } = request;
  const names = seriesNamesOf(rule.metricId);
  let columns: ReturnType<HistoryView['read']>;
  try {
    const read = {
      project: rule.project,
      vm,
      fromMs: readFromMs(history, request, vm),
      toMs,
      names,
    };
    columns = history.read(read, isCancelled);
  } catch (error) {
    if (error instanceof ReadCancelled) throw error;
    const failure = error instanceof Error ? error.message : String(error);
    const expectedSamples = expectedIntervals({ fromMs, toMs, knownMs: registeredMs });
    return { failure, expectedSamples };
  }
  const checkpoint = (): void => {
    if (isCancelled()) throw new ReadCancelled();
  };
  const preview = previewVm({ rule, vm, columns, fromMs, toMs, checkpoint, withPaths });
  // Buffered rows may be older than the VM's registration.
  const knownMs = Math.min(registeredMs, columns.timesMs[0] ?? registeredMs);
  // A VM's alerts end with the VM.
  const firings =
    toMs === retiredMs
      ? preview.firings.map((one) => ({ endedMs: toMs, ...one }))
      : preview.firings;
  const expectedSamples = expectedIntervals({ fromMs, toMs, knownMs });
  const { evaluated, ...found } = preview;
  return {
    ...found,
    firings,
    expectedSamples,
    evaluatedSamples: evaluated.within(expectedSamples),
  };
}

/** Time of the first sample that can affect the window, Unix ms. */
export function readFromMs(
  history: Pick<HistoryView, 'newestTime'>,
  { rule, fromMs, retainedFromMs }: Pick<AlertPreviewRequest, 'rule' | 'fromMs' | 'retainedFromMs'>,
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

/** Sum of the parts. */
class Sum {
  readonly #vms: number;
  readonly #firings: (PreviewedFiring & { vm: string })[] = [];
  #evaluated = 0;
  #expected = 0;
  #reachingBack = 0;
  #unreadable = 0;
  #first: VmFailure | undefined;
  #truncated = false;
  #unknown = 0;
  readonly #unknownNames: string[] = [];
  readonly #instances: PreviewedInstances | undefined;
  trace: RecomputedPath | undefined;

  /** @param vms number of VMs to add */
  constructor(vms: number, withInstances: boolean) {
    this.#vms = vms;
    this.#instances = withInstances ? new PreviewedInstances() : undefined;
  }

  add(vm: string, part: Part): void {
    this.#expected += part.expectedSamples;
    if ('failure' in part) {
      this.#unreadable++;
      this.#first ??= { vm, message: part.failure };
      this.#addUnknown(vm);
      return;
    }
    this.#evaluated += part.evaluatedSamples;
    // For silence conditions, missing samples are not unknown: silence is the value.
    if (part.evaluatedSamples === 0 && part.firings.length === 0) this.#addUnknown(vm);
    this.#instances?.add(vm, part);
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
      unknown: { vms: this.#unknown, names: this.#unknownNames },
      instances: this.#instances?.answer() ?? { listed: [], omitted: 0 },
      ...(this.trace && { trace: this.trace }),
    };
  }

  #addUnknown(vm: string): void {
    this.#unknown++;
    if (this.#unknownNames.length < PREVIEW_UNKNOWN_NAMES_MAX) this.#unknownNames.push(vm);
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

/**
 * Instances with their paths, up to the limit of a response; those that would have fired precede
 * the others.
 */
class PreviewedInstances {
  readonly #fired: PreviewedInstance[] = [];
  readonly #quiet: PreviewedInstance[] = [];
  #count = 0;

  add(vm: string, { paths, firings }: Pick<VmPreview, 'paths' | 'firings'>): void {
    for (const [labels, { segments }] of paths) {
      this.#count++;
      const times = firings.filter((one) => one.labels === labels).length;
      const ofKind = times > 0 ? this.#fired : this.#quiet;
      if (ofKind.length >= PREVIEW_INSTANCES_MAX) continue;
      const truncated = segments.length > PREVIEW_SEGMENTS_MAX;
      const newest = segments.slice(-PREVIEW_SEGMENTS_MAX);
      ofKind.push({ vm, labels, firings: times, segments: newest, truncated });
    }
  }

  answer(): AlertPreview['instances'] {
    const listed = [...this.#fired, ...this.#quiet].slice(0, PREVIEW_INSTANCES_MAX);
    return { listed, omitted: this.#count - listed.length };
  }
}

/** Result of a thread: refusals are values, because exceptions do not carry them across threads. */
export type PreviewReply =
  | { readonly kind: 'preview'; readonly preview: AlertPreview }
  | {
      readonly kind: 'refused';
      readonly reason: RefusalReason;
      readonly message: string;
      readonly metadata: Readonly<Record<string, string>>;
    };

/** The methods of a query thread, by name. */
export const previewMethods = (
  history: HistoryView,
  records: RecordReader,
): Readonly<Record<string, ThreadMethod>> => ({
  alertPreview: (request: AlertPreviewRequest, isCancelled) => {
    const known = recordsOf(records, request.rule.project, 'vm').map(({ id, body }) => {
      const { registeredMs, retiredMs, generationMs } = body;
      return {
        id,
        registeredMs,
        ...(retiredMs !== undefined && { retiredMs }),
        ...(generationMs !== undefined && { generationMs }),
      };
    });
    return { result: replyOf(() => previewAlert(history, { ...request, known }, isCancelled)) };
  },
});

function replyOf(make: () => AlertPreview): PreviewReply {
  try {
    return { kind: 'preview', preview: make() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { reason, message, metadata } = error;
    return { kind: 'refused', reason, message, metadata };
  }
}

/** Previews as the main thread calls them: one query thread each, at most 10 s (LIMIT-03). */
export interface AlertPreviews {
  /**
   * Throws a `Refusal` (TOO_MANY_POINTS, RESPONSE_TOO_LARGE, QUERY_TIMEOUT), a
   * `HistoryError`, or the reason of `signal`.
   */
  preview(request: AlertPreviewRequest, signal: AbortSignal): Promise<AlertPreview>;
}

export interface AlertPreviewsDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts VMs whose history could not be read. */
  readonly failures: { inc(count?: number): void };
}

/**
 * Wraps the query threads. VMs that cannot be read are counted and logged here, and are part of the
 * result.
 */
export function createAlertPreviews(deps: AlertPreviewsDeps): AlertPreviews {
  const { threads, clock, log, failures } = deps;
  return {
    async preview(request, signal) {
      const { project } = request.rule;
      const reply = await runQuery(
        { threads, clock },
        { project, method: 'alertPreview', argument: request, signal },
      );
      // The threads run this program's file, whose method returns this type.
      const answer = reply as PreviewReply;
      if (answer.kind === 'refused') {
        throw new Refusal(answer.reason, answer.message, answer.metadata);
      }
      const { unreadable } = answer.preview;
      if (unreadable.vms > 0) {
        failures.inc(unreadable.vms);
        log.error(unreadable, 'The history of some VMs could not be read for a preview');
      }
      return answer.preview;
    },
  };
}
