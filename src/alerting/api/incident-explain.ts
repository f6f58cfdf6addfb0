/**
 * `ExplainIncident`: the samples that decided the incident, as stored when it fired; whether
 * evaluating the stored history again gives the same result; and a summary in words. Read-only.
 */

import type { MessageInitShape } from '@bufbuild/protobuf';
import type { IncidentBody } from '../../../actors/alerting/incident.ts';
import type { ProjectView } from '../../../actors/platform/host/host-port.ts';
import { isBreach, unevaluable } from '../../../streams/alerting/evaluation/timeline.ts';
import { exactQuantity, readingBeside } from '../../../streams/alerting/quantity.ts';
import { duration, OPERATOR_WORDS, utcTime } from '../../../streams/alerting/wording.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import {
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  type ObservedValue,
  type Operator,
} from '../../../streams/telemetry/entry.ts';
import { AGE_METRIC, metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';
import { SAMPLING_INTERVAL_MS } from '../../../streams/telemetry/metrics/derive-columns.ts';
import {
  type ExplainIncidentResponseSchema,
  ExplainIncidentResponse_Recomputation_Status as Status,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import { AlertRuleSpec_Operator } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { enumValue } from '../../platform/api/message-fields.ts';
import type {
  IncidentRecomputations,
  Recomputation,
} from '../../telemetry/query/explain/recompute-incident.ts';

export interface ExplainDeps {
  readonly incidentRecomputations: IncidentRecomputations;
  readonly clock: Clock;
  /** Age up to which history is read, ms. */
  readonly retentionMs: number;
}

type Explanation = Omit<MessageInitShape<typeof ExplainIncidentResponseSchema>, '$typeName'>;

/** Maximum silent VMs of a data center that are evaluated again. */
const HELD_MAX = 100;
/** Samples have jitter, so only a distance well over an interval is a gap. */
const GAP_MS = 1.5 * SAMPLING_INTERVAL_MS;
/**
 * A window of at least this many samples may be thinned (streams/alerting/evaluation/window.ts).
 */
const THINNED_MIN = 256;

/** The explanation without the incident itself. Throws the errors of a query. */
export async function explain(
  { incidentRecomputations, clock, retentionMs }: ExplainDeps,
  view: ProjectView,
  incident: IncidentBody,
  signal: AbortSignal,
): Promise<Explanation> {
  const rule = ruleOf(view.project, incident);
  const window = windowOf(view, incident.id);
  const firedObservedMs = firedObservedOf(incident, window);
  const recomputation = await incidentRecomputations.recompute(
    {
      rule,
      window,
      firedObservedMs,
      vm: incident.vm,
      labels: incident.labels,
      heldVms: heldVmsOf(view, incident.id).slice(0, HELD_MAX),
      startedMs: incident.startedMs,
      firedMs: incident.firedMs,
      retainedFromMs: clock.now() - retentionMs,
    },
    signal,
  );
  const windowThinned = isThinned(window);
  const gaps = gapsOf(window, windowThinned, recomputation, incident.startedMs);
  const unit = metricCatalogue.get(incident.metricId)?.unit ?? '';
  return {
    condition: conditionMessage(incident),
    window: window.map(({ observedMs, value }) => ({
      observedUnixMs: BigInt(observedMs),
      value,
      breaches: !unevaluable(rule) && isBreach(rule, value),
    })),
    windowThinned,
    gaps: gaps.map(({ startMs, endMs, tolerated }) => ({
      startUnixMs: BigInt(startMs),
      endUnixMs: BigInt(endMs),
      tolerated,
    })),
    recomputation: recomputationMessage(recomputation),
    summary: explanationText({
      incident,
      unit,
      window,
      windowThinned,
      gaps,
      firedObservedMs,
      recomputation,
    }),
  };
}

/** Silent VMs of a data center's incident, as stored when it fired; empty for other incidents. */
export function heldVmsOf(view: ProjectView, incident: string): readonly string[] {
  return view.record('incidentHeldVms', incident)?.body.vms ?? [];
}

function windowOf(view: ProjectView, incident: string): readonly ObservedValue[] {
  return view.record('incidentWindow', incident)?.body.window ?? [];
}

/** Older records lack the time. Then it is that of the window's last sample. */
function firedObservedOf(incident: IncidentBody, window: readonly ObservedValue[]): number {
  return incident.firedObservedMs ?? window.at(-1)?.observedMs ?? incident.firedMs;
}

function ruleOf(project: string, incident: IncidentBody): EvaluationRule {
  const { rule, vm, metricId, operator, threshold, recoveryThreshold } = incident;
  return {
    project,
    rule,
    evaluationRevision: 1,
    metricId,
    threshold,
    vms: [vm],
    // Only operators of the list are ever committed.
    operator: operator as Operator,
    sustainedMs: incident.sustainedSeconds * 1000,
    recoveryMs: (incident.recoverySeconds ?? 0) * 1000,
    ...(recoveryThreshold !== undefined && { recoveryThreshold }),
  };
}

type Conditional = Pick<
  IncidentBody,
  | 'metricId'
  | 'operator'
  | 'threshold'
  | 'sustainedSeconds'
  | 'recoveryThreshold'
  | 'recoverySeconds'
>;

/** The condition of an incident, or of a rule. */
export function conditionMessage(conditional: Conditional) {
  const { metricId, threshold, sustainedSeconds, recoveryThreshold, recoverySeconds } = conditional;
  const unit = metricCatalogue.get(metricId)?.unit ?? '';
  return {
    metricId,
    unit,
    threshold,
    sustainedSeconds,
    operator: enumValue(AlertRuleSpec_Operator, conditional.operator),
    ...(recoveryThreshold !== undefined && { recoveryThreshold }),
    ...(recoverySeconds !== undefined && { recoverySeconds }),
    gapToleranceSeconds: metricId === AGE_METRIC ? 0 : GAP_TOLERANCE_MS / 1000,
  };
}

function isThinned(window: readonly ObservedValue[]): boolean {
  const spanMs = (window.at(-1)?.observedMs ?? 0) - (window[0]?.observedMs ?? 0);
  return window.length >= THINNED_MIN && spanMs / window.length > GAP_MS;
}

/** Gaps within an unthinned window, and the gap before it that started a new run. */
function gapsOf(
  window: readonly ObservedValue[],
  isWindowThinned: boolean,
  { before }: Recomputation,
  startedMs: number,
): ExplainedGap[] {
  const first = before ? [{ startMs: before.observedMs, endMs: startedMs, tolerated: false }] : [];
  return isWindowThinned ? first : [...first, ...gapsBetween(window)];
}

/** Gaps between samples, none of which was thinned. */
export function gapsBetween(samples: readonly ObservedValue[]): ExplainedGap[] {
  return samples.slice(1).flatMap(({ observedMs: endMs }, i) => {
    const startMs = samples[i]?.observedMs ?? endMs;
    if (endMs - startMs <= GAP_MS) return [];
    return [{ startMs, endMs, tolerated: endMs - startMs <= GAP_TOLERANCE_MS }];
  });
}

function recomputationMessage({ status, detail, startedMs, firedObservedMs }: Recomputation) {
  return {
    status: Status[status],
    detail,
    ...(startedMs !== undefined && { startedUnixMs: BigInt(startedMs) }),
    ...(firedObservedMs !== undefined && { firedObservedUnixMs: BigInt(firedObservedMs) }),
  };
}

/** Times are Unix ms. */
interface ExplainedGap {
  readonly startMs: number;
  readonly endMs: number;
  readonly tolerated: boolean;
}

interface Explained {
  readonly incident: IncidentBody;
  /** From the metric catalogue. */
  readonly unit: string;
  readonly window: readonly ObservedValue[];
  readonly windowThinned: boolean;
  readonly gaps: readonly ExplainedGap[];
  readonly firedObservedMs: number;
  readonly recomputation: Recomputation;
}

function explanationText(explained: Explained): string {
  const { incident } = explained;
  const decided = incident.metricId === AGE_METRIC ? silence(explained) : breaches(explained);
  const sentences = [
    decided,
    ...gapSentences(explained),
    lateness(explained),
    incident.correctedAfterNotification
      ? 'Late samples showed afterwards that the condition was not met throughout'
      : '',
    `${recomputed(explained)}`,
  ];
  return sentences
    .filter((one) => one !== '')
    .map((one) => `${one}.`)
    .join(' ');
}

function breaches({ incident, unit, window, windowThinned, firedObservedMs }: Explained): string {
  const { metricId, operator, threshold, sustainedSeconds, startedMs } = incident;
  const was = `${metricId} was ${OPERATOR_WORDS[operator] ?? operator} ${exactQuantity(threshold, unit)}`;
  const requested = sustainedSeconds === 0 ? 'one sample' : duration(sustainedSeconds);
  const span = `from ${utcTime(startedMs)} to ${utcTime(firedObservedMs)}`;
  const enough = `the rule requires ${requested}`;
  if (window.length === 0) return `${was} ${span}, but no sample is stored; ${enough}`;
  if (window.length === 1) {
    return `${was} in one sample, ${readingBeside(window[0]?.value ?? Number.NaN, threshold, unit)} at ${utcTime(firedObservedMs)}; ${enough}`;
  }
  const each = windowThinned
    ? `all samples, ${window.length} of which are kept,`
    : `each of ${window.length} samples`;
  return `${was} in ${each} ${span}; ${enough}`;
}

function silence({ incident, firedObservedMs }: Explained): string {
  const { threshold, sustainedSeconds, startedMs, datacenter, heldVmCount } = incident;
  const who =
    incident.vm === '' && datacenter !== undefined
      ? `${heldVmCount ?? 'Many'} VMs of data center ${datacenter}, silent together,`
      : 'The VM';
  const lasting = sustainedSeconds === 0 ? '' : ` and for ${duration(sustainedSeconds)} more`;
  return `${who} had sent nothing for ${duration(threshold)} at ${utcTime(startedMs)}${lasting}, up to ${utcTime(firedObservedMs)}`;
}

function gapSentences({ gaps }: Explained): string[] {
  const tolerance = duration(GAP_TOLERANCE_MS / 1000);
  const within = gaps.filter(({ tolerated }) => tolerated);
  const beyond = gaps.filter(({ tolerated }) => !tolerated);
  const longest = Math.max(0, ...within.map(({ startMs, endMs }) => endMs - startMs));
  const count = within.length === 1 ? 'A gap' : `${within.length} gaps`;
  return [
    within.length > 0
      ? `${count} of up to ${duration(longest / 1000)} did not interrupt that, because ${tolerance} are tolerated`
      : '',
    ...beyond.map(({ startMs, endMs }) => {
      const length = duration((endMs - startMs) / 1000);
      return `Nothing was observed for ${length} before ${utcTime(endMs)}, more than the tolerated ${tolerance}, so earlier samples do not count`;
    }),
  ];
}

/** Empty unless the decision was made well after the last sample. */
function lateness({ incident, firedObservedMs }: Explained): string {
  const lateMs = incident.firedMs - firedObservedMs;
  if (lateMs <= GAP_TOLERANCE_MS) return '';
  return `It was decided at ${utcTime(incident.firedMs)}, ${duration(lateMs / 1000)} later, because samples or evaluation were late`;
}

function recomputed({ recomputation: { status, detail } }: Explained): string {
  if (status === 'NOT_POSSIBLE') return `It cannot be evaluated again: ${lower(detail)}`;
  return detail;
}

function lower(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
