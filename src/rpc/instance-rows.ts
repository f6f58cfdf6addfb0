/** Instances by resource name and in pages: what get and list methods of every kind share. */
import type { HandlerContext } from '@connectrpc/connect';
import type { Host, Instance } from '../../actors/host-port.ts';
import { Refusal } from '../../streams/refusal.ts';
import { within } from './caller.ts';
import { listOptions, pageToken } from './paging.ts';
import { type Collection, parseName, parseProjectName } from './resource-name.ts';

/** A page of the machine's instances that are not final, oldest first. */
export function listRows(
  host: Pick<Host, 'view'>,
  context: HandlerContext,
  machine: string,
  request: { projectName: string; pageSize: number; pageToken: string },
): { items: readonly Instance[]; token: string } {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const options = { ...listOptions(machine, request), final: false };
  const page = host.view(project).instances(machine, options);
  return { items: page.items, token: pageToken(machine, page.next) };
}

/** The named instance. Throws a `Refusal`: PROJECT_BOUNDARY, NOT_FOUND (a deleted one too). */
export function findRow(
  host: Pick<Host, 'view'>,
  context: HandlerContext,
  { machine, name, collection }: { machine: string; name: string; collection: Collection },
): Instance {
  const { project, id } = parseName('name', name, collection);
  const found = host.view(within(context, project)).instance(machine, id);
  if (!found || found.value === 'deleted') throw new Refusal('NOT_FOUND', `There is no ${name}`);
  return found;
}
