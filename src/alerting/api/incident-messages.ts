/** Converts an incident's record to its message. */
import { create } from '@bufbuild/protobuf';
import type { IncidentBody } from '../../../actors/alerting/incident.ts';
import { parseLabels } from '../../../streams/telemetry/samples/batch.ts';
import {
  type Incident,
  Incident_MissingReason,
  Incident_RetireReason,
  Incident_State,
  IncidentSchema,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import {
  AlertInstance_DataState,
  AlertRuleSpec_Operator,
  AlertRuleSpec_Severity,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import {
  enumValue,
  optionalSeconds,
  unixSeconds,
  withPresent,
} from '../../platform/api/message-fields.ts';
import { nameOf } from '../../platform/api/resource-name.ts';

/**
 * The message of a record. Times become whole Unix seconds; values that were not observed are
 * absent.
 */
export function incidentMessage(project: string, body: IncidentBody): Incident {
  const { acknowledged } = body;
  const message = create(IncidentSchema, {
    name: nameOf(project, 'incidents', body.id),
    ruleName: nameOf(project, 'alertRules', body.rule),
    ruleVersion: BigInt(body.ruleVersion),
    ruleDisplayName: body.ruleDisplayName,
    vmName: body.vm === '' ? '' : nameOf(project, 'vms', body.vm),
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
    evaluatorError: body.evaluatorError ?? '',
    datacenter: body.datacenter ?? '',
    heldVmCount: BigInt(body.heldVmCount ?? 0),
    sustainedSeconds: body.sustainedSeconds,
    repeats: body.repeats ?? 0,
    alertInstanceName: nameOf(project, 'alertInstances', body.alertInstance),
    ruleLabels: { ...body.ruleLabels },
    runbookText: body.runbookText ?? '',
    runbookUrl: body.runbookUrl ?? '',
    vmDisplayName: body.vmDisplayName ?? '',
    vmDatacenter: body.vmDatacenter ?? '',
  });
  if (acknowledged) {
    const { by, atMs, note } = acknowledged;
    message.acknowledged = { $typeName: ACKNOWLEDGEMENT, by, note, atUnix: unixSeconds(atMs) };
  }
  return withPresent(message, {
    value: body.value ?? undefined,
    recoveredUnix: optionalSeconds(body.recoveredMs),
    snoozedUntilUnix: optionalSeconds(body.snoozedUntilMs),
    retiredUnix: optionalSeconds(body.retiredMs),
    dataMissingSinceUnix: optionalSeconds(body.dataMissingSinceMs),
    ...(body.dataMissingReason && {
      dataMissingReason: Incident_MissingReason[body.dataMissingReason],
    }),
  });
}

const ACKNOWLEDGEMENT = 'svc.monitoring.v1.Incident.Acknowledgement' as const;
