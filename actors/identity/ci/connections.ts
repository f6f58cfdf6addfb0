/**
 * Changes of approved connections. None of them touches the identity that is bound: another
 * workflow, branch or repository needs a verification of its own. Whatever narrows what tokens may
 * do raises the connection's epoch in the same commit.
 */
import type { CiConnectionContext } from '../../../machines/ci-connection.ts';
import { Refusal } from '../../../streams/refusal.ts';
import type { Committed, Draft, Host, Instance } from '../../host-port.ts';
import { checkDisplayName, checkReason } from '../checks.ts';
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
    draft.send(MACHINE, instance, { type: 'enabled', at: draft.at, by: request.by.name });
  });
}

export function deleteConnection({ host }: Deps, request: NamedConnection): Changed {
  return change(host, request, (draft, { instance }) => {
    draft.send(MACHINE, instance, { type: 'deleted', at: draft.at, by: request.by.name });
  });
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
