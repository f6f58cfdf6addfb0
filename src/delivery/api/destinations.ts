/** The destination methods of `AlertService`: create, change, pause, verify, test, delete. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { activePeople, isOfMember } from '../../../actors/alerting/eligible.ts';
import { destinationOf } from '../../../actors/delivery/destination-rows.ts';
import type {
  Changed,
  Destinations,
  NewTarget,
} from '../../../actors/delivery/destinations-port.ts';
import { recipientOf, recipientRows } from '../../../actors/delivery/recipients.ts';
import { canonicalEmail } from '../../../actors/platform/email-address.ts';
import type { Host, Instance, ListOptions } from '../../../actors/platform/host/host-port.ts';
import { mailProblemOf } from '../../../actors/platform/mail-problems.ts';
import { isOneLine, NOT_ONE_LINE } from '../../../actors/platform/plain-text.ts';
import { GROUP_WAIT_MS_MAX } from '../../../machines/delivery/destination.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import type { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type CreateDestinationRequest,
  CreateDestinationRequestSchema,
  DeleteDestinationRequestSchema,
  type Destination,
  Destination_State,
  DestinationSchema,
  type EmailRecipient,
  EmailRecipient_State,
  EmailRecipientSchema,
  LastErrorSchema,
  PauseDestinationRequestSchema,
  ResumeDestinationRequestSchema,
  type RotateWebhookSecretRequest,
  RotateWebhookSecretRequestSchema,
  SendTestNotificationRequestSchema,
  type UpdateDestinationRequest,
  UpdateDestinationRequestSchema,
  VerifyDestinationRequestSchema,
} from '../../gen/svc/monitoring/v1/destination_pb.ts';
import { actorOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { collect, findRow, mapPage } from '../../platform/api/paging.ts';
import { nameOf, parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import { isRegistered, notificationKinds } from '../notify/kinds.ts';
import {
  DELIVERY_EVENTS,
  DELIVERY_STATES,
  lastDeliveryMessage,
  lastErrorOf,
} from './deliveries.ts';

export interface DestinationDeps {
  readonly host: Host;
  readonly destinations: Destinations;
}

type DestinationMethods =
  | 'createDestination'
  | 'getDestination'
  | 'listDestinations'
  | 'updateDestination'
  | 'deleteDestination'
  | 'verifyDestination'
  | 'sendTestNotification'
  | 'pauseDestination'
  | 'resumeDestination'
  | 'rotateWebhookSecret';

type Methods<K extends DestinationMethods> = Pick<ServiceImpl<typeof AlertService>, K>;

/**
 * The methods of this part. No response contains a URL that is a secret. Only the first response
 * contains a signing secret.
 */
export function destinationMethods(deps: DestinationDeps): Methods<DestinationMethods> {
  const { host, destinations } = deps;
  return {
    createDestination: (request, context) => createDestination(deps, request, context),
    getDestination({ name }, context) {
      const place = { machine: 'destination', name, collection: 'destinations' } as const;
      const row = findRow(host, context, place);
      return withLastDelivery(host, row);
    },
    async listDestinations(request, context) {
      const project = within(context, parseProjectName('projectName', request.projectName));
      const read = (options: ListOptions) =>
        mapPage(host.view(project).instances('destination', { ...options, final: false }), (row) =>
          withLastDelivery(host, row),
        );
      const page = await collect('destination', request, read, turnsOf(context));
      return { destinations: page.items, nextPageToken: page.nextPageToken };
    },
    updateDestination: (request, context) => updateDestination(deps, request, context),
    async deleteDestination(request, context) {
      const place = placeOf(context, request.name);
      const key = requestKeyOf(context, DeleteDestinationRequestSchema, request);
      await destinations.delete({ ...place, request: key });
      return {};
    },
    ...actionMethods(deps),
  };
}

/** Methods that act on an existing destination. */
function actionMethods(
  deps: DestinationDeps,
): Methods<
  Exclude<DestinationMethods, `${'create' | 'get' | 'list' | 'update' | 'delete'}${string}`>
