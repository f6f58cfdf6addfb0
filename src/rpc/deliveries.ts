/** The deliveries part of `AlertService`. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Host, Instance, ProjectView, StoredRecord } from '../../actors/host-port.ts';
import type { DeliveryContext } from '../../machines/delivery.ts';
import type { AlertService } from '../gen/svc/monitoring/v1/alert_pb.ts';
import type { ListDeliveriesRequest } from '../gen/svc/monitoring/v1/delivery_pb.ts';
import { within } from './caller.ts';
import { deliveryMessage } from './delivery-messages.ts';
import { findRow } from './instance-rows.ts';
import { collect, mapPage } from './paging.ts';
import { parseName, parseProjectName } from './resource-name.ts';

export interface DeliveryDeps {
  readonly host: Host;
}

export function deliveryMethods({
  host,
}: DeliveryDeps): Pick<ServiceImpl<typeof AlertService>, 'listDeliveries' | 'getDelivery'> {
  return {
    listDeliveries: (request, context) => listDeliveries(host, request, context),
    getDelivery: ({ name }, context) =>
      deliveryMessage(
        findRow(host, context, { machine: 'delivery', name, collection: 'deliveries' }),
      ),
  };
}

function listDeliveries(host: Host, request: ListDeliveriesRequest, context: HandlerContext) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const named = request.incidentName
    ? parseName('incidentName', request.incidentName, 'incidents')
    : undefined;
  if (named) within(context, named.project);
  const view = host.view(project);
  const page = collect('deliveries', request, (options) =>
    mapPage(view.records('delivery', { ...options, descending: true }), (record) =>
      deliveryOf(view, record, named?.id),
    ),
  );
  return { deliveries: page.items.map(deliveryMessage), nextPageToken: page.token };
}

/** The delivery of a record; undefined when it is of another incident than the one asked for. */
function deliveryOf(
  view: ProjectView,
  { id }: StoredRecord,
  incident: string | undefined,
): Instance | undefined {
  const delivery = view.instance('delivery', id);
  if (!delivery) throw new Error(`The delivery ${id} is listed and is not there`);
  const context = delivery.context as unknown as DeliveryContext;
  return incident === undefined || context.incident === incident ? delivery : undefined;
}
