/** Conversion between rules and their messages. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { RequestedRuleSpec } from '../../../actors/alerting/rule-spec.ts';
import type { Instance } from '../../../actors/platform/host/host-port.ts';
import type { AlertRuleSpec as SavedSpec } from '../../../machines/alerting/alert-rule.ts';
import {
  type AlertRule,
  AlertRule_SyncStatus,
  AlertRuleSchema,
  type AlertRuleSpec,
  AlertRuleSpec_Operator,
  AlertRuleSpec_Severity,
  type AlertRuleSpecSchema,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { enumName, enumValue, unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf } from '../../platform/api/resource-name.ts';

/** The requested spec in the validator's form: unspecified enums are absent. */
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
    runbookText: spec.runbookText,
    runbookUrl: spec.runbookUrl,
  };
}

/** The message of a saved spec, or of a template's. */
export function specMessage(spec: SavedSpec): MessageInitShape<typeof AlertRuleSpecSchema> {
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

/** Whether the desired version is applied. */
function syncStatusOf(row: Instance<'alertRule'>): AlertRule_SyncStatus {
  if (row.value === 'pendingApplication') return AlertRule_SyncStatus.PENDING;
  return row.value === 'applicationFailed'
    ? AlertRule_SyncStatus.FAILED
    : AlertRule_SyncStatus.APPLIED;
}

/** `unevaluated`: number of its instances beyond the project's limit. */
export function ruleMessage(row: Instance<'alertRule'>, unevaluated: number): AlertRule {
  const context = row.context;
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
    unevaluatedInstances: BigInt(unevaluated),
  });
}
