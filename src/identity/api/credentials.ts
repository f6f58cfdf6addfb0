/**
 * `ListCredentials`: one list of everything that can access a project without a sign-in. Keys of
 * every kind come first, oldest first, then CI connections. Collectors of the whole service belong
 * to the operator and to no project.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import {
  within as bounded,
  enrolmentIdOf,
  type Grants,
  grantsOf,
  type KeyOwner,
  ownerName,
  parseOwner,
} from '../../../actors/identity/grants.ts';
import { isKeyLive, keyEndMs, keyStateAt } from '../../../actors/identity/key-state.ts';
import { unprovenEmailOf } from '../../../actors/identity/people-index.ts';
import type { Host, Instance, ListOptions } from '../../../actors/platform/host/host-port.ts';
import type { CredentialContext } from '../../../machines/identity/credential.ts';
import type { MembershipContext } from '../../../machines/identity/membership.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import {
  type AutomationService,
  Credential_Kind,
  Credential_State,
  type CredentialSchema,
  type ListCredentialsRequest,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { within } from '../../platform/api/caller.ts';
import { personDisplayName } from '../../platform/api/display-names.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { nameOf, parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import { refusedFields } from './keys.ts';

export interface CredentialListDeps {
  readonly host: Pick<Host, 'view'>;
  /** Last-used times of credentials and CI connections by id, Unix ms; undefined = never. */
  readonly lastUsed: { of(credential: string): number | undefined };
  readonly clock: Clock;
}

type Message = MessageInitShape<typeof CredentialSchema>;
const Kind = Credential_Kind;
const State = Credential_State;

export function credentialMethods(
  deps: CredentialListDeps,
): Pick<ServiceImpl<typeof AutomationService>, 'listCredentials'> {
  return { listCredentials: (request, context) => listCredentials(deps, request, context) };
}

/** Machines of the list, in its order. */
const MACHINES = ['credential', 'ciConnection'] as const;

async function listCredentials(
  deps: CredentialListDeps,
  request: ListCredentialsRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { kinds, includeEnded } = request;
  const view = deps.host.view(project);
  const list = new CredentialMessages(deps, project);
  const isRequested = (message: Message): boolean =>
    (kinds.length === 0 || kinds.includes(message.kind ?? 0)) &&
    (includeEnded ||
      message.state === State.ACTIVE ||
      message.state === State.ROTATING ||
      message.state === State.DISABLED);
  const kind = JSON.stringify(['credentials', project, kinds, includeEnded]);
  const read = ({ limit, after = `${MACHINES[0]} ` }: ListOptions) => {
    // A position is a machine, a space, and the position in its list.
    const machine = after.startsWith(MACHINES[0]) ? MACHINES[0] : MACHINES[1];
    const place = after.slice(machine.length + 1);
    const page = view.instances(machine, {
      limit,
      ...(includeEnded ? {} : { final: false }),
      ...(place === '' ? {} : { after: place }),
    });
    const next =
      page.next === undefined
        ? machine === 'credential' && `${MACHINES[1]} `
        : `${machine} ${page.next}`;
    const displayed = mapPage({ items: page.items }, (row) => {
      const message = row.machine === 'credential' ? list.key(row) : list.connection(row);
      return isRequested(message) ? message : undefined;
    });
    return { ...displayed, ...(next === false ? {} : { next }) };
  };
  const { items, nextPageToken } = await collect(kind, request, read, turnsOf(context));
  return { credentials: items, nextPageToken };
}

const KINDS: Readonly<Record<CredentialContext['kind'], Credential_Kind>> = {
  pk: Kind.PERSONAL_KEY,
  sk: Kind.SERVICE_ACCOUNT_KEY,
  col: Kind.COLLECTOR_KEY,
  vm: Kind.VM_KEY,
};

const STATES = {
  active: State.ACTIVE,
  rotating: State.ROTATING,
  revoked: State.REVOKED,
  expired: State.EXPIRED,
} as const;

/** Owner of a credential, as displayed. */
interface DisplayedOwner {
  readonly ownerName: string;
  readonly ownerDisplayName: string;
  readonly ownerUnprovenEmail: string;
}

class CredentialMessages {
  readonly #deps: CredentialListDeps;
  readonly #project: string;

  constructor(deps: CredentialListDeps, project: string) {
    this.#deps = deps;
    this.#project = project;
  }

