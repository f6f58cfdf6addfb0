/**
 * Webhooks: signed requests to any https URL (HOOK-01, HOOK-16). The file has the kind and its
 * sender, then the body, then the signatures.
 */

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { create, type MessageInitShape, toJsonString } from '@bufbuild/protobuf';
import type { IncidentBody } from '../../../../actors/alerting/incident.ts';
import {
  alone,
  type GroupMember,
  isGroup,
  liveMembers,
} from '../../../../actors/delivery/delivery-group.ts';
import type {
  AttemptOutcome,
  Channel,
  UrlTarget,
} from '../../../../actors/delivery/notifier-port.ts';
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
import { type Answer, accepted, failed, refused } from '../http/exchange.ts';
import {
  type ChannelDeps,
  HTTP_LIMITS,
  type NotificationKind,
  type RenderOptions,
} from '../message/notification-kind.ts';

export const webhook: NotificationKind = {
  limits: HTTP_LIMITS,
  render: renderWebhookBody,
  refuseUrl: (url, guard) => guard.refuseUrl(url),
  open: createWebhookSender,
};

const USER_AGENT = 'svc-webhook/1';
/** Maximum bytes of a body, because receivers reject more (LIMIT-16). Ours have at most 16 KiB. */
const BODY_BYTES_MAX = 1024 * 1024;

export function createWebhookSender({
  exchange,
}: Pick<ChannelDeps, 'exchange'>): Channel<UrlTarget> {
  return {
    async attempt({ target, event, body, deadlineElapsedMs, ...signed }) {
      if (body.length > BODY_BYTES_MAX) {
        throw new RangeError(`A webhook's body has ${body.length} bytes, more than 1 MiB`);
      }
      const { url, secrets = [] } = target;
      const signature = signatureHeaders({ ...signed, body, secrets });
      const headers = { 'user-agent': USER_AGENT, 'svc-event': event, ...signature };
      const answer = await exchange.post({ url, secrets, headers, body, deadlineElapsedMs });
      return answer.kind === 'unanswered' ? answer.outcome : outcomeOf(answer);
    },
    close: () => Promise.resolve(),
  };
}

function outcomeOf(answer: Answer): AttemptOutcome {
  const { httpStatus } = answer;
  if (httpStatus >= 200 && httpStatus < 300) return accepted(answer);
  if (httpStatus === 410) {
    return refused(answer, 'The endpoint answered 410 (gone)', { pauses: true });
  }
  const redirect = httpStatus >= 300 && httpStatus < 400;
  const hint = redirect ? '. Redirects are not followed. Enter the final URL' : '';
  return failed(answer, `The endpoint answered ${httpStatus}${hint}`);
}

// The body of a webhook, rendered from its .proto message, which documents the fields in one place.
// An absent value is omitted instead of sent as zero. Texts are cut so that the body never exceeds
// 16 KiB.

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

// The three signatures of a webhook request. `webhook-signature` is the Standard Webhooks form,
// `svc-signature-v2` also covers the attempt id, and `svc-signature` is the legacy one over the raw
// body. Each scheme signs other content or uses another key, so no signature is valid under another
// scheme. The functions are pure: they take key bytes, ids, time and body, and return header
// values.

export interface SignedAttempt {
  readonly deliveryId: string;
  readonly attemptId: string;
  /** Unix seconds of this attempt. */
  readonly timestampUnix: number;
  readonly body: Uint8Array;
  /** `whsec_...`, current first; the second one exists only during an overlap. */
  readonly secrets: readonly string[];
}

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;
/** The current secret, and the previous one during an overlap. */
const SECRETS_MAX = 2;

/** A new webhook secret from 32 random bytes. Throws a `RangeError` for another length. */
export function formatSecret(bytes: Uint8Array): string {
  if (bytes.length !== SECRET_BYTES) {
    throw new RangeError(`A webhook secret has ${SECRET_BYTES} bytes, not ${bytes.length}`);
  }
  return SECRET_PREFIX + Buffer.from(bytes).toString('base64');
}

/**
 * Headers of the signed request, in lower case. Throws for an empty or overlong list of secrets.
 */
export function signatureHeaders(attempt: SignedAttempt): Record<string, string> {
  const { deliveryId, attemptId, timestampUnix, secrets } = attempt;
  if (secrets.length === 0 || secrets.length > SECRETS_MAX) {
    throw new RangeError(`A webhook must have 1 or ${SECRETS_MAX} secrets, not ${secrets.length}`);
  }
  const v1 = secrets.map((secret) => `v1,${standardSignature(attempt, secret)}`);
  const v2 = secrets.map((secret) => `v2=${v2Signature(attempt, secret)}`);
  // During an overlap, the legacy signature still uses the previous secret (EVENT-10).
  const legacySecret = secrets.at(-1) as string;
  return {
    'webhook-id': deliveryId,
    'webhook-timestamp': String(timestampUnix),
    'webhook-signature': v1.join(' '),
    'svc-delivery-id': deliveryId,
    'svc-attempt-id': attemptId,
    'svc-signature-v2': [`t=${timestampUnix}`, `id=${deliveryId}`, `att=${attemptId}`, ...v2].join(
      ',',
    ),
    'svc-signature': `sha256=${legacySignature(attempt.body, legacySecret)}`,
  };
}

/** Standard Webhooks: HMAC-SHA256 over `<id>.<seconds>.<body>`, standard base64. */
function standardSignature(attempt: SignedAttempt, secret: string): string {
  return createHmac('sha256', keyOf(secret))
    .update(`${attempt.deliveryId}.${attempt.timestampUnix}.`)
    .update(attempt.body)
    .digest('base64');
}

/** V2: HMAC-SHA256 over `v2.<delivery>.<attempt>.<seconds>.<body>`, hex. */
function v2Signature(attempt: SignedAttempt, secret: string): string {
  return createHmac('sha256', keyOf(secret))
    .update(`v2.${attempt.deliveryId}.${attempt.attemptId}.${attempt.timestampUnix}.`)
    .update(attempt.body)
    .digest('hex');
}

/** Legacy: the key is the whole secret as text, so it differs from V2's key. */
function legacySignature(body: Uint8Array, secret: string): string {
  const key = createSecretKey(secret, 'utf8');
  return createHmac('sha256', key).update(body).digest('hex');
}

/** A key object, because `createHmac` takes three times as long with bytes. */
function keyOf(secret: string): KeyObject {
  if (!secret.startsWith(SECRET_PREFIX))
    throw new RangeError('A webhook secret must begin with whsec_');
  return createSecretKey(secret.slice(SECRET_PREFIX.length), 'base64');
}
