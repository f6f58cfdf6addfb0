/**
 * The body of a webhook: rendered from its .proto message, so that its fields are documented in
 * one place and an absent value is left out rather than told as zero.
 */
import { create, toJsonString } from '@bufbuild/protobuf';
import type { IncidentBody } from '../../../actors/alerting/incident.ts';
import type { ProjectView } from '../../../actors/host-port.ts';
import type { VmBody } from '../../../actors/vm-registry.ts';
import type { DeliveryContext } from '../../../machines/delivery.ts';
import { metricCatalogue } from '../../../streams/metrics/catalogue.ts';
import { parseLabels } from '../../../streams/samples/series-key.ts';
import { WebhookBodySchema } from '../../gen/svc/monitoring/v1/webhook_pb.ts';
import { nameOf } from '../../rpc/resource-name.ts';
import type { RenderOptions } from '../contents.ts';

/** The body's bytes. Throws when the delivery's incident has no record: a bug. */
export function renderWebhookBody(
  view: ProjectView,
  delivery: DeliveryContext,
  { publicUrl, nowMs }: RenderOptions,
): Uint8Array {
  const incident = view.record('incident', delivery.incident)?.body as IncidentBody | undefined;
  if (!incident) throw new Error(`The incident ${delivery.incident} has no record`);
  const body = create(WebhookBodySchema, {
    type: `incident.${delivery.event.toLowerCase()}`,
    timestamp: new Date(nowMs).toISOString(),
    data: dataOf(view, delivery, incident, publicUrl),
  });
  return Buffer.from(toJsonString(WebhookBodySchema, body, { alwaysEmitImplicit: true }));
}

function dataOf(
  view: ProjectView,
  delivery: DeliveryContext,
  incident: IncidentBody,
  publicUrl: string,
) {
  const { project } = view;
  const vm = view.record('vm', incident.vm)?.body as VmBody | undefined;
  const incidentName = nameOf(project, 'incidents', incident.id);
  return {
    projectName: `projects/${project}`,
    incidentName,
    state: incident.state,
    ruleName: nameOf(project, 'alertRules', incident.rule),
    ruleDisplayName: incident.ruleDisplayName,
    ruleVersion: BigInt(incident.ruleVersion),
    severity: incident.severity,
    vmName: nameOf(project, 'vms', incident.vm),
    vmDisplayName: vm?.displayName ?? incident.vm,
    labels: parseLabels(incident.labels),
    metricId: incident.metricId,
    unit: metricCatalogue.get(incident.metricId)?.unit ?? '',
    operator: incident.operator,
    threshold: incident.threshold,
    sustainedSeconds: incident.sustainedSeconds,
    ...(incident.value === null ? {} : { value: incident.value }),
    ...(incident.valueMs === null ? {} : { valueUnix: seconds(incident.valueMs) }),
    startedUnix: seconds(incident.startedMs),
    firedUnix: seconds(incident.firedMs),
    ...(incident.recoveredMs === null ? {} : { recoveredUnix: seconds(incident.recoveredMs) }),
    repeatNumber: delivery.event === 'REPEATED' ? delivery.occurrence : 0,
    url: `${publicUrl}/${incidentName}`,
  };
}

function seconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000));
}
