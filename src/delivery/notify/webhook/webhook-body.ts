/**
 * The body of a webhook, rendered from its .proto message, which documents the fields in one place.
 * An absent value is omitted instead of sent as zero. Texts are cut so that the body never exceeds
 * 16 KiB.
 */
import { create, type MessageInitShape, toJsonString } from '@bufbuild/protobuf';
import type { IncidentBody } from '../../../../actors/alerting/incident.ts';
import {
  alone,
  type GroupMember,
  isGroup,
  liveMembers,
} from '../../../../actors/delivery/delivery-group.ts';
import type { ProjectView } from '../../../../actors/platform/host/host-port.ts';
import { cutTo } from '../../../../actors/platform/plain-text.ts';
import type { DeliveryContext } from '../../../../machines/delivery/delivery.ts';
import { metricCatalogue } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { parseLabels } from '../../../../streams/telemetry/samples/batch.ts';
import {
  WebhookBodySchema,
  type WebhookData as WebhookDataMessage,
  type WebhookDataSchema,
} from '../../../gen/svc/monitoring/v1/webhook_pb.ts';
import { unixSeconds } from '../../../platform/api/message-fields.ts';
import { nameOf } from '../../../platform/api/resource-name.ts';
import type { RenderOptions } from '../message/notification-kind.ts';

/** Bytes of a whole body. */
export const WEBHOOK_BYTES_MAX = 16 * 1024;
/** Bytes of one text as sent: names, ids and units. */
const TEXT_BYTES_MAX = 1_024;
/** Bytes of all labels as sent, of a runbook's text, and of both together. */
const LABELS_BYTES_MAX = 6 * 1024;
const RUNBOOK_BYTES_MAX = 2 * 1024;
const LABELS_AND_RUNBOOK_BYTES_MAX = 7 * 1024;

/** Bytes of one name in the list of a group's incidents. The list fills the rest of the body. */
const GROUPED_NAME_BYTES_MAX = 128;
/** Bytes of the number of omitted incidents, and of the list's own punctuation. */
const LEFT_OUT_BYTES_MAX = 64;

type WebhookData = Exclude<MessageInitShape<typeof WebhookDataSchema>, WebhookDataMessage>;

/** The bytes of the body. Throws if the delivery's incident has no record, which is a bug. */
export function renderWebhookBody(
  view: ProjectView,
  delivery: DeliveryContext,
  { publicUrl, nowMs, id }: RenderOptions,
): Uint8Array {
  const isTest = delivery.event === 'TEST';
  const deliveriesUrl = `${publicUrl}/projects/${view.project}/deliveries`;
  const bytesOf = (data: WebhookData) =>
    encodeBody({
      type: isTest ? 'test' : `incident.${delivery.event.toLowerCase()}`,
      timestamp: new Date(nowMs).toISOString(),
      data: {
        projectName: `projects/${view.project}`,
        destinationName: nameOf(view.project, 'destinations', delivery.destination),
        ...data,
      },
    });
  const members = isGroup(delivery) ? liveMembers(view, id, delivery) : [];
  const [first] = members;
  if (isGroup(delivery) && !first) throw new Error(`The group ${id} has no members`);
  const one = first ? alone(delivery, first) : delivery;
  const data = isTest ? { url: deliveriesUrl } : dataOf(view, one, publicUrl);
  const left = WEBHOOK_BYTES_MAX - bytesOf(data).length;
  const others = members.length > 1 ? listOf(view, delivery, members, left) : {};
  const bytes = bytesOf({ ...data, ...others });
  if (bytes.length > WEBHOOK_BYTES_MAX) {
    throw new RangeError(`The body of a webhook has ${bytes.length} bytes`);
  }
  return bytes;
}

function encodeBody(body: MessageInitShape<typeof WebhookBodySchema>): Buffer {
  const message = create(WebhookBodySchema, body);
  return Buffer.from(toJsonString(WebhookBodySchema, message, { alwaysEmitImplicit: true }));
}

/**
 * All incidents of a group, as many as fit. The other fields of the body are those of the first.
 */
