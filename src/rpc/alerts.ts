/** `AlertService`: reads a message, calls one function, answers. Rules of alerting live elsewhere. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { IncidentBody } from '../../actors/alerting/incident.ts';
import type { Host, Instance, ProjectView, StoredRecord } from '../../actors/host-port.ts';
import type { DeliveryContext } from '../../machines/delivery.ts';
import { Refusal } from '../../streams/refusal.ts';
import {
  type AlertService,
  type CreateDestinationRequest,
  CreateDestinationRequestSchema,
  DeleteDestinationRequestSchema,
  type Incident,
  Incident_State,
  type ListDeliveriesRequest,
  type ListIncidentsRequest,
} from '../gen/svc/monitoring/v1/alert_pb.ts';
import { deliveryMessage, destinationMessage, incidentMessage } from './alert-messages.ts';
import { type AlertPreviewDeps, previewAlertRule } from './alert-preview.ts';
import { type AlertRulesDeps, alertRuleMethods } from './alert-rules.ts';
import { actorOf, requestKeyOf, within } from './caller.ts';
import { type IncidentWatchDeps, incidentWatch } from './incident-watch.ts';
import { findRow, listRows } from './instance-rows.ts';
import { collect, mapPage } from './paging.ts';
import { type Collection, parseName, parseProjectName } from './resource-name.ts';

export function alertService(
  deps: AlertRulesDeps & AlertPreviewDeps & IncidentWatchDeps,
): ServiceImpl<typeof AlertService> {
  const { host, alerting } = deps;
  const row = (context: HandlerContext, machine: string, name: string, collection: Collection) =>
    findRow(host, context, { machine, name, collection });
  return {
    previewAlertRule: (request, context) => previewAlertRule(deps, request, context),
    ...alertRuleMethods(deps),
    ...incidentWatch(deps),
    listIncidents: (request, context) => listIncidents(host, request, context),
    getIncident({ name }, context) {
      const { project, id } = parseName('name', name, 'incidents');
      const record = host.view(within(context, project)).record('incident', id);
      if (!record) throw new Refusal('NOT_FOUND', `There is no ${name}`);
      return incidentOf(record);
    },
    createDestination: (request, context) => createDestination(deps, request, context),
    getDestination: ({ name }, context) =>
      destinationMessage(row(context, 'destination', name, 'destinations')),
    listDestinations(request, context) {
      const page = listRows(host, context, 'destination', request);
      return { destinations: page.items.map(destinationMessage), nextPageToken: page.token };
    },
    async deleteDestination(request, context) {
      const { project, id } = parseName('name', request.name, 'destinations');
      await alerting.deleteDestination({
        project: within(context, project),
        by: actorOf(context),
        request: requestKeyOf(context, DeleteDestinationRequestSchema, request),
        id,
      });
      return {};
    },
    listDeliveries: (request, context) => listDeliveries(host, request, context),
    getDelivery: ({ name }, context) =>
      deliveryMessage(row(context, 'delivery', name, 'deliveries')),
  };
}

const DISPLAY_NAME_LENGTH_MAX = 200;

async function createDestination(
  { alerting }: AlertRulesDeps,
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
  const { destination, webhookSecret } = await alerting.createWebhook({
    project,
    by: actorOf(context),
    request: requestKeyOf(context, CreateDestinationRequestSchema, request),
    displayName,
    url: target.value.url,
  });
  return {
    destination: destinationMessage(destination),
    webhookSecret: webhookSecret ?? '',
    secretAvailable: webhookSecret !== undefined,
  };
}

function listIncidents(host: Host, request: ListIncidentsRequest, context: HandlerContext) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const wanted = incidentFilter(request, context);
  const view = host.view(project);
  const page = collect('incidents', request, (options) =>
    mapPage(view.records('incident', { ...options, descending: true }), (record) => {
      const incident = incidentOf(record);
      return wanted(incident) ? incident : undefined;
    }),
  );
  return { incidents: page.items, nextPageToken: page.token };
}

function incidentFilter(
  request: ListIncidentsRequest,
  context: HandlerContext,
): (incident: Incident) => boolean {
  const { state, ruleName, vmName, startTimeUnix, endTimeUnix } = request;
  if (ruleName) within(context, parseName('ruleName', ruleName, 'alertRules').project);
  if (vmName) within(context, parseName('vmName', vmName, 'vms').project);
  if (startTimeUnix < 0n) throw invalid('startTimeUnix', `startTimeUnix is ${startTimeUnix}`);
  if (endTimeUnix < 0n || (endTimeUnix !== 0n && endTimeUnix < startTimeUnix)) {
    throw invalid('endTimeUnix', `endTimeUnix ${endTimeUnix} is before ${startTimeUnix}`);
  }
  return (incident) =>
    (state === Incident_State.STATE_UNSPECIFIED || incident.state === state) &&
    (ruleName === '' || incident.ruleName === ruleName) &&
    (vmName === '' || incident.vmName === vmName) &&
    incident.firedUnix >= startTimeUnix &&
    (endTimeUnix === 0n || incident.firedUnix <= endTimeUnix);
}

function incidentOf({ project, body }: StoredRecord): Incident {
  return incidentMessage(project, body as unknown as IncidentBody);
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

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}
