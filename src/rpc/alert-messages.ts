/**
 * Between rows and messages of the alert API. Times become Unix seconds, ids become resource
 * names, and what was not observed stays absent.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { IncidentBody } from '../../actors/alerting/incident.ts';
import type { RequestedRuleSpec } from '../../actors/alerting/rule-spec.ts';
import type { SoftInstance } from '../../actors/evaluator-port.ts';
import type { Instance } from '../../actors/host-port.ts';
import type { AlertRuleContext, AlertRuleSpec as SavedSpec } from '../../machines/alert-rule.ts';
import type { DeliveryAttempt, DeliveryContext } from '../../machines/delivery.ts';
import type { DestinationContext } from '../../machines/destination.ts';
import { parseLabels } from '../../streams/samples/series-key.ts';
import {
  type AlertInstance,
  AlertInstance_DataState,
  AlertInstance_State,
  AlertInstanceSchema,
  type AlertRule,
  AlertRule_SyncStatus,
  AlertRuleSchema,
  type AlertRuleSpec,
  AlertRuleSpec_Operator,
  AlertRuleSpec_Severity,
  type AlertRuleSpecSchema,
  type Delivery,
  type Delivery_AttemptSchema,
  Delivery_Event,
  Delivery_State,
  DeliverySchema,
  type Destination,
  Destination_State,
  DestinationSchema,
  type Incident,
  Incident_RetireReason,
  Incident_State,
  IncidentSchema,
} from '../gen/svc/monitoring/v1/alert_pb.ts';
import { nameOf } from './resource-name.ts';

/** Unix seconds of Unix milliseconds, as messages have them. */
function unixSeconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000));
}

function optionalSeconds(ms: number | null | undefined): bigint | undefined {
  return ms === null || ms === undefined ? undefined : unixSeconds(ms);
}

/** The requested spec as the validator takes it: unspecified enums are absent. */
export function requestedSpec(spec: AlertRuleSpec): RequestedRuleSpec {
  return {
    displayName: spec.displayName,
    metricId: spec.metricId,
    operator: spec.operator === 0 ? undefined : enumName(AlertRuleSpec_Operator, spec.operator),
    threshold: spec.threshold,
    sustainedSeconds: spec.sustainedSeconds,
    severity: spec.severity === 0 ? undefined : enumName(AlertRuleSpec_Severity, spec.severity),
    allVms: spec.allVms,
    vmNames: spec.vmNames,
    enabled: spec.enabled,
    repeatIntervalSeconds: spec.repeatIntervalSeconds,
    destinationNames: spec.destinationNames,
    recoveryThreshold: spec.recoveryThreshold,
    recoverySeconds: spec.recoverySeconds,
    labels: spec.labels,
  };
}

function specMessage(spec: SavedSpec): MessageInitShape<typeof AlertRuleSpecSchema> {
  const { operator, severity, recoveryThreshold, recoverySeconds, labels, ...same } = spec;
  return {
    ...same,
    vmNames: [...same.vmNames],
    destinationNames: [...same.destinationNames],
    operator: enumValue(AlertRuleSpec_Operator, operator),
    severity: enumValue(AlertRuleSpec_Severity, severity),
    ...(recoveryThreshold === undefined ? {} : { recoveryThreshold }),
    ...(recoverySeconds === undefined ? {} : { recoverySeconds }),
    labels: { ...labels },
  };
}

/** Is the desired version in force? */
function syncStatusOf(row: Instance): AlertRule_SyncStatus {
  if (row.value === 'pendingApplication') return AlertRule_SyncStatus.PENDING;
  return row.value === 'applicationFailed'
    ? AlertRule_SyncStatus.FAILED
    : AlertRule_SyncStatus.APPLIED;
}

export function ruleMessage(row: Instance): AlertRule {
  const context = row.context as unknown as AlertRuleContext;
  return create(AlertRuleSchema, {
    name: nameOf(row.project, 'alertRules', row.instance),
    spec: specMessage(context.spec),
    version: BigInt(context.version),
    appliedVersion: BigInt(context.appliedVersion),
    syncStatus: syncStatusOf(row),
    syncError: context.syncError ?? '',
    createdUnix: unixSeconds(context.createdMs),
    updatedUnix: unixSeconds(context.updatedMs),
    updatedBy: context.updatedBy,
  });
}

export function instanceMessage(instance: SoftInstance): AlertInstance {
  const { project, sinceMs, lastObservedMs, missingSinceMs, lastValue } = instance;
  return create(AlertInstanceSchema, {
    ruleName: nameOf(project, 'alertRules', instance.rule),
    vmName: nameOf(project, 'vms', instance.vm),
    labels: parseLabels(instance.labels),
    state: AlertInstance_State[instance.state],
    dataState: AlertInstance_DataState[instance.dataState],
    ...(sinceMs === undefined ? {} : { sinceUnix: unixSeconds(sinceMs) }),
    ...(lastValue === undefined ? {} : { lastValue }),
    ...(lastObservedMs === undefined ? {} : { lastObservedUnix: unixSeconds(lastObservedMs) }),
    ...(missingSinceMs === undefined ? {} : { missingSinceUnix: unixSeconds(missingSinceMs) }),
  });
}

