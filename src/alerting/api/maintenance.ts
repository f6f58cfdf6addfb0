/** `MaintenanceService`: users plan, list and end maintenance windows. */
import { create } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { MaintenanceWindows } from '../../../actors/alerting/maintenance.ts';
import type { Host, Instance, ListOptions } from '../../../actors/platform/host/host-port.ts';
import {
  type CreateMaintenanceWindowRequest,
  CreateMaintenanceWindowRequestSchema,
  EndMaintenanceWindowRequestSchema,
  type MaintenanceService,
  type MaintenanceWindow,
  MaintenanceWindow_State,
  MaintenanceWindowSchema,
} from '../../gen/svc/monitoring/v1/maintenance_pb.ts';
import { actorOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import {
  personDisplayName,
  ruleDisplayName,
  vmDisplayName,
} from '../../platform/api/display-names.ts';
import { optionalSeconds, unixSeconds, withPresent } from '../../platform/api/message-fields.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import {
  type Collection,
  nameOf,
  parseName,
  parseProjectName,
} from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';

export interface MaintenanceDeps {
  readonly host: Host;
  readonly maintenance: MaintenanceWindows;
}

/** All methods of the service. */
export function maintenanceService({
  host,
  maintenance,
}: MaintenanceDeps): ServiceImpl<typeof MaintenanceService> {
  const windowOf = (project: string, id: string): MaintenanceWindow => {
    const row = host.view(project).instance('maintenanceWindow', id);
    if (!row) throw new Error(`The maintenance window ${id} was committed but has no row`);
    return windowMessage(host, row);
  };
  return {
    async createMaintenanceWindow(request, context) {
      const window = requestedWindow(request, context);
      const key = requestKeyOf(context, CreateMaintenanceWindowRequestSchema, request);
      const by = actorOf(context);
      const { answer } = await maintenance.create({ ...window, by, request: key });
      return windowOf(window.project, answer.id);
    },
    async listMaintenanceWindows(request, context) {
      const project = within(context, parseProjectName('projectName', request.projectName));
      const live = request.includeOver ? {} : { final: false };
      const read = (options: ListOptions) =>
        mapPage(host.view(project).instances('maintenanceWindow', { ...options, ...live }), (row) =>
          windowMessage(host, row),
        );
      const page = await collect('maintenanceWindow', request, read, turnsOf(context));
      return { windows: page.items, nextPageToken: page.nextPageToken };
    },
    async endMaintenanceWindow(request, context) {
      const named = parseName('name', request.name, 'maintenanceWindows');
      const project = within(context, named.project);
      const key = requestKeyOf(context, EndMaintenanceWindowRequestSchema, request);
      await maintenance.end({ project, id: named.id, by: actorOf(context), request: key });
      return windowOf(project, named.id);
    },
  };
}

function requestedWindow(request: CreateMaintenanceWindowRequest, context: HandlerContext) {
  const { projectName, ruleName, vmName, fromUnix, untilUnix, note } = request;
  const project = within(context, parseProjectName('projectName', projectName));
  const idIn = (field: string, name: string, collection: Collection): string | null => {
    if (name === '') return null;
    const named = parseName(field, name, collection);
    within(context, named.project);
    return named.id;
  };
  return {
    project,
    rule: idIn('ruleName', ruleName, 'alertRules'),
    vm: idIn('vmName', vmName, 'vms'),
    fromMs: Number(fromUnix) * 1000,
    untilMs: Number(untilUnix) * 1000,
    note: note.trim(),
  };
}

function windowMessage(
  host: Pick<Host, 'view'>,
  row: Instance<'maintenanceWindow'>,
): MaintenanceWindow {
  const { project, instance, value, context } = row;
  const { rule, vm, createdBy, endedMs } = context;
  const endedBy = context.endedBy ?? '';
  const view = host.view(project);
  const state = String(value).toUpperCase() as keyof typeof MaintenanceWindow_State;
  const message = create(MaintenanceWindowSchema, {
    name: nameOf(project, 'maintenanceWindows', instance),
    ruleName: rule === null ? '' : nameOf(project, 'alertRules', rule),
    vmName: vm === null ? '' : nameOf(project, 'vms', vm),
    fromUnix: unixSeconds(context.fromMs),
    untilUnix: unixSeconds(context.untilMs),
    note: context.note,
    state: MaintenanceWindow_State[state],
    createdBy,
    createdUnix: unixSeconds(context.createdMs),
    endedBy,
    ruleDisplayName: ruleDisplayName(view, rule ?? ''),
    vmDisplayName: vmDisplayName(view, vm ?? ''),
    createdByDisplayName: personDisplayName(host, createdBy),
    endedByDisplayName: personDisplayName(host, endedBy),
  });
  return withPresent(message, { endedUnix: optionalSeconds(endedMs) });
}
