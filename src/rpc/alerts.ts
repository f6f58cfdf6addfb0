/** `AlertService`: reads a message, calls one function, answers. Rules of alerting live elsewhere. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { IncidentBody } from '../../actors/alerting/incident.ts';
import type { Alerting } from '../../actors/alerting/port.ts';
import { validateRuleSpec } from '../../actors/alerting/rule-spec.ts';
import type { EvaluatorView } from '../../actors/evaluator-port.ts';
import type { Host, Instance, ProjectView, StoredRecord } from '../../actors/host-port.ts';
import type { AlertRuleContext } from '../../machines/alert-rule.ts';
import type { DeliveryContext } from '../../machines/delivery.ts';
import type { Clock } from '../../streams/clock.ts';
import { Refusal } from '../../streams/refusal.ts';
import {
  type AlertRuleSpec,
  type AlertService,
  CreateDestinationRequestSchema,
  DeleteAlertRuleRequestSchema,
  DeleteDestinationRequestSchema,
  type Incident,
  Incident_State,
  type ListIncidentsRequest,
  type SaveAlertRuleRequest,
  SaveAlertRuleRequestSchema,
} from '../gen/svc/monitoring/v1/alert_pb.ts';
import {
  deliveryMessage,
  destinationMessage,
  incidentMessage,
  instanceMessage,
  requestedSpec,
  ruleMessage,
} from './alert-messages.ts';
import { actorOf, checkUuid, requestKeyOf, within } from './caller.ts';
import { collect, listOptions, mapPage, pageSize, pageToken, parsePageToken } from './paging.ts';
import { type Collection, parseName, parseProjectName } from './resource-name.ts';

export interface AlertDeps {
  readonly host: Host;
  readonly alerting: Alerting;
  readonly evaluator: EvaluatorView;
  readonly clock: Clock;
}

/** How long a save waits for its rule to be applied, ms (api.md, SaveAlertRule). */
const APPLY_WAIT_MS = 500;

export function alertService(deps: AlertDeps): ServiceImpl<typeof AlertService> {
  const { host, alerting, evaluator } = deps;
  const row = (context: HandlerContext, machine: string, name: string, collection: Collection) =>
    findRow(host, context, { machine, name, collection });
  return {
    saveAlertRule: (request, context) => saveAlertRule(deps, request, context),
    getAlertRule: ({ name }, context) => ruleMessage(row(context, 'alertRule', name, 'alertRules')),
    listAlertRules(request, context) {
      const page = listRows(host, context, 'alertRule', request);
      return { rules: page.items.map(ruleMessage), nextPageToken: page.token };
    },
    async deleteAlertRule(request, context) {
      const { project, id } = parseName('name', request.name, 'alertRules');
      await alerting.deleteRule({
        project: within(context, project),
        by: actorOf(context),
        request: requestKeyOf(context, DeleteAlertRuleRequestSchema, request),
        id,
        expectedVersion: request.expectedVersion,
      });
      return {};
    },
    listAlertInstances: (request, context) => {
      const project = within(context, parseProjectName('projectName', request.projectName));
      const rule = request.ruleName && parseName('ruleName', request.ruleName, 'alertRules').id;
      const wanted = evaluator.instances(project).filter((each) => !rule || each.rule === rule);
      const start = Number(parsePageToken('alertInstances', request.pageToken) ?? 0);
      const end = start + pageSize(request.pageSize);
      const next = end < wanted.length ? String(end) : undefined;
      const instances = wanted.slice(start, end).map(instanceMessage);
      return { instances, nextPageToken: pageToken('alertInstances', next) };
    },
    listIncidents: (request, context) => listIncidents(host, request, context),
    getIncident({ name }, context) {
      const { project, id } = parseName('name', name, 'incidents');
      const record = host.view(within(context, project)).record('incident', id);
      if (!record) throw notFound(name);
      return incidentOf(record);
    },
    createDestination: (request, context) => {
      const { destination } = request;
      if (destination?.target.case !== 'webhook') {
        throw invalid('destination.webhook', 'destination.webhook is missing: give it a url');
      }
      return createWebhook(deps, context, {
        project: within(context, parseProjectName('projectName', request.projectName)),
        by: actorOf(context),
        request: requestKeyOf(context, CreateDestinationRequestSchema, request),
        displayName: destination.displayName,
        url: destination.target.value.url,
      });
    },
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
    listDeliveries(request, context) {
      const project = within(context, parseProjectName('projectName', request.projectName));
      const incident =
        request.incidentName && parseName('incidentName', request.incidentName, 'incidents').id;
      const view = host.view(project);
      const page = collect('deliveries', request, (options) =>
        mapPage(view.records('delivery', { ...options, descending: true }), (record) =>
          deliveryOf(view, record, incident),
        ),
      );
      return { deliveries: page.items.map(deliveryMessage), nextPageToken: page.token };
    },
    getDelivery: ({ name }, context) =>
      deliveryMessage(row(context, 'delivery', name, 'deliveries')),
  };
}

