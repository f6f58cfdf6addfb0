/**
 * Changes of approved connections. None of them changes the bound identity: another workflow,
 * branch or repository needs its own verification. A change that narrows the permissions of tokens
 * raises the connection's epoch in the same commit, which ends the earlier tokens.
 */
import type { CiConnectionContext } from '../../machines/ci/ci-connection.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import { displayedActor, recordAccessChange } from '../identity/access-notices.ts';
import { checkDisplayName, checkReason, someCapabilities } from '../identity/checks.ts';
import { grantsOf } from '../identity/grants.ts';
import type {
  Committed,
  Draft,
  Host,
  Instance,
  ProjectView,
  RequestKey,
} from '../platform/host/host-port.ts';

/** Maximum connections of a project, deleted ones excluded. */
export const CONNECTIONS_MAX = 1_000;

/** The project, the actor, and the client's request. */
export interface CiChange {
  readonly project: string;
  readonly by: Actor;
  readonly request: RequestKey;
}

/** A change of the connection with this id. */
export interface NamedConnection extends CiChange {
  readonly connection: string;
}

/** A new name or new permissions. Permissions beyond those of the service account are rejected. */
export interface EditConnection extends NamedConnection {
  /** undefined = unchanged. */
  readonly displayName: string | undefined;
  readonly capabilities: readonly string[] | undefined;
}

const MACHINE = 'ciConnection';
type Deps = { readonly host: Pick<Host, 'submit'> };
type Changed = Promise<Committed<Record<string, never>>>;

/** Tokens end only if the permissions change, not if only the name does. */
export async function editConnection({ host }: Deps, request: EditConnection): Changed {
  if (request.displayName !== undefined) checkDisplayName(request.displayName);
  return change(host, request, (draft, { instance, context }) => {
    const before = context;
    const { displayName = before.displayName } = request;
    const capabilities = editedPermissions(draft, before, request.capabilities);
    const permissionsChanged = capabilities.join() !== before.capabilities.join();
    if (!permissionsChanged && displayName === before.displayName) return;
    const edit = { displayName, capabilities, permissionsChanged, by: request.by.name };
    draft.send(MACHINE, instance, { type: 'edited', at: draft.at, ...edit });
    const gained = capabilities.filter((each) => !before.capabilities.includes(each));
    if (gained.length === 0) return;
    recordWidened(draft, instance, `was granted ${gained.join(' and ')}`, request.by);
  });
}

function editedPermissions(
  draft: Draft,
  { capabilities, serviceAccount }: CiConnectionContext,
  chosen: readonly string[] | undefined,
): readonly string[] {
  if (chosen === undefined) return capabilities;
  // Permissions that the connection has may stay, even if its account has lost them or is disabled.
  // They have no effect until the account has them again.
  if (chosen.length > 0 && chosen.every((capability) => capabilities.includes(capability))) {
    return choosePermissions(chosen, capabilities, 'the connection has');
  }
  const grants = grantsOfActive(draft, serviceAccount);
  return choosePermissions(chosen, grants, 'the service account may do');
}

/**
 * Rejects every exchange and every outstanding token from the next request on. Throws a `Refusal`
 * NOT_FOUND, INVALID_FIELD.
 */
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

/**
 * Allows exchanges again; earlier tokens stay ended. Owners get a notice. Throws a `Refusal`
 * NOT_FOUND.
 */
export function enableConnection({ host }: Deps, request: NamedConnection): Changed {
  return change(host, request, (draft, { instance }) => {
    const enabled = { type: 'enabled', at: draft.at, by: request.by.name } as const;
    const { changed } = draft.send(MACHINE, instance, enabled);
    if (changed) recordWidened(draft, instance, 'was enabled again', request.by);
  });
}

/** Ends the connection and its tokens permanently. Throws a `Refusal` NOT_FOUND. */
export function deleteConnection({ host }: Deps, request: NamedConnection): Changed {
  return change(host, request, (draft, { instance }) => {
    draft.send(MACHINE, instance, { type: 'deleted', at: draft.at, by: request.by.name });
  });
}

/** Owners are notified when a connection can do more, as they are about a new connection. */
function recordWidened(draft: Draft, connection: string, what: string, by: Actor): void {
  const displayName = draft.instance(MACHINE, connection)?.context.displayName;
  const name = `projects/${draft.project}/ciConnections/${connection}`;
  const text = `The CI connection "${String(displayName)}" (${name}) ${what} by ${displayedActor(draft, by.name)}`;
  recordAccessChange(draft, { about: 'ACCESS', text, isForOwners: true, member: null });
}

function change(
  host: Pick<Host, 'submit'>,
  { project, by, request, connection }: NamedConnection,
  decide: (draft: Draft, row: Instance<'ciConnection'>) => void,
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

/** Grants of an active service account. Throws a `Refusal`: NOT_FOUND, INVALID_STATE. */
export function grantsOfActive(view: ProjectView, serviceAccount: string): readonly string[] {
  const owner = { project: view.project, machine: 'serviceAccount', id: serviceAccount } as const;
  const { state, capabilities } = grantsOf(view, owner);
  if (state === 'active') return capabilities;
  if (state === 'gone') {
    throw new Refusal('NOT_FOUND', `There is no service account ${serviceAccount} in the project`);
  }
  throw new Refusal(
    'INVALID_STATE',
    'The service account is disabled. Enable it first, or choose another one',
  );
}

/**
 * The chosen permissions without duplicates. Throws INVALID_FIELD if none is chosen, one is
 * unknown, or one is not in `bound`.
 *
 * @param source of `bound`, for the error message: "the service account may do"
 */
export function choosePermissions(
  chosen: readonly string[],
  bound: readonly string[],
  source: string,
): readonly string[] {
  const known = someCapabilities(chosen);
  const beyond = known.find((capability) => !bound.includes(capability));
  if (beyond === undefined) return known;
  const message = `capabilities has ${beyond}, more than ${source}: ${bound.join(', ') || 'nothing'}`;
  throw invalidField('capabilities', message);
}
