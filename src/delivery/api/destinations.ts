/** The destinations part of `AlertService`. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type {
  Changed,
  Destinations,
  NewTarget,
} from '../../../actors/delivery/destinations-port.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import { isOneLine, NOT_ONE_LINE } from '../../../actors/platform/one-line.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type CreateDestinationRequest,
  CreateDestinationRequestSchema,
  DeleteDestinationRequestSchema,
  type Destination,
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
import { findRow, listRows } from '../../platform/api/instance-rows.ts';
import { nameOf, parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { destinationMessage } from './destination-messages.ts';

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

export function destinationMethods(deps: DestinationDeps): Methods<DestinationMethods> {
  const { host, destinations } = deps;
  return {
    createDestination: (request, context) => createDestination(deps, request, context),
    getDestination({ name }, context) {
      const place = { machine: 'destination', name, collection: 'destinations' } as const;
      const row = findRow(host, context, place);
      return destinationMessage(host, row);
    },
    async listDestinations(request, context) {
      const page = await listRows(host, context, 'destination', request);
      return {
        destinations: page.items.map((row) => destinationMessage(host, row)),
        nextPageToken: page.token,
      };
    },
    updateDestination: (request, context) => updateDestination(deps, request, context),
    async deleteDestination(request, context) {
      const place = placeOf(context, request.name);
      const key = requestKeyOf(context, DeleteDestinationRequestSchema, request);
      await destinations.delete({ ...place, request: key });
      return {};
    },
    ...actMethods(deps),
  };
}

/** What people do with a destination that is there. */
function actMethods(
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
  const { displayName = '', target } = request.destination ?? {};
  const wanted = targetOf(target);
  if (!wanted) {
    const message =
      'destination says nowhere to send: one of webhook, email, slack, teams, discord';
    throw invalid('destination', message);
  }
  checkDisplayName('destination.displayName', displayName);
  const { webhookSecret, ...changed } = await destinations.create({
    ...{ project, by: actorOf(context), displayName, target: wanted },
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
  const { displayName } = request;
  const target = targetOf(request.target);
  if (displayName === '' && !target) {
    throw invalid('displayName', 'Nothing is to change: say displayName, or where to send');
  }
  if (displayName !== '') checkDisplayName('displayName', displayName);
  const key = requestKeyOf(context, UpdateDestinationRequestSchema, request);
  const changed = await destinations.update({
    ...{ ...place, request: key },
    ...(displayName !== '' && { displayName }),
    ...(target && { target }),
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
    throw invalid('overlapSeconds', message);
  }
  const { webhookSecret, ...changed } = await destinations.rotateSecret({
    ...{ ...place, overlapMs: overlapSeconds * 1000 },
    request: requestKeyOf(context, RotateWebhookSecretRequestSchema, request),
  });
  return { destination: answerOf(host, changed), ...secretOf(webhookSecret) };
}

/** Project, id and actor of a request for one destination. */
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

/** undefined: none was said. */
function targetOf(target: Destination['target'] | undefined): NewTarget | undefined {
  if (target?.case === undefined) return undefined;
  if (target.case !== 'email') return { kind: target.case, url: target.value.url };
  return { kind: 'email', addresses: target.value.recipients.map(({ address }) => address) };
}

function checkDisplayName(field: string, displayName: string): void {
  if (displayName.trim() === '' || displayName.length > DISPLAY_NAME_LENGTH_MAX) {
    throw invalid(field, `${field} is empty or over ${DISPLAY_NAME_LENGTH_MAX} characters`);
  }
  if (!isOneLine(displayName)) throw invalid(field, `${field} ${NOT_ONE_LINE}`);
}

function pauseReason(text: string): string {
  const reason = text.trim();
  if (reason.length > REASON_LENGTH_MAX) {
    throw invalid('reason', `reason is over ${REASON_LENGTH_MAX} characters`);
  }
  if (!isOneLine(reason)) throw invalid('reason', `reason ${NOT_ONE_LINE}`);
  return reason === '' ? 'A person paused it' : reason;
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}
