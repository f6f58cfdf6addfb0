/**
 * The deliveries part of `AlertService`. Who is told, and what endpoints answered, is shown to those
 * alone who may also change where people are told.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type {
  Host,
  Instance,
  ListOptions,
  ProjectView,
  StoredRecord,
} from '../../../actors/platform/host/host-port.ts';
import type { DeliveryContext } from '../../../machines/delivery/delivery.ts';
import type { SecretStore } from '../../../sqlite/platform/secret-store.ts';
import type { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type GetDeliveryRequest,
  type ListDeliveriesRequest,
  ListDeliveriesResponseSchema,
} from '../../gen/svc/monitoring/v1/delivery_pb.ts';
import { mayWrite, within } from '../../platform/api/caller.ts';
import { findRow } from '../../platform/api/instance-rows.ts';
import { listAnswer } from '../../platform/api/list-answer.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { type Collection, parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import { deliveryMessage, recipientAddress } from './delivery-messages.ts';

export interface DeliveryDeps {
  readonly host: Host;
  readonly secrets: Pick<SecretStore, 'excerpts'>;
}

export function deliveryMethods(
  deps: DeliveryDeps,
): Pick<ServiceImpl<typeof AlertService>, 'listDeliveries' | 'getDelivery'> {
  return {
    listDeliveries: (request, context) => listDeliveries(deps, request, context),
    getDelivery: (request, context) => getDelivery(deps, request, context),
  };
}

function getDelivery(
  { host, secrets }: DeliveryDeps,
  { name }: GetDeliveryRequest,
  context: HandlerContext,
) {
  const row = findRow(host, context, { machine: 'delivery', name, collection: 'deliveries' });
  if (!mayWrite(context, row.project)) return deliveryMessage(row);
  return deliveryMessage(row, {
    recipient: recipientAddress(host.view(row.project), row),
    excerpts: secrets.excerpts.of(row.instance),
  });
}

/** Ids of what is asked for; undefined = all. */
interface Filter {
  readonly incident: string | undefined;
  readonly destination: string | undefined;
}

async function listDeliveries(
  { host }: DeliveryDeps,
  request: ListDeliveriesRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const filter = {
    incident: idIn(context, 'incidents', { incidentName: request.incidentName }),
    destination: idIn(context, 'destinations', { destinationName: request.destinationName }),
  };
  const view = host.view(project);
  const isShown = mayWrite(context, project);
  const read = (options: ListOptions) =>
    mapPage(view.records('delivery', { ...options, descending: true }), (record) => {
      const row = deliveryOf(view, record, filter);
      return row && deliveryMessage(row, isShown ? { recipient: recipientAddress(view, row) } : {});
    });
  const page = await collect('deliveries', request, read, turnsOf(context));
  return await listAnswer(context, {
    ...{ schema: ListDeliveriesResponseSchema, field: 'deliveries', items: page.items },
    nextPageToken: page.token,
  });
}

/** Id in a name given as `{field: name}`, of a project that the caller may read; '' is none. */
function idIn(
  context: HandlerContext,
  collection: Collection,
  given: Readonly<Record<string, string>>,
): string | undefined {
  const [[field, name] = ['', '']] = Object.entries(given);
  if (name === '') return undefined;
  const named = parseName(field, name, collection);
  within(context, named.project);
  return named.id;
}

/** The delivery of a record; undefined when it is of another incident, or to another destination. */
function deliveryOf(
  view: ProjectView,
  { id }: StoredRecord,
  { incident, destination }: Filter,
): Instance | undefined {
  const delivery = view.instance('delivery', id);
  if (!delivery) throw new Error(`The delivery ${id} is listed and is not there`);
  const context = delivery.context as unknown as DeliveryContext;
  if (incident !== undefined && context.incident !== incident) return undefined;
  return destination === undefined || context.destination === destination ? delivery : undefined;
}
