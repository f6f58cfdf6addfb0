/**
 * The body of a webhook, rendered from its .proto message: that documents the fields in one place,
 * and an absent value is left out instead of sent as zero. Texts are cut so that the body never
 * exceeds 16 KiB.
 */

import { create, type MessageInitShape, toJsonString } from '@bufbuild/protobuf';
import type { IncidentBody } from '../../../../actors/alerting/incident.ts';
import type { ProjectView } from '../../../../actors/platform/host/host-port.ts';
import type { DeliveryContext } from '../../../../machines/delivery/delivery.ts';
import { metricCatalogue } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { parseLabels } from '../../../../streams/telemetry/samples/series-key.ts';
import {
  WebhookBodySchema,
  type WebhookDataSchema,
} from '../../../gen/svc/monitoring/v1/webhook_pb.ts';
import { unixSeconds } from '../../../platform/api/message-fields.ts';
import { nameOf } from '../../../platform/api/resource-name.ts';
import { cutTo } from '../message/cut.ts';
import type { RenderOptions } from '../message/notification-kind.ts';

/** Bytes of a whole body. */
export const WEBHOOK_BYTES_MAX = 16 * 1024;
/** Bytes of one text as sent: names, ids and units. */
const TEXT_BYTES_MAX = 1_024;
/** Bytes of all labels as sent. */
const LABELS_BYTES_MAX = 6 * 1024;

type WebhookData = MessageInitShape<typeof WebhookDataSchema>;

/** The body's bytes. Throws when the delivery's incident has no record: a bug. */
export function renderWebhookBody(
  view: ProjectView,
  delivery: DeliveryContext,
  { publicUrl, nowMs }: RenderOptions,
): Uint8Array {
  const isTest = delivery.event === 'TEST';
  const body = create(WebhookBodySchema, {
    type: isTest ? 'test' : `incident.${delivery.event.toLowerCase()}`,
    timestamp: new Date(nowMs).toISOString(),
    data: {
      projectName: `projects/${view.project}`,
      destinationName: nameOf(view.project, 'destinations', delivery.destination),
      ...(isTest ? testData(view, delivery, publicUrl) : dataOf(view, delivery, publicUrl)),
    },
  });
  const bytes = Buffer.from(toJsonString(WebhookBodySchema, body, { alwaysEmitImplicit: true }));
  if (bytes.length > WEBHOOK_BYTES_MAX) {
    throw new RangeError(`The body of a webhook has ${bytes.length} bytes`);
  }
  return bytes;
}

function testData(view: ProjectView, { destination }: DeliveryContext, publicUrl: string) {
  return { url: `${publicUrl}/${nameOf(view.project, 'destinations', destination)}` };
}

function dataOf(view: ProjectView, delivery: DeliveryContext, publicUrl: string): WebhookData {
  const incident = view.record('incident', delivery.incident)?.body;
  if (!incident) throw new Error(`The incident ${delivery.incident} has no record`);
  const incidentName = nameOf(view.project, 'incidents', incident.id);
  return {
    incidentName,
    state: incident.state,
    ...ruleData(view, incident),
    ...vmData(view, incident),
    ...(incident.value === null ? {} : { value: incident.value }),
    ...(incident.valueMs === null ? {} : { valueUnix: unixSeconds(incident.valueMs) }),
    startedUnix: unixSeconds(incident.startedMs),
    firedUnix: unixSeconds(incident.firedMs),
    ...(incident.recoveredMs === null ? {} : { recoveredUnix: unixSeconds(incident.recoveredMs) }),
    ...missingData(incident),
    repeatNumber: delivery.event === 'REPEATED' ? delivery.occurrence : 0,
    url: `${publicUrl}/${incidentName}`,
  };
}

function ruleData({ project }: ProjectView, incident: IncidentBody): WebhookData {
  return {
    ruleName: nameOf(project, 'alertRules', incident.rule),
    ruleDisplayName: fit(incident.ruleDisplayName),
    ruleVersion: BigInt(incident.ruleVersion),
    severity: incident.severity,
    metricId: incident.metricId,
    unit: metricCatalogue.get(incident.metricId)?.unit ?? '',
    operator: incident.operator,
    threshold: incident.threshold,
    sustainedSeconds: incident.sustainedSeconds,
  };
}

/** The subject of the condition: a VM's series, or a whole data center. */
function vmData(view: ProjectView, incident: IncidentBody): WebhookData {
  const { datacenter, heldVmCount, vm: id } = incident;
  const { labels, leftOut } = fitLabels(parseLabels(incident.labels));
  const held = {
    ...(datacenter !== undefined && { datacenter: fit(datacenter) }),
    ...(heldVmCount !== undefined && { silentVmCount: heldVmCount }),
    ...(leftOut > 0 && { labelsLeftOut: leftOut }),
  };
  if (id === '') return { labels, ...held };
  const vm = view.record('vm', id)?.body;
  const vmDisplayName = fit(vm?.displayName ?? id);
  return { vmName: nameOf(view.project, 'vms', id), vmDisplayName, labels, ...held };
}

function missingData({ dataMissingSinceMs, dataMissingReason }: IncidentBody): WebhookData {
  if (dataMissingSinceMs === null) return {};
  return {
    dataMissingSinceUnix: unixSeconds(dataMissingSinceMs),
    dataMissingReason: dataMissingReason ?? 'NO_DATA',
  };
}

function fitLabels(all: Readonly<Record<string, string>>) {
  const labels: Record<string, string> = {};
  let bytes = 0;
  for (const [name, value] of Object.entries(all)) {
    const kept = fit(value);
    bytes += sentBytes(name) + sentBytes(kept) + '"":"",'.length;
    if (bytes > LABELS_BYTES_MAX) break;
    labels[name] = kept;
  }
  return { labels, leftOut: Object.keys(all).length - Object.keys(labels).length };
}

function fit(text: string): string {
  return cutTo(text, TEXT_BYTES_MAX, sentBytes);
}

/** Bytes in the JSON document, escapes included. */
function sentBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