> {
  const { host, destinations } = deps;
  return {
    async verifyDestination(request, context) {
      const place = placeOf(context, request.name);
      const key = requestKeyOf(context, VerifyDestinationRequestSchema, request);
      const { mails, notMailed, ...changed } = await destinations.verify({
        ...place,
        request: key,
      });
      return { destination: answerOf(host, changed), mails, notMailed };
    },
    async sendTestNotification(request, context) {
      const place = placeOf(context, request.name);
      const key = requestKeyOf(context, SendTestNotificationRequestSchema, request);
      const { answer } = await destinations.sendTest({ ...place, request: key });
      const { project } = place;
      return { deliveryNames: answer.deliveries.map((id) => nameOf(project, 'deliveries', id)) };
    },
    async pauseDestination(request, context) {
      const place = placeOf(context, request.name);
      const key = requestKeyOf(context, PauseDestinationRequestSchema, request);
      const reason = pauseReason(request.reason);
      return answerOf(host, await destinations.pause({ ...place, request: key, reason }));
    },
    async resumeDestination(request, context) {
      const place = placeOf(context, request.name);
      const key = requestKeyOf(context, ResumeDestinationRequestSchema, request);
      return answerOf(host, await destinations.resume({ ...place, request: key }));
    },
    rotateWebhookSecret: (request, context) => rotateWebhookSecret(deps, request, context),
  };
}

const DISPLAY_NAME_LENGTH_MAX = 200;
const REASON_LENGTH_MAX = 200;
/** Longest overlap of a rotation (LIMIT-12). */
const OVERLAP_SECONDS_MAX = 86_400;

async function createDestination(
  { host, destinations }: DestinationDeps,
  request: CreateDestinationRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { displayName = '', target, groupWaitSeconds } = request.destination ?? {};
  const wanted = targetOf(target);
  if (!wanted) {
    const kinds = Object.keys(notificationKinds).sort().join(', ');
    throw invalidField('destination', `destination has no target: enter one of ${kinds}`);
  }
  checkDisplayName('destination.displayName', displayName);
  const { webhookSecret, ...changed } = await destinations.create({
    project,
    by: actorOf(context),
    displayName,
    target: wanted,
    ...groupWaitOf('destination.groupWaitSeconds', groupWaitSeconds),
    request: requestKeyOf(context, CreateDestinationRequestSchema, request),
  });
  return { destination: answerOf(host, changed), ...secretOf(webhookSecret) };
}

async function updateDestination(
  { host, destinations }: DestinationDeps,
  request: UpdateDestinationRequest,
  context: HandlerContext,
) {
  const place = placeOf(context, request.name);
  const { displayName, groupWaitSeconds } = request;
  const target = targetOf(request.target);
  if (displayName === '' && !target && groupWaitSeconds === undefined) {
    const known = 'displayName, a target or groupWaitSeconds';
    throw invalidField('displayName', `The request changes nothing: send ${known}`);
  }
  if (displayName !== '') checkDisplayName('displayName', displayName);
  const key = requestKeyOf(context, UpdateDestinationRequestSchema, request);
  const changed = await destinations.update({
    ...place,
    request: key,
    ...(displayName !== '' && { displayName }),
    ...(target && { target }),
    ...groupWaitOf('groupWaitSeconds', groupWaitSeconds),
  });
  return answerOf(host, changed);
}

async function rotateWebhookSecret(
  { host, destinations }: DestinationDeps,
  request: RotateWebhookSecretRequest,
  context: HandlerContext,
) {
  const place = placeOf(context, request.name);
  const { overlapSeconds } = request;
  if (overlapSeconds < 0 || overlapSeconds > OVERLAP_SECONDS_MAX) {
    const message = `overlapSeconds is ${overlapSeconds}: 0 (at once) to ${OVERLAP_SECONDS_MAX}`;
    throw invalidField('overlapSeconds', message);
  }
  const { webhookSecret, ...changed } = await destinations.rotateSecret({
    ...place,
    overlapMs: overlapSeconds * 1000,
    request: requestKeyOf(context, RotateWebhookSecretRequestSchema, request),
  });
  return { destination: answerOf(host, changed), ...secretOf(webhookSecret) };
}

/** Project, id and actor of a request about one destination. */
function placeOf(context: HandlerContext, name: string) {
  const { project, id } = parseName('name', name, 'destinations');
  return { project: within(context, project), id, by: actorOf(context) };
}

function answerOf(host: Host, { destination }: Changed): Destination {
  return destinationMessage(host, destination);
}

function secretOf(webhookSecret: string | undefined) {
  return { webhookSecret: webhookSecret ?? '', secretAvailable: webhookSecret !== undefined };
}

/** Undefined if the request has no target. */
function targetOf(target: Destination['target'] | undefined): NewTarget | undefined {
  if (target?.case === undefined) return undefined;
  if (target.case !== 'email') return { kind: target.case, url: target.value.url };
  return { kind: 'email', addresses: target.value.recipients.map(({ address }) => address) };
}

function groupWaitOf(field: string, seconds: number | undefined): { groupWaitMs?: number } {
  if (seconds === undefined) return {};
  if (seconds < 0 || seconds * 1000 > GROUP_WAIT_MS_MAX) {
    const message = `${field} is ${seconds}: 0 (no wait) to ${GROUP_WAIT_MS_MAX / 1000}`;
    throw invalidField(field, message);
  }
  return { groupWaitMs: seconds * 1000 };
}

