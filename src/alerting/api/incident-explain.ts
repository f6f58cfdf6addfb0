/**
 * `ExplainIncident`: what decided it, sample by sample, as stored when it fired; whether deciding
 * again over history leads to the same; and all of it in words. Reads alone.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { IncidentBody } from '../../../actors/alerting/incident.ts';
import type { ProjectView } from '../../../actors/platform/host/host-port.ts';
import { isBreach } from '../../../streams/alerting/evaluation/timeline.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import {
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  type ObservedValue,
  type Operator,
  RETENTION_MS,
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
import { type ExplainedGap, explanationText } from './incident-explanation-text.ts';

export interface ExplainDeps {
  readonly incidentRecomputations: IncidentRecomputations;
  readonly clock: Clock;
}

type Explanation = Omit<MessageInitShape<typeof ExplainIncidentResponseSchema>, '$typeName'>;

/** Silent VMs of a data center that are looked at again. */
const HELD_MAX = 100;
/** Samples jitter: only what is well over an interval is a gap. */
const GAP_MS = 1.5 * SAMPLING_INTERVAL_MS;
/** A window may be thinned from so many samples on (streams/alerting/evaluation/window.ts). */
const THINNED_MIN = 256;

/** All but the incident itself. Throws what a query throws. */
export async function explain(
  { incidentRecomputations, clock }: ExplainDeps,
  view: ProjectView,
  incident: IncidentBody,
  signal: AbortSignal,
): Promise<Explanation> {
  const rule = ruleOf(view.project, incident);
  const window = windowOf(view, incident.id);
  const firedObservedMs = firedObservedOf(incident, window);
  const recomputation = await incidentRecomputations.recompute(
    {
      ...{ rule, window, firedObservedMs, vm: incident.vm, labels: incident.labels },
      heldVms: heldVmsOf(view, incident.id).slice(0, HELD_MAX),
      startedMs: incident.startedMs,
      firedMs: incident.firedMs,
      retainedFromMs: clock.now() - RETENTION_MS,
    },
    signal,
  );
  const windowThinned = isThinned(window);
  const gaps = gapsOf(window, windowThinned, recomputation, incident.startedMs);
  const unit = metricCatalogue.get(incident.metricId)?.unit ?? '';
  return {
    condition: conditionMessage(incident),
    window: window.map(({ observedMs, value }) => ({
      ...{ observedUnixMs: BigInt(observedMs), value, breaches: isBreach(rule, value) },
    })),
    windowThinned,
    gaps: gaps.map(({ startMs, endMs, tolerated }) => ({
      ...{ startUnixMs: BigInt(startMs), endUnixMs: BigInt(endMs), tolerated },
    })),
    recomputation: recomputationMessage(recomputation),
    summary: explanationText({
      ...{ incident, unit, window, windowThinned, gaps, firedObservedMs, recomputation },
    }),
  };
}

/** VMs of a data center's condition, as stored when it fired; empty for any other. */
export function heldVmsOf(view: ProjectView, incident: string): readonly string[] {
  return view.record('incidentHeldVms', incident)?.body.vms ?? [];
}

function windowOf(view: ProjectView, incident: string): readonly ObservedValue[] {
  return view.record('incidentWindow', incident)?.body.window ?? [];
}

/** Records of an older version do not have it: the last sample of the window decided. */
function firedObservedOf(incident: IncidentBody, window: readonly ObservedValue[]): number {
  return incident.firedObservedMs ?? window.at(-1)?.observedMs ?? incident.firedMs;
}

function ruleOf(project: string, incident: IncidentBody): EvaluationRule {
  const { rule, vm, metricId, operator, threshold, recoveryThreshold } = incident;
  return {
    ...{ project, rule, evaluationRevision: 1, metricId, threshold, vms: [vm] },
    // Committed only with an operator of the list.
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
    ...{ metricId, unit, threshold, sustainedSeconds },
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

/** Between samples of a window that is whole, and the one before it that made the run begin anew. */
function gapsOf(
  window: readonly ObservedValue[],
  isWindowThinned: boolean,
  { before }: Recomputation,
  startedMs: number,
): ExplainedGap[] {
  const first = before ? [{ startMs: before.observedMs, endMs: startedMs, tolerated: false }] : [];
  return isWindowThinned ? first : [...first, ...gapsBetween(window)];
}

/** Between samples, all of which are there. */
export function gapsBetween(samples: readonly ObservedValue[]): ExplainedGap[] {
  return samples.slice(1).flatMap(({ observedMs: endMs }, i) => {
    const startMs = samples[i]?.observedMs ?? endMs;
    if (endMs - startMs <= GAP_MS) return [];
    return [{ startMs, endMs, tolerated: endMs - startMs <= GAP_TOLERANCE_MS }];
  });
}

function recomputationMessage({ status, detail, startedMs, firedObservedMs }: Recomputation) {
  return {
    ...{ status: Status[status], detail },
    ...(startedMs !== undefined && { startedUnixMs: BigInt(startedMs) }),
    ...(firedObservedMs !== undefined && { firedObservedUnixMs: BigInt(firedObservedMs) }),
  };
}