function listOf(
  view: ProjectView,
  delivery: DeliveryContext,
  members: readonly GroupMember[],
  bytesMax: number,
): WebhookData {
  const incidents: GroupedIncident[] = [];
  let bytes = LEFT_OUT_BYTES_MAX;
  for (const member of members) {
    const grouped = groupedIncident(view, alone(delivery, member));
    bytes += Buffer.byteLength(JSON.stringify(grouped)) + 1;
    if (bytes > bytesMax) break;
    incidents.push(grouped);
  }
  const incidentsLeftOut = members.length - incidents.length;
  return { incidents, ...(incidentsLeftOut > 0 && { incidentsLeftOut }) };
}

type GroupedIncident = Readonly<Record<'incidentName' | 'vmName' | 'vmDisplayName', string>>;

function groupedIncident(view: ProjectView, { incident: id }: DeliveryContext): GroupedIncident {
  const vm = view.record('incident', id)?.body.vm ?? '';
  const displayName = view.record('vm', vm)?.body.displayName ?? vm;
  return {
    incidentName: nameOf(view.project, 'incidents', id),
    vmName: vm === '' ? '' : nameOf(view.project, 'vms', vm),
    vmDisplayName: cutTo(displayName, GROUPED_NAME_BYTES_MAX, sentBytes),
  };
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
    runbookText: runbookTextOf(incident),
    runbookUrl: incident.runbookUrl ?? '',
  };
}

function runbookTextOf({ runbookText = '' }: IncidentBody): string {
  return cutTo(runbookText, RUNBOOK_BYTES_MAX, sentBytes);
}

/** The subject of the condition: a VM's series, or a whole data center. */
function vmData(view: ProjectView, incident: IncidentBody): WebhookData {
  const { datacenter, heldVmCount, vm: id } = incident;
  const left = LABELS_AND_RUNBOOK_BYTES_MAX - sentBytes(runbookTextOf(incident));
  const bytesMax = Math.min(LABELS_BYTES_MAX, left);
  const ofSeries = fitLabels(parseLabels(incident.labels), bytesMax);
  const ofRule = fitLabels(incident.ruleLabels ?? {}, bytesMax - ofSeries.bytes);
  const { labels } = ofSeries;
  const leftOut = ofSeries.leftOut + ofRule.leftOut;
  const held = {
    ruleLabels: ofRule.labels,
    ...(datacenter !== undefined && { datacenter: fit(datacenter) }),
    ...(heldVmCount !== undefined && { silentVmCount: heldVmCount }),
    ...(leftOut > 0 && { labelsLeftOut: leftOut }),
  };
  if (id === '') return { labels, ...held };
  const vm = view.record('vm', id)?.body;
  const vmDisplayName = fit(vm?.displayName ?? id);
  const vmDatacenter = fit(incident.vmDatacenter ?? '');
  const vmName = nameOf(view.project, 'vms', id);
  return { vmName, vmDisplayName, vmDatacenter, labels, ...held };
}

function missingData({ dataMissingSinceMs, dataMissingReason }: IncidentBody): WebhookData {
  if (dataMissingSinceMs === null) return {};
  return {
    dataMissingSinceUnix: unixSeconds(dataMissingSinceMs),
    dataMissingReason: dataMissingReason ?? 'NO_DATA',
  };
}

function fitLabels(all: Readonly<Record<string, string>>, bytesMax: number) {
  const labels: Record<string, string> = {};
  let bytes = 0;
  for (const [name, value] of Object.entries(all)) {
    const kept = fit(value);
    const added = sentBytes(name) + sentBytes(kept) + '"":"",'.length;
    if (bytes + added > bytesMax) break;
    bytes += added;
    labels[name] = kept;
  }
  return { labels, bytes, leftOut: Object.keys(all).length - Object.keys(labels).length };
}

function fit(text: string): string {
  return cutTo(text, TEXT_BYTES_MAX, sentBytes);
}

/** Bytes in the JSON document, including escapes. */
function sentBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
