/** Instances by resource name and in pages: what get and list methods of every kind share. */
import type { HandlerContext } from '@connectrpc/connect';
import type { Host, Instance, ListOptions } from '../../../actors/platform/host/host-port.ts';
import type { MachineName } from '../../../machines/audit/registry.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { within } from './caller.ts';
import { collect } from './paging.ts';
import { type Collection, parseName, parseProjectName } from './resource-name.ts';
import { turnsOf } from './slots.ts';

/** A page of the machine's instances that are not final, oldest first. */
export async function listRows<M extends MachineName>(
  host: Pick<Host, 'view'>,
  context: HandlerContext,
  machine: M,
  request: { projectName: string; pageSize: number; pageToken: string },
): Promise<{ items: readonly Instance<M>[]; token: string }> {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const read = (options: ListOptions) =>
    host.view(project).instances(machine, { ...options, final: false });
  return await collect(machine, request, read, turnsOf(context));
}

/** The named instance. Throws a `Refusal`: PROJECT_BOUNDARY, NOT_FOUND (a deleted one too). */
export function findRow<M extends MachineName>(
  host: Pick<Host, 'view'>,
  context: HandlerContext,
  {
    machine,
    name,
    collection,
    field = 'name',
  }: { machine: M; name: string; collection: Collection; field?: string },
): Instance<M> {
  const { project, id } = parseName(field, name, collection);
  const found = host.view(within(context, project)).instance(machine, id);
  if (!found || found.value === 'deleted') throw new Refusal('NOT_FOUND', `There is no ${name}`);
  return found;
}
