/** The incidents part of `AlertService`: read, explained, acknowledged and snoozed. */
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import type { IncidentBody } from '../../actors/alerting/incident.ts';
import type { Host, StoredRecord } from '../../actors/host-port.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { AlertService } from '../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type Incident,
  Incident_State,
  type ListIncidentsRequest,
} from '../gen/svc/monitoring/v1/incident_pb.ts';
import { within } from './caller.ts';
import { incidentMessage } from './incident-messages.ts';
import { collect, mapPage } from './paging.ts';
import { parseName, parseProjectName } from './resource-name.ts';

export interface IncidentDeps {
  readonly host: Host;
}

type IncidentMethods =
  | 'listIncidents'
  | 'getIncident'
  | 'explainIncident'
  | 'acknowledgeIncident'
  | 'snoozeIncident'
  | 'unsnoozeIncident';

export function incidentMethods({
  host,
}: IncidentDeps): Pick<ServiceImpl<typeof AlertService>, IncidentMethods> {
  return {
    listIncidents: (request, context) => listIncidents(host, request, context),
    getIncident({ name }, context) {
      const { project, id } = parseName('name', name, 'incidents');
      const record = host.view(within(context, project)).record('incident', id);
      if (!record) throw new Refusal('NOT_FOUND', `There is no ${name}`);
      return incidentOf(record);
    },
    explainIncident: notYet,
    acknowledgeIncident: notYet,
    snoozeIncident: notYet,
    unsnoozeIncident: notYet,
  };
}

function notYet(): never {
  throw new ConnectError('This method is being built', Code.Unimplemented);
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

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}
