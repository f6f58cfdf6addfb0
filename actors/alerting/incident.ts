/**
 * The incident: one span of firing. Its record is rewritten from the alert instance and its rule by
 * every commit that changes it. The samples that decided it are up to hundreds and never change, so
 * they are a separate record that lists of incidents and later commits leave out.
 */
import type { AlertInstanceContext } from '../../machines/alerting/alert-instance.ts';
import type { MissingReason } from '../../machines/alerting/incident.ts';
import type { RetireReason } from '../../machines/platform/effects.ts';
import { instanceIdOf } from '../../streams/alerting/evaluation/notification-diff.ts';
import type { ObservedValue } from '../../streams/telemetry/entry.ts';
import type { Draft, RecordWrite } from '../platform/host/host-port.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    incident: IncidentBody;
    incidentWindow: IncidentWindowBody;
  }
}

export type IncidentState = 'FIRING' | 'RECOVERED' | 'RETIRED';

/** Body of a record of kind `incident`. Times are Unix ms; null = has not happened. */
export interface IncidentBody {
  readonly id: string;
  readonly alertInstance: string;
  readonly rule: string;
  readonly ruleVersion: number;
  readonly ruleDisplayName: string;
  readonly severity: string;
  readonly metricId: string;
  readonly operator: string;
  readonly threshold: number;
  readonly sustainedSeconds: number;
  readonly vm: string;
  /** Data center of the VM when it began; absent in records of older versions. */
  readonly vmDatacenter?: string;
  /** Canonical label part of the series, '' or `{mountpoint="/"}`. */
  readonly labels: string;
  readonly state: IncidentState;
  readonly startedMs: number;
  readonly firedMs: number;
  readonly recoveredMs: number | null;
  readonly retiredMs: number | null;
  readonly retireReason: RetireReason | null;
  readonly value: number | null;
  readonly valueMs: number | null;
  readonly dataMissingSinceMs: number | null;
  /** Absent in records of older versions, as are all fields down to `firedObservedMs`. */
  readonly dataMissingReason?: MissingReason | null;
  readonly evaluatorError?: string | null;
  /** The data center of the condition; its silent VMs are a separate record. */
  readonly datacenter?: string;
  readonly heldVmCount?: number;
  readonly repeats?: number;
  /** The rule's recovery condition when it fired. */
  readonly recoveryThreshold?: number;
  readonly recoverySeconds?: number;
  /** Time of the observation that fired it; for silence the time of the decision. */
  readonly firedObservedMs?: number;
  readonly acknowledged: {
    readonly by: string;
    readonly atMs: number;
    readonly note: string;
  } | null;
  readonly snoozedUntilMs: number | null;
  readonly correctedAfterNotification: boolean;
}

/** Body of a record of kind `incidentWindow`, under the incident's id; written with the firing. */
export interface IncidentWindowBody {
  /** The samples that decided the incident, oldest first. */
  readonly window: readonly ObservedValue[];
}

/** The record of the samples that decided an incident. */
export function incidentWindowRecord(
  incidentId: string,
  window: readonly ObservedValue[],
): RecordWrite<'incidentWindow'> {
  const body: IncidentWindowBody = { window };
  return { kind: 'incidentWindow', id: incidentId, body: { ...body } };
}

/** The record of the instance's current incident. Throws when there is none: a bug. */
export function incidentRecord(
  context: AlertInstanceContext,
  draft: Draft,
): RecordWrite<'incident'> {
  const { incident } = context;
  if (!incident) throw new Error('An incident is recorded for an instance that has none');
  const before = draft.record('incident', incident.id)?.body;
  const body: IncidentBody = {
    ...(before ?? ruleFacts(context, draft)),
    id: incident.id,
    vm: context.vm,
    labels: context.labels,
    state: stateOf(incident),
    startedMs: incident.startedMs,
    firedMs: incident.firedMs,
    firedObservedMs: incident.firedObservedMs,
    recoveredMs: incident.recoveredMs,
    retiredMs: incident.retiredMs,
    retireReason: incident.retireReason,
    value: incident.value,
    valueMs: incident.valueMs,
    dataMissingSinceMs: incident.dataMissingSinceMs,
    dataMissingReason: incident.dataMissingReason,
    evaluatorError: incident.evaluatorError,
    repeats: incident.repeats,
    acknowledged: incident.acknowledged,
    snoozedUntilMs: incident.snoozedUntilMs,
    correctedAfterNotification: incident.correctedAfterNotification,
  };
  const sort = incidentSort(incident.firedMs);
  return { kind: 'incident', id: incident.id, body: { ...body }, sort };
}

/** Sort key of incidents that fired then, Unix ms. */
export function incidentSort(firedMs: number): string {
  return String(Math.max(0, firedMs)).padStart(15, '0');
}

/** The rule's fields when the incident began: later edits do not change them. */
function ruleFacts(context: AlertInstanceContext, draft: Draft) {
  const rule = draft.instance('alertRule', context.rule);
  if (!rule) throw new Error(`Alert instance of the unknown rule ${context.rule}`);
  const { spec, version } = rule.context;
  const vm = draft.record('vm', context.vm)?.body;
  return {
    ...(vm && { vmDatacenter: vm.datacenter }),
    alertInstance: instanceIdOf(context),
    rule: context.rule,
    ruleVersion: version,
    ruleDisplayName: spec.displayName,
    severity: spec.severity,
    metricId: spec.metricId,
    operator: spec.operator,
    threshold: spec.threshold,
    sustainedSeconds: spec.sustainedSeconds,
    ...(spec.recoveryThreshold !== undefined && { recoveryThreshold: spec.recoveryThreshold }),
    ...(spec.recoverySeconds !== undefined && { recoverySeconds: spec.recoverySeconds }),
  };
}

function stateOf(incident: {
  recoveredMs: number | null;
  retiredMs: number | null;
}): IncidentState {
  if (incident.retiredMs !== null) return 'RETIRED';
  return incident.recoveredMs === null ? 'FIRING' : 'RECOVERED';
}