export function incidentMessage(project: string, body: IncidentBody): Incident {
  const { acknowledged } = body;
  const message = create(IncidentSchema, {
    name: nameOf(project, 'incidents', body.id),
    ruleName: nameOf(project, 'alertRules', body.rule),
    ruleVersion: BigInt(body.ruleVersion),
    ruleDisplayName: body.ruleDisplayName,
    vmName: nameOf(project, 'vms', body.vm),
    labels: parseLabels(body.labels),
    severity: enumValue(AlertRuleSpec_Severity, body.severity),
    state: Incident_State[body.state],
    retireReason: body.retireReason === null ? 0 : Incident_RetireReason[body.retireReason],
    dataState: AlertInstance_DataState[body.dataMissingSinceMs === null ? 'OBSERVED' : 'MISSING'],
    startedUnix: unixSeconds(body.startedMs),
    firedUnix: unixSeconds(body.firedMs),
    metricId: body.metricId,
    operator: enumValue(AlertRuleSpec_Operator, body.operator),
    threshold: body.threshold,
    correctedAfterNotification: body.correctedAfterNotification,
  });
  if (acknowledged) {
    const { by, atMs, note } = acknowledged;
    message.acknowledged = { $typeName: ACKNOWLEDGEMENT, by, note, atUnix: unixSeconds(atMs) };
  }
  return withPresent(message, {
    value: body.value ?? undefined,
    recoveredUnix: optionalSeconds(body.recoveredMs),
    snoozedUntilUnix: optionalSeconds(body.snoozedUntilMs),
  });
}

const ACKNOWLEDGEMENT = 'svc.monitoring.v1.Incident.Acknowledgement' as const;

export function destinationMessage(row: Instance): Destination {
  const context = row.context as unknown as DestinationContext;
  return create(DestinationSchema, {
    name: nameOf(row.project, 'destinations', row.instance),
    displayName: context.displayName,
    target: { case: 'webhook', value: {} },
    state: row.value === 'paused' ? Destination_State.PAUSED : Destination_State.ACTIVE,
    pausedReason: context.pausedReason ?? '',
    host: context.host,
    lastFour: context.lastFour,
    createdUnix: unixSeconds(context.createdMs),
    updatedUnix: unixSeconds(context.updatedMs),
  });
}

export function deliveryMessage(row: Instance): Delivery {
  const { project, instance, value } = row;
  const context = row.context as unknown as DeliveryContext;
  const state = String(value).toUpperCase() as keyof typeof Delivery_State;
  const message = create(DeliverySchema, {
    name: nameOf(project, 'deliveries', instance),
    incidentName: nameOf(project, 'incidents', context.incident),
    destinationName: nameOf(project, 'destinations', context.destination),
    event: Delivery_Event[context.event],
    state: Delivery_State[state],
    reason: context.reason ?? '',
    attempts: context.attempts.map(attemptMessage),
    createdUnix: unixSeconds(context.createdMs),
  });
  return withPresent(message, { nextAttemptUnix: optionalSeconds(context.nextAttemptMs) });
}

function attemptMessage(attempt: DeliveryAttempt): MessageInitShape<typeof Delivery_AttemptSchema> {
  const { attemptId, startedMs, endedMs, outcome, httpStatus, error } = attempt;
  return {
    attemptId,
    startedUnix: unixSeconds(startedMs),
    outcome: outcome ?? '',
    error: error ?? '',
    ...(endedMs === null ? {} : { durationMs: BigInt(endedMs - startedMs) }),
    ...(httpStatus === null ? {} : { httpStatus }),
  };
}

/** Sets the optional fields that are there: an absent one must not become a zero. */
function withPresent<M extends object>(
  message: M,
  fields: { [K in keyof M]?: M[K] | undefined },
): M {
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) Object.assign(message, { [key]: value });
  }
  return message;
}

/** Number of an enum's member. Throws for a name that is none: a row holds only names of ours. */
function enumValue<E extends number>(members: Readonly<Record<string, E>>, name: string): E {
  const value = members[name];
  if (value === undefined) throw new Error(`${name} is no member of its enum`);
  return value;
}

/** Name of an enum's member, or the number as text for one that this version does not know. */
function enumName(members: Readonly<Record<string, number>>, value: number): string {
  return Object.entries(members).find(([, number]) => number === value)?.[0] ?? String(value);
}
