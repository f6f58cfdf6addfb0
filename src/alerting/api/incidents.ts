/** The incident methods of `AlertService`: read, explain, acknowledge and snooze. */
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { incidentSort } from '../../../actors/alerting/incident.ts';
import {
  type ActionOnSeveral,
  type ActionResult,
  createIncidentActions,
  INCIDENTS_MAX,
  type IncidentAction,
} from '../../../actors/alerting/incident-actions.ts';
import type {
  Host,
  ListOptions,
  ProjectRecord,
  ProjectView,
} from '../../../actors/platform/host/host-port.ts';
import {
  INCIDENT_STATUSES,
  type IncidentFilter,
  type IncidentStatus,
} from '../../../streams/platform/commit/projection.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import type { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  AcknowledgeIncidentRequestSchema,
  AcknowledgeIncidentsRequestSchema,
  type Incident,
  Incident_State,
  type ListIncidentsRequest,
  ListIncidentsResponseSchema,
  SnoozeIncidentRequestSchema,
  SnoozeIncidentsRequestSchema,
  UnsnoozeIncidentRequestSchema,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import { AlertRuleSpec_Severity } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { actorOf, callerOf, mayWrite, requestKeyOf, within } from '../../platform/api/caller.ts';
import { listAnswer } from '../../platform/api/list-answer.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import {
  type Collection,
  nameOf,
  parseName,
  parseProjectName,
} from '../../platform/api/resource-name.ts';
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
  | 'unsnoozeIncident'
  | 'acknowledgeIncidents'
  | 'snoozeIncidents';

/** The methods of this part. An act returns the changed incident. */
export function incidentMethods(
  deps: IncidentDeps,
): Pick<ServiceImpl<typeof AlertService>, IncidentMethods> {
  const { host } = deps;
  const actions = createIncidentActions(host);
  return {
    listIncidents: (request, context) => listIncidents(host, request, context),
    getIncident: ({ name }, context) => getIncident(host, name, context),
    explainIncident: ({ name }, context) => explainIncident(deps, name, context),
    async acknowledgeIncident(request, context) {
      const about = aboutAction(context, AcknowledgeIncidentRequestSchema, request);
      await actions.acknowledge({ ...about, note: request.note });
      return getIncident(host, request.name, context);
    },
    async snoozeIncident(request, context) {
      const about = aboutAction(context, SnoozeIncidentRequestSchema, request);
      await actions.snooze({ ...about, untilMs: untilMsOf(request.untilUnix) });
      return getIncident(host, request.name, context);
    },
    async unsnoozeIncident(request, context) {
      await actions.unsnooze(aboutAction(context, UnsnoozeIncidentRequestSchema, request));
      return getIncident(host, request.name, context);
    },
    async acknowledgeIncidents(request, context) {
      const about = aboutSeveral(context, AcknowledgeIncidentsRequestSchema, request);
      const done = await actions.acknowledgeSeveral({ ...about, note: request.note });
      return { results: resultMessages(host, about.project, done) };
    },
    async snoozeIncidents(request, context) {
      const about = aboutSeveral(context, SnoozeIncidentsRequestSchema, request);
      const untilMs = untilMsOf(request.untilUnix);
      const done = await actions.snoozeSeveral({ ...about, untilMs });
      return { results: resultMessages(host, about.project, done) };
    },
  };
}

/** The fields of every act: incident, actor and request. */
function aboutAction<D extends DescMessage>(
  context: HandlerContext,
  schema: D,
  request: MessageShape<D> & { readonly name: string; requestId: string },
): IncidentAction {
  const { project, id } = parseName('name', request.name, 'incidents');
  within(context, project);
  return { project, id, by: actorOf(context), request: requestKeyOf(context, schema, request) };
}

/**
 * The same for an act on several incidents of one project. Throws INVALID_FIELD for their names.
 */
function aboutSeveral<D extends DescMessage>(
  context: HandlerContext,
  schema: D,
  request: MessageShape<D> & {
    readonly projectName: string;
    readonly names: readonly string[];
    requestId: string;
  },
): ActionOnSeveral {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { names } = request;
  if (names.length === 0 || names.length > INCIDENTS_MAX) {
    throw invalidField(
      'names',
      `names has ${names.length} incidents; it must have 1 to ${INCIDENTS_MAX}`,
    );
  }
  const ids = names.map((name) => {
    const named = parseName('names', name, 'incidents');
    within(context, named.project);
    if (named.project === project) return named.id;
    throw invalidField('names', `names contains ${name}, which is not in projects/${project}`);
  });
  if (new Set(ids).size < ids.length)
    throw invalidField('names', 'names contains an incident twice');
  return { project, ids, by: actorOf(context), request: requestKeyOf(context, schema, request) };
}