function checkDisplayName(field: string, displayName: string): void {
  if (displayName.trim() === '' || displayName.length > DISPLAY_NAME_LENGTH_MAX) {
    throw invalidField(field, `${field} is empty or over ${DISPLAY_NAME_LENGTH_MAX} characters`);
  }
  if (!isOneLine(displayName)) throw invalidField(field, `${field} ${NOT_ONE_LINE}`);
}

function pauseReason(text: string): string {
  const reason = text.trim();
  if (reason.length > REASON_LENGTH_MAX) {
    throw invalidField('reason', `reason is over ${REASON_LENGTH_MAX} characters`);
  }
  if (!isOneLine(reason)) throw invalidField('reason', `reason ${NOT_ONE_LINE}`);
  return reason === '' ? 'Paused by a user' : reason;
}

/** For callers who may write: it contains recipients' addresses, but no URL and no secret. */
function destinationMessage(host: Pick<Host, 'view'>, row: Instance<'destination'>): Destination {
  const context = destinationOf(row);
  const { overlapEndsMs, failingSinceMs } = context;
  return create(DestinationSchema, {
    name: nameOf(row.project, 'destinations', row.instance),
    displayName: context.displayName,
    target: targetMessage(host, row),
    state: row.value === 'paused' ? Destination_State.PAUSED : Destination_State.ACTIVE,
    pausedReason: context.pausedReason ?? '',
    host: context.host,
    lastFour: context.lastFour,
    createdUnix: unixSeconds(context.createdMs),
    updatedUnix: unixSeconds(context.updatedMs),
    groupWaitSeconds: Math.round(context.groupWaitMs / 1000),
    ...(overlapEndsMs !== null && { secretOverlapEndsUnix: unixSeconds(overlapEndsMs) }),
    ...(failingSinceMs !== null && { failingSinceUnix: unixSeconds(failingSinceMs) }),
  });
}

/**
 * Looks up the index of deliveries once per state. Faults of this service are not stored with the
 * destination, so the error of the newest delivery may be newer.
 */
function withLastDelivery(host: Pick<Host, 'view'>, row: Instance<'destination'>): Destination {
  const message = destinationMessage(host, row);
  const [last] = host
    .view(row.project)
    .deliveries(
      { states: DELIVERY_STATES, events: DELIVERY_EVENTS, destination: row.instance },
      { limit: 1 },
    ).items;
  if (last) message.lastDelivery = lastDeliveryMessage(last);
  const kept = destinationOf(row).lastError;
  const newest = last && lastErrorOf(last);
  const displayed = kept && newest ? (newest.atMs > kept.atMs ? newest : kept) : (newest ?? kept);
  if (displayed) {
    const { atMs, error } = displayed;
    message.lastError = create(LastErrorSchema, { atUnix: unixSeconds(atMs), error });
  }
  return message;
}

type Target = NonNullable<MessageInitShape<typeof DestinationSchema>['target']>;

function targetMessage(host: Pick<Host, 'view'>, row: Instance<'destination'>): Target {
  const { kind } = destinationOf(row);
  if (kind !== 'email') return isRegistered(kind) ? { case: kind, value: {} } : { case: undefined };
  const rows = recipientRows(host.view(row.project), row.instance);
  const recipients = rows.map((one) => recipientMessage(host, one));
  return { case: 'email', value: { recipients } };
}

const STATES: Readonly<Record<string, EmailRecipient_State>> = {
  invited: EmailRecipient_State.INVITED,
  verified: EmailRecipient_State.VERIFIED,
  unsubscribed: EmailRecipient_State.UNSUBSCRIBED,
  bounced: EmailRecipient_State.BOUNCED,
};

function recipientMessage(host: Pick<Host, 'view'>, row: Instance<'recipient'>): EmailRecipient {
  const context = recipientOf(row);
  const { address, verifiedMs } = context;
  const subject = `recipients/${row.instance}` as const;
  const isUnconfirmed = row.value === 'invited' || row.value === 'bounced';
  return create(EmailRecipientSchema, {
    address: canonicalEmail(address),
    state: STATES[String(row.value)] ?? EmailRecipient_State.REMOVED,
    mailProblem: isUnconfirmed ? mailProblemOf(host.view(row.project), subject) : '',
    isMember: isOfMember(host.view(row.project), context, activePeople(host)),
    ...(verifiedMs !== null && { verifiedUnix: unixSeconds(verifiedMs) }),
  });
}