  key(row: Instance<'credential'>): Message {
    const { clock, lastUsed } = this.#deps;
    const about = row.context;
    const { kind, owner, createdMs, createdBy, revokedReason } = about;
    const nowMs = clock.now();
    const state = keyStateAt(row, nowMs);
    const identity = kind === 'pk' || kind === 'sk' ? parseOwner(owner) : undefined;
    const granted = identity ? this.#grants(identity) : this.#own(row, about);
    const isLive = isKeyLive(row, nowMs);
    const usedMs = lastUsed.of(row.instance);
    return {
      name: `${owner}/keys/${row.instance}`,
      kind: KINDS[kind],
      displayName: about.displayName,
      state: isLive && granted.state !== 'active' ? State.DISABLED : STATES[state],
      ...this.#owner(identity, owner),
      networks: [...(about.networks ?? [])],
      last4: about.lastFour,
      capabilities: [...about.capabilities],
      effectiveCapabilities: isLive ? bounded(about.capabilities, granted.capabilities) : [],
      ...this.#made(createdMs, createdBy),
      endsUnix: unixSeconds(keyEndMs(row)),
      ...(usedMs !== undefined && { lastUsedUnix: unixSeconds(usedMs) }),
      revokedReason: state === 'revoked' ? (revokedReason ?? 'ROTATED') : '',
      ...refusedFields(this.#deps.host.view(this.#project), row.instance),
    };
  }

  connection(row: Instance<'ciConnection'>): Message {
    const about = row.context;
    const { project, instance, value } = row;
    const account = { project, machine: 'serviceAccount', id: about.serviceAccount } as const;
    const granted = this.#grants(account);
    const isLive = value === 'enabled' && granted.state === 'active';
    const usedMs = Math.max(this.#deps.lastUsed.of(instance) ?? 0, about.lastExchangeMs ?? 0);
    const state = isLive ? State.ACTIVE : State.DISABLED;
    return {
      name: nameOf(project, 'ciConnections', instance),
      kind: Kind.CI_CONNECTION,
      displayName: about.displayName,
      state: value === 'deleted' ? State.DELETED : state,
      ...this.#owner(account, ownerName(account)),
      last4: '',
      capabilities: [...about.capabilities],
      effectiveCapabilities: isLive ? bounded(about.capabilities, granted.capabilities) : [],
      ...this.#made(about.createdMs, about.createdBy),
      ...(usedMs > 0 && { lastUsedUnix: unixSeconds(usedMs) }),
      revokedReason: '',
    };
  }

  #made(createdMs: number, createdBy: string) {
    const createdByDisplayName = personDisplayName(this.#deps.host, createdBy);
    return { createdUnix: unixSeconds(createdMs), createdBy, createdByDisplayName };
  }

  #grants(owner: KeyOwner): Grants {
    const { host } = this.#deps;
    const granted = grantsOf(host.view(this.#project), owner);
    if (owner.machine !== 'membership' || granted.state !== 'active') return granted;
    const person = this.#member(owner.id)?.person ?? '';
    const isIn = host.view(SYSTEM_PROJECT).instance('person', person)?.value === 'active';
    return isIn ? granted : { state: 'disabled', capabilities: [] };
  }

  /**
   * Grants of a collector's or agent's key, which has no owner. An agent's key works while it is
   * the one that enrolled its VM.
   */
  #own(row: Instance<'credential'>, { kind, vm, capabilities }: CredentialContext): Grants {
    const view = this.#deps.host.view(this.#project);
    const enrolment =
      kind === 'vm' && view.instance('enrolment', enrolmentIdOf(this.#project, vm ?? ''));
    if (enrolment === false || enrolment?.context.credential === row.instance) {
      return { state: 'active', capabilities };
    }
    return { state: 'disabled', capabilities: [] };
  }

  #owner(owner: KeyOwner | undefined, name: string): DisplayedOwner {
    const { host } = this.#deps;
    const nobody = { ownerName: name, ownerDisplayName: '', ownerUnprovenEmail: '' };
    if (!owner) return nobody;
    const row = host.view(this.#project).instance(owner.machine, owner.id);
    const ownerDisplayName = String(row?.context.displayName ?? '');
    const member = owner.machine === 'membership' ? this.#member(owner.id) : undefined;
    const ownerUnprovenEmail = member
      ? unprovenEmailOf(host.view(SYSTEM_PROJECT), member.person, member.email)
      : '';
    return { ownerName: name, ownerDisplayName, ownerUnprovenEmail };
  }

  #member(id: string): MembershipContext | undefined {
    const row = this.#deps.host.view(this.#project).instance('membership', id);
    return row?.context;
  }
}
