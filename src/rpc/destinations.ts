/** The destinations part of `AlertService`. */
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import type { Destinations } from '../../actors/alerting/destinations-port.ts';
import type { Host } from '../../actors/host-port.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { AlertService } from '../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type CreateDestinationRequest,
  CreateDestinationRequestSchema,
  DeleteDestinationRequestSchema,
} from '../gen/svc/monitoring/v1/destination_pb.ts';
import { actorOf, requestKeyOf, within } from './caller.ts';
import { destinationMessage } from './destination-messages.ts';
import { findRow, listRows } from './instance-rows.ts';
import { parseName, parseProjectName } from './resource-name.ts';

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

export function destinationMethods(
  deps: DestinationDeps,
): Pick<ServiceImpl<typeof AlertService>, DestinationMethods> {
  const { host, destinations } = deps;
  return {
    createDestination: (request, context) => createDestination(deps, request, context),
    getDestination: ({ name }, context) =>
      destinationMessage(
        findRow(host, context, { machine: 'destination', name, collection: 'destinations' }),
      ),
    listDestinations(request, context) {
      const page = listRows(host, context, 'destination', request);
      return { destinations: page.items.map(destinationMessage), nextPageToken: page.token };
    },
    async deleteDestination(request, context) {
      const { project, id } = parseName('name', request.name, 'destinations');
      await destinations.delete({
        project: within(context, project),
        by: actorOf(context),
        request: requestKeyOf(context, DeleteDestinationRequestSchema, request),
        id,
      });
      return {};
    },
    updateDestination: notYet,
    verifyDestination: notYet,
    sendTestNotification: notYet,
    pauseDestination: notYet,
    resumeDestination: notYet,
    rotateWebhookSecret: notYet,
  };
}

function notYet(): never {
  throw new ConnectError('This method is being built', Code.Unimplemented);
}

const DISPLAY_NAME_LENGTH_MAX = 200;

async function createDestination(
  { destinations }: DestinationDeps,
  request: CreateDestinationRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { displayName = '', target } = request.destination ?? {};
  if (target?.case !== 'webhook' || target.value.url === '') {
    throw invalid(
      'destination.webhook.url',
      'destination.webhook.url is missing: say where to send',
    );
  }
  if (displayName.trim() === '' || displayName.length > DISPLAY_NAME_LENGTH_MAX) {
    const message = `destination.displayName is empty or over ${DISPLAY_NAME_LENGTH_MAX} characters`;
    throw invalid('destination.displayName', message);
  }
  const { destination, webhookSecret } = await destinations.create({
    project,
    by: actorOf(context),
    request: requestKeyOf(context, CreateDestinationRequestSchema, request),
    displayName,
    target: { kind: 'webhook', url: target.value.url },
  });
  return {
    destination: destinationMessage(destination),
    webhookSecret: webhookSecret ?? '',
    secretAvailable: webhookSecret !== undefined,
  };
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}