async function saveAlertRule(
  { host, alerting, clock }: AlertDeps,
  request: SaveAlertRuleRequest,
  context: HandlerContext,
) {
  checkUuid('id', request.id);
  if (request.id === request.requestId) {
    throw invalid('requestId', 'requestId equals id: make a UUID of its own for the request');
  }
  if (!/^\d{1,15}$/.test(request.expectedVersion)) {
    throw invalid(
      'expectedVersion',
      'expectedVersion is missing: "0" to create, else the version read',
    );
  }
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { answer } = await alerting.saveRule({
    project,
    by: actorOf(context),
    request: requestKeyOf(context, SaveAlertRuleRequestSchema, request),
    id: request.id,
    expectedVersion: request.expectedVersion,
    spec: validateRuleSpec(requestedSpec(specOf(request))),
  });
  const rule = await appliedRule(host, clock, {
    project,
    id: request.id,
    version: Number(answer.version),
  });
  const { name, version, appliedVersion, syncStatus, syncError } = ruleMessage(rule);
  return { name, version, appliedVersion, syncStatus, syncError };
}

function specOf({ spec }: SaveAlertRuleRequest): AlertRuleSpec {
  if (spec) return spec;
  throw invalid('spec', 'spec is missing: say what to watch');
}

/** The rule's row once the version is applied, or as it is after the wait. */
async function appliedRule(
  host: Host,
  clock: Clock,
  { project, id, version }: { project: string; id: string; version: number },
): Promise<Instance> {
  const read = (): Instance => {
    const found = host.view(project).instance('alertRule', id);
    if (!found) throw new Error(`The rule ${id} was committed and is not there`);
    return found;
  };
  const isApplied = ({ context }: Instance): boolean =>
    (context as unknown as AlertRuleContext).appliedVersion >= version;
  if (isApplied(read())) return read();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.wakeAfter(APPLY_WAIT_MS, resolve);
  const undo = host.onApplied(({ commit }) => {
    if (commit.project === project && isApplied(read())) resolve();
  });
  await promise;
  cancel();
  undo();
  return read();
}

async function createWebhook(
  { alerting }: AlertDeps,
  _context: HandlerContext,
  creation: Parameters<Alerting['createWebhook']>[0],
) {
  if (creation.displayName.trim() === '' || creation.displayName.length > 200) {
    throw invalid(
      'destination.displayName',
      'destination.displayName is empty or over 200 characters',
    );
  }
  const { destination, webhookSecret } = await alerting.createWebhook(creation);
  return {
    destination: destinationMessage(destination),
    webhookSecret: webhookSecret ?? '',
    secretAvailable: webhookSecret !== undefined,
  };
}

function listIncidents(host: Host, request: ListIncidentsRequest, context: HandlerContext) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const wanted = incidentFilter(request);
  const view = host.view(project);
  const page = collect('incidents', request, (options) =>
    mapPage(view.records('incident', { ...options, descending: true }), (record) => {
      const incident = incidentOf(record);
      return wanted(incident) ? incident : undefined;
    }),
  );
  return { incidents: page.items, nextPageToken: page.token };
}

function incidentFilter(request: ListIncidentsRequest): (incident: Incident) => boolean {
  const { state, ruleName, vmName, startTimeUnix, endTimeUnix } = request;
  if (ruleName) parseName('ruleName', ruleName, 'alertRules');
  if (vmName) parseName('vmName', vmName, 'vms');
  if (endTimeUnix !== 0n && endTimeUnix < startTimeUnix) {
    throw invalid('endTimeUnix', 'endTimeUnix is before startTimeUnix');
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

function deliveryOf(
  view: ProjectView,
  { id }: StoredRecord,
  incident: string,
): Instance | undefined {
  const delivery = view.instance('delivery', id);
  if (!delivery) throw new Error(`The delivery ${id} is listed and is not there`);
  const context = delivery.context as unknown as DeliveryContext;
  return incident === '' || context.incident === incident ? delivery : undefined;
}

function listRows(
  host: Host,
  context: HandlerContext,
  machine: string,
  request: { projectName: string; pageSize: number; pageToken: string },
): { items: readonly Instance[]; token: string } {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const options = { ...listOptions(machine, request), final: false };
  const page = host.view(project).instances(machine, options);
  return { items: page.items, token: pageToken(machine, page.next) };
}

function findRow(
  host: Host,
  context: HandlerContext,
  { machine, name, collection }: { machine: string; name: string; collection: Collection },
): Instance {
  const { project, id } = parseName('name', name, collection);
  const found = host.view(within(context, project)).instance(machine, id);
  if (!found || found.value === 'deleted') throw notFound(name);
  return found;
}

function notFound(name: string): Refusal {
  return new Refusal('NOT_FOUND', `There is no ${name}`);
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}
