/**
 * Changes of approved connections. None of them touches the identity that is bound: another
 * workflow, branch or repository needs a verification of its own. Whatever narrows what tokens may
 * do raises the connection's epoch in the same commit.
 */
import type { CiConnectionContext } from '../../machines/ci/ci-connection.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { noteAccessChange, shownActor } from '../identity/access-notices.ts';
import { checkDisplayName, checkReason } from '../identity/checks.ts';
import type { Committed, Draft, Host, Instance } from '../platform/host/host-port.ts';
import { choosePermissions, grantsOfActive } from './permissions.ts';
import type { EditConnection, NamedConnection } from './port.ts';

const MACHINE = 'ciConnection';
type Deps = { readonly host: Pick<Host, 'submit'> };
type Changed = Promise<Committed<Record<string, never>>>;

/** Tokens end only when the permissions are really others: a new name ends none. */
export async function editConnection({ host }: Deps, request: EditConnection): Changed {
  if (request.displayName !== undefined) checkDisplayName(request.displayName);
  return change(host, request, (draft, { instance, context }) => {
    const before = context as unknown as CiConnectionContext;
    const { displayName = before.displayName } = request;
    const capabilities = editedPermissions(draft, before, request.capabilities);
    const permissionsChanged = capabilities.join() !== before.capabilities.join();
    if (!permissionsChanged && displayName === before.displayName) return;
    const edit = { displayName, capabilities, permissionsChanged, by: request.by.name };
    draft.send(MACHINE, instance, { type: 'edited', at: draft.at, ...edit });
    const gained = capabilities.filter((each) => !before.capabilities.includes(each));
    if (gained.length === 0) return;
    noteWidened(draft, instance, `may now also ${gained.join(' and ')}`, request.by);
  });
}

function editedPermissions(
  draft: Draft,
  { capabilities, serviceAccount }: CiConnectionContext,
  chosen: readonly string[] | undefined,
): readonly string[] {
  if (chosen === undefined) return capabilities;
  // What it has already may stay, although its account has less by now or is disabled: it counts
  // for nothing until the account has it again.
  if (chosen.length > 0 && chosen.every((capability) => capabilities.includes(capability))) {
    return choosePermissions(chosen, capabilities, 'the connection has');
  }
  const grants = grantsOfActive(draft, serviceAccount);
  return choosePermissions(chosen, grants, 'the service account may do');
}

export async function disableConnection(
  { host }: Deps,
  request: NamedConnection & { readonly reason: string },
): Changed {
  const { reason, by } = request;
  checkReason(reason);
  return change(host, request, (draft, { instance }) => {
    draft.send(MACHINE, instance, { type: 'disabled', at: draft.at, reason, by: by.name });
  });
}

export function enableConnection({ host }: Deps, request: NamedConnection): Changed {
  return change(host, request, (draft, { instance }) => {
    const enabled = { type: 'enabled', at: draft.at, by: request.by.name };
    const { changed } = draft.send(MACHINE, instance, enabled);
    if (changed) noteWidened(draft, instance, 'was enabled again', request.by);
  });
}

export function deleteConnection({ host }: Deps, request: NamedConnection): Changed {
  return change(host, request, (draft, { instance }) => {
    draft.send(MACHINE, instance, { type: 'deleted', at: draft.at, by: request.by.name });
  });
}

/** What lets more in than before is news for owners, as a new connection is. */
function noteWidened(draft: Draft, connection: string, what: string, by: Actor): void {
  const displayName = draft.instance(MACHINE, connection)?.context.displayName;
  const name = `projects/${draft.project}/ciConnections/${connection}`;
  const text = `The CI connection "${String(displayName)}" (${name}) ${what}, by ${shownActor(draft, by.name)}`;
  noteAccessChange(draft, { about: 'ACCESS', text, isForOwners: true, member: null });
}

function change(
  host: Pick<Host, 'submit'>,
  { project, by, request, connection }: NamedConnection,
  decide: (draft: Draft, row: Instance) => void,
): Changed {
  return host.submit({
    project,
    by,
    request,
    decide(draft) {
      const row = draft.instance(MACHINE, connection);
      if (!row || row.final) {
        throw new Refusal('NOT_FOUND', `There is no CI connection ${connection} in the project`);
      }
      decide(draft, row);
      return {};
    },
  });
}
