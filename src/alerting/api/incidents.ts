/** The incident methods of `AlertService`: read, explain, acknowledge and snooze. */
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { createIncidentActs, type IncidentAct } from '../../../actors/alerting/incident-acts.ts';
import type {
  Host,
  ListOptions,
  ProjectRecord,
  ProjectView,
} from '../../../actors/platform/host/host-port.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import type { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  AcknowledgeIncidentRequestSchema,
  type Incident,
  Incident_State,
  type ListIncidentsRequest,
  ListIncidentsResponseSchema,
  SnoozeIncidentRequestSchema,
  UnsnoozeIncidentRequestSchema,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import { actorOf, callerOf, mayWrite, requestKeyOf, within } from '../../platform/api/caller.ts';
import { listAnswer } from '../../platform/api/list-answer.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { nameOf, parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import { actorForCredentials, actorsForPeople } from '../../platform/api/transition-messages.ts';
import { type ExplainDeps, explain, heldVmsOf } from './incident-explain.ts';
import { incidentMessage } from './incident-messages.ts';
import { timelineOf } from './incident-timeline.ts';

export type IncidentDeps = ExplainDeps & {
  readonly host: Host;
};

type IncidentMethods =
  | 'listIncidents'
  | 'getIncident'
  | 'explainIncident'
  | 'acknowledgeIncident'
  | 'snoozeIncident'
  | 'unsnoozeIncident';

export function incidentMethods(
  deps: IncidentDeps,
): Pick<ServiceImpl<typeof AlertService>, IncidentMethods> {
  const { host } = deps;
  const acts = createIncidentActs(host);
  return {
    listIncidents: (request, context) => listIncidents(host, request, context),
    getIncident: ({ name }, context) => getIncident(host, name, context),
    explainIncident: ({ name }, context) => explainIncident(deps, name, context),
    async acknowledgeIncident(request, context) {
      const about = aboutAct(context, AcknowledgeIncidentRequestSchema, request);
      await acts.acknowledge({ ...about, note: request.note });
      return getIncident(host, request.name, context);
    },
    async snoozeIncident(request, context) {
      const about = aboutAct(context, SnoozeIncidentRequestSchema, request);
      await acts.snooze({ ...about, untilMs: untilMsOf(request.untilUnix) });
      return getIncident(host, request.name, context);
    },
    async unsnoozeIncident(request, context) {
      await acts.unsnooze(aboutAct(context, UnsnoozeIncidentRequestSchema, request));
      return getIncident(host, request.name, context);
    },
  };
}

/** The fields of every act: incident, actor and request. */
function aboutAct<D extends DescMessage>(
  context: HandlerContext,
  schema: D,
  request: MessageShape<D> & { readonly name: string; requestId: string },
): IncidentAct {
  const { project, id } = parseName('name', request.name, 'incidents');
  within(context, project);
  return { project, id, by: actorOf(context), request: requestKeyOf(context, schema, request) };
}

/** Clamps impossible times: the decision refuses them by its own clock. */
function untilMsOf(untilUnix: bigint): number {
  return Math.min(Number(untilUnix) * 1000, Number.MAX_SAFE_INTEGER);
}

function getIncident(host: Host, name: string, context: HandlerContext): Incident {
  return fullIncident(host, recordOf(host, name, context), context);
}

function recordOf(host: Host, name: string, context: HandlerContext): ProjectRecord<'incident'> {
  const { project, id } = parseName('name', name, 'incidents');
  const record = host.view(within(context, project)).record('incident', id);
  if (record) return record;
  throw new Refusal('NOT_FOUND', `There is no ${name}`);
}

async function explainIncident(deps: IncidentDeps, name: string, context: HandlerContext) {
  const record = recordOf(deps.host, name, context);
  const view = deps.host.view(record.project);
  const body = record.body;
  const explanation = await explain(deps, view, body, context.signal);
  // Checked again: access may have ended while the history was read.
  within(context, record.project);
  return { incident: fullIncident(deps.host, record, context), ...explanation };
}

/** The incident with its timeline and silent VMs, which lists leave out. */
function fullIncident(
  host: Host,
  record: ProjectRecord<'incident'>,
  context: HandlerContext,
): Incident {
  const { project, id } = record;
  const body = record.body;
  const view = host.view(project);
  const isPerson = callerOf(context).kind === 'human';
  const reader = {
    showActor: isPerson ? actorsForPeople(host) : actorForCredentials,
    mayWrite: mayWrite(context, project),
  };
  const message = incidentOf(record);
  message.heldVms = heldVmsOf(view, id).map((vm) => nameOf(project, 'vms', vm));
  message.timeline = timelineOf(view, body, reader);
  return message;
}

async function listIncidents(host: Host, request: ListIncidentsRequest, context: HandlerContext) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const wanted = incidentFilter(request, context);
  const view = host.view(project);
  const read = (options: ListOptions) =>
    mapPage(view.records('incident', { ...options, descending: true }), (record) => {
      const incident = incidentOf(record);
      const isOf = isOfVm(view, record, request.vmName);
      return isOf && wanted(incident) ? incident : undefined;
    });
  const page = await collect('incidents', request, read, turnsOf(context));
  return await listAnswer(context, {
    schema: ListIncidentsResponseSchema,
    field: 'incidents',
    ...page,
  });
}

function incidentFilter(
  request: ListIncidentsRequest,
  context: HandlerContext,
): (incident: Incident) => boolean {
  const { state, ruleName, vmName, startTimeUnix, endTimeUnix } = request;
  if (ruleName) within(context, parseName('ruleName', ruleName, 'alertRules').project);
  if (vmName) within(context, parseName('vmName', vmName, 'vms').project);
  if (startTimeUnix < 0n) throw invalidField('startTimeUnix', `startTimeUnix is ${startTimeUnix}`);
  if (endTimeUnix < 0n || (endTimeUnix !== 0n && endTimeUnix < startTimeUnix)) {
    throw invalidField('endTimeUnix', `endTimeUnix ${endTimeUnix} is before ${startTimeUnix}`);
  }
  return (incident) =>
    (state === Incident_State.STATE_UNSPECIFIED || incident.state === state) &&
    (ruleName === '' || incident.ruleName === ruleName) &&
    incident.firedUnix >= startTimeUnix &&
    (endTimeUnix === 0n || incident.firedUnix <= endTimeUnix);
}

/** True for an incident of the VM, or of a data center whose silent VMs include it. '' = any VM. */
function isOfVm(
  view: ProjectView,
  { id, project, body }: ProjectRecord<'incident'>,
  vmName: string,
): boolean {
  const { vm, datacenter } = body;
  if (vmName === '' || nameOf(project, 'vms', vm) === vmName) return true;
  if (datacenter === undefined) return false;
  return heldVmsOf(view, id).some((held) => nameOf(project, 'vms', held) === vmName);
}

function incidentOf({ project, body }: ProjectRecord<'incident'>): Incident {
  return incidentMessage(project, body);
}