function resultMessages(host: Host, project: string, results: readonly ActionResult[]) {
  const view = host.view(project);
  return results.map(({ id, refusal }) => {
    const body = view.record('incident', id)?.body;
    return {
      name: nameOf(project, 'incidents', id),
      errorReason: refusal?.reason ?? '',
      errorMessage: refusal?.message ?? '',
      ...(body && { incident: incidentMessage(project, body) }),
    };
  });
}

/** Clamps impossible times; the decision rejects them by its own clock. */
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
  // Checked again, because access may have ended while the history was read.
  within(context, record.project);
  return { incident: fullIncident(deps.host, record, context), ...explanation };
}

/** The incident with its timeline and silent VMs, which lists omit. */
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
  const filter = incidentFilter(request, context);
  const view = host.view(project);
  const read = (options: ListOptions) =>
    mapPage(view.incidents(filter, options), (record) =>
      isOfVm(view, record, request.vmName) ? incidentOf(record) : undefined,
    );
  const page = await collect('incidents', request, read, turnsOf(context));
  return await listAnswer(context, {
    schema: ListIncidentsResponseSchema,
    field: 'incidents',
    items: page.items,
    nextPageToken: page.nextPageToken,
  });
}

/** Throws INVALID_FIELD, and PROJECT_BOUNDARY for a rule or VM of another project. */
function incidentFilter(request: ListIncidentsRequest, context: HandlerContext): IncidentFilter {
  const { ruleName, vmName, startTimeUnix, endTimeUnix, datacenter } = request;
  const rule = ruleName === '' ? undefined : idIn(context, 'ruleName', ruleName, 'alertRules');
  const vm = vmName === '' ? undefined : idIn(context, 'vmName', vmName, 'vms');
  if (startTimeUnix < 0n) throw invalidField('startTimeUnix', `startTimeUnix is ${startTimeUnix}`);
  if (endTimeUnix < 0n || (endTimeUnix !== 0n && endTimeUnix < startTimeUnix)) {
    throw invalidField('endTimeUnix', `endTimeUnix ${endTimeUnix} is before ${startTimeUnix}`);
  }
  if (datacenter.length > DATACENTER_MAX) {
    const message = `datacenter has ${datacenter.length} characters; at most ${DATACENTER_MAX} are allowed`;
    throw invalidField('datacenter', message);
  }
  return {
    statuses: statusesOf(request),
    severities: severitiesOf(request),
    ...(rule !== undefined && { rule }),
    // Incidents of whole data centers have no VM of their own, but include silent VMs.
    ...(vm !== undefined && { vms: [vm, ''] }),
    ...(datacenter !== '' && { place: datacenter }),
    ...(startTimeUnix > 0n && { sortFrom: incidentSort(Number(startTimeUnix) * 1000) }),
    // The range includes the whole second.
    ...(endTimeUnix > 0n && { sortBefore: incidentSort((Number(endTimeUnix) + 1) * 1000) }),
  };
}

const DATACENTER_MAX = 200;

function idIn(
  context: HandlerContext,
  field: string,
  name: string,
  collection: Collection,
): string {
  const { project, id } = parseName(field, name, collection);
  within(context, project);
  return id;
}

function statusesOf({ state, attention }: ListIncidentsRequest): readonly IncidentStatus[] {
  switch (state) {
    case Incident_State.STATE_UNSPECIFIED:
      return attention ? ['FIRING'] : INCIDENT_STATUSES;
    case Incident_State.FIRING:
      return attention ? ['FIRING'] : OPEN_STATUSES;
    case Incident_State.RECOVERED:
      return attention ? [] : ['RECOVERED'];
    case Incident_State.RETIRED:
      return attention ? [] : ['RETIRED'];
    default:
      throw invalidField('state', `state has the unknown value ${state}`);
  }
}

const OPEN_STATUSES = INCIDENT_STATUSES.filter(
  (status) => status !== 'RECOVERED' && status !== 'RETIRED',
);
const SEVERITIES = ['INFO', 'WARNING', 'CRITICAL'] as const;

function severitiesOf({ severities }: ListIncidentsRequest): readonly string[] {
  if (severities.length === 0) return SEVERITIES;
  return severities.map((severity) => {
    const name = SEVERITIES.find((one) => AlertRuleSpec_Severity[one] === severity);
    if (name) return name;
    throw invalidField('severities', `severities holds ${severity}: ${SEVERITIES.join(', ')}`);
  });
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
