/**
 * Methods of `AutomationService` for keys. Owners of the project manage the keys of service
 * accounts; a member manages their own personal keys. Only the response to the request that made a
 * secret contains it.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import {
  within as bounded,
  grantsOf,
  type KeyOwner,
  ownerName,
  parseOwner,
} from '../../../actors/identity/grants.ts';
import {
  expiresWithinDays,
  isKeyLive,
  type KeyState,
  keyStateAt,
} from '../../../actors/identity/key-state.ts';
import type { IssuedKey, Keys } from '../../../actors/identity/keys.ts';
import { refusedUsesOf } from '../../../actors/identity/refused-uses.ts';
import type {
  Host,
  Instance,
  ListOptions,
  ProjectView,
} from '../../../actors/platform/host/host-port.ts';
import { ID } from '../../../actors/platform/resource-id.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import {
  type AutomationService,
  CreateKeyRequestSchema,
  Key_ExpiryWarning,
  Key_State,
  type ListKeysRequest,
  RevokeKeyRequestSchema,
  RotateKeyRequestSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { actorOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import { personDisplayName } from '../../platform/api/display-names.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';

export interface KeysDeps {
  readonly host: Pick<Host, 'view'>;
  readonly keys: Keys;
  /** Last-used times of credentials, Unix ms; undefined = never. */
  readonly lastUsed: { of(credential: string): number | undefined };
  readonly clock: Clock;
}

type KeyMethods = 'createKey' | 'rotateKey' | 'revokeKey' | 'listKeys' | 'getKey';

export function keyMethods(
  deps: KeysDeps,
): Pick<ServiceImpl<typeof AutomationService>, KeyMethods> {
  const { keys } = deps;
  return {
    async createKey(request, context) {
      const owner = assertMayManage(context, parseOwnerName('parent', request.parent));
      const { displayName, capabilities, networks, lifetimeSeconds } = request;
      const issued = await keys.create({
        project: owner.project,
        owner,
        by: actorOf(context),
        request: requestKeyOf(context, CreateKeyRequestSchema, request),
        displayName,
        capabilities,
        networks,
        lifetimeMs: lifetimeOf(lifetimeSeconds),
      });
      return issuedMessage(deps, owner, issued);
    },
    async rotateKey(request, context) {
      const { owner, key } = parseKeyName('name', request.name);
      assertMayManage(context, owner);
      const issued = await keys.rotate({
        project: owner.project,
        owner,
        key,
        by: actorOf(context),
        request: requestKeyOf(context, RotateKeyRequestSchema, request),
        overlapMs: request.overlapSeconds * 1000,
        lifetimeMs: lifetimeOf(request.lifetimeSeconds),
      });
      return issuedMessage(deps, owner, issued);
    },
    async revokeKey(request, context) {
      const { owner, key } = parseKeyName('name', request.name);
      assertMayManage(context, owner);
      await keys.revoke({
        project: owner.project,
        owner,
        key,
        by: actorOf(context),
        request: requestKeyOf(context, RevokeKeyRequestSchema, request),
        reason: request.reason,
      });
      return keyMessage(deps, owner, keyRow(deps, owner, key));
    },
    listKeys: (request, context) => listKeys(deps, request, context),
    getKey({ name }, context) {
      const { owner, key } = parseKeyName('name', name);
      assertMayManage(context, owner);
      return keyMessage(deps, owner, keyRow(deps, owner, key));
    },
  };
}

/** Returns the owner if the caller may manage its keys; throws a `Refusal` otherwise. */
function assertMayManage(context: HandlerContext, owner: KeyOwner): KeyOwner {
  within(context, owner.project, owner.machine === 'membership' ? owner.id : undefined);
  return owner;
}

/** ms; undefined = the default lifetime. Negative lifetimes are rejected later. */
function lifetimeOf(seconds: number): number | undefined {
  return seconds === 0 ? undefined : seconds * 1000;
}

function issuedMessage(deps: KeysDeps, owner: KeyOwner, { key, secret }: IssuedKey) {
  return {
    key: keyMessage(deps, owner, keyRow(deps, owner, key)),
    secret: secret ?? '',
    secretAvailable: secret !== null,
  };
}

function keyRow({ host }: KeysDeps, owner: KeyOwner, key: string): Instance<'credential'> {
  const found = host.view(owner.project).instance('credential', key);
  if (found?.context.owner === ownerName(owner)) return found;
  throw new Refusal('NOT_FOUND', `There is no ${ownerName(owner)}/keys/${key}`);
}

/** Oldest first. Ended keys are listed only on request. */
async function listKeys(deps: KeysDeps, request: ListKeysRequest, context: HandlerContext) {
  const owner = assertMayManage(context, parseOwnerName('parent', request.parent));
  if (isEveryAccount(owner)) return await listKeysOfAccounts(deps, owner, request, context);
  const view = deps.host.view(owner.project);
  const row = view.instance(owner.machine, owner.id);
  if (!row || row.final) throw new Refusal('NOT_FOUND', `There is no ${request.parent}`);
  const { includeEnded } = request;
  const filter = { owner: ownerName(owner), ...(includeEnded ? {} : { final: false }) };
  const kind = JSON.stringify(['keys', filter]);
  const read = (page: ListOptions) =>
    mapPage(view.instances('credential', { ...page, ...filter }), (key) =>
      includeEnded || isKeyLive(key, deps.clock.now()) ? key : undefined,
    );
  const { items, nextPageToken } = await collect(kind, request, read, turnsOf(context));
  return { keys: items.map((key) => keyMessage(deps, owner, key)), nextPageToken };
}

/** `projects/p/serviceAccounts/-`. */
function isEveryAccount({ machine, id }: KeyOwner): boolean {
  return machine === 'serviceAccount' && id === '-';
}

async function listKeysOfAccounts(
  deps: KeysDeps,
  { project }: KeyOwner,
  request: ListKeysRequest,
  context: HandlerContext,
) {
  const { includeEnded } = request;
  const view = deps.host.view(project);
  const kind = JSON.stringify(['keys of accounts', project, includeEnded]);
  const filter = includeEnded ? {} : { final: false };
  const read = (page: ListOptions) =>
    mapPage(view.instances('credential', { ...page, ...filter }), (key) => {
      const owner = parseOwner(key.context.owner);
      if (owner?.machine !== 'serviceAccount') return undefined;
      const isDisplayed = includeEnded || isKeyLive(key, deps.clock.now());
      return isDisplayed ? keyMessage(deps, owner, key) : undefined;
    });
  const { items: keys, nextPageToken } = await collect(kind, request, read, turnsOf(context));
  return { keys, nextPageToken };
}

const STATES: Readonly<Record<KeyState, Key_State>> = {
  active: Key_State.ACTIVE,
  rotating: Key_State.ROTATING,
  revoked: Key_State.REVOKED,
  expired: Key_State.EXPIRED,
};

const WARNINGS = {
  1: Key_ExpiryWarning.WITHIN_1_DAY,
  7: Key_ExpiryWarning.WITHIN_7_DAYS,
  14: Key_ExpiryWarning.WITHIN_14_DAYS,
} as const;

/** A key in the API, without its secret. */
function keyMessage(
  { host, lastUsed, clock }: KeysDeps,
  owner: KeyOwner,
  key: Instance<'credential'>,
) {
  const nowMs = clock.now();
  const about = key.context;
  const state = keyStateAt(key, nowMs);
  const isLive = state === 'active' || state === 'rotating';
  const granted = grantsOf(host.view(owner.project), owner).capabilities;
  const days = expiresWithinDays(key, nowMs);
  const usedMs = lastUsed.of(key.instance);
  return {
    name: `${ownerName(owner)}/keys/${key.instance}`,
    displayName: about.displayName,
    state: STATES[state],
    capabilities: [...about.capabilities],
    effectiveCapabilities: isLive ? bounded(about.capabilities, granted) : [],
    networks: [...(about.networks ?? [])],
    last4: about.lastFour,
    createdBy: about.createdBy,
    createdByDisplayName: personDisplayName(host, about.createdBy),
    createdUnix: unixSeconds(about.createdMs),
    expiresUnix: unixSeconds(about.expiresMs),
    expiryWarning: days === undefined ? Key_ExpiryWarning.NONE : WARNINGS[days],
    ...(usedMs !== undefined && { lastUsedUnix: unixSeconds(usedMs) }),
    successor: about.successor === null ? '' : `${ownerName(owner)}/keys/${about.successor}`,
    ...(state === 'rotating' &&
      about.overlapEndsMs !== null && { overlapEndsUnix: unixSeconds(about.overlapEndsMs) }),
    revokedReason: state === 'revoked' ? (about.revokedReason ?? 'ROTATED') : '',
    ...refusedFields(host.view(owner.project), key.instance),
  };
}

/** Refused uses of a key, as fields of a message. */
export function refusedFields(view: Pick<ProjectView, 'record'>, key: string) {
  const refused = refusedUsesOf(view, key);
  if (!refused) return {};
  const { count, lastMs, lastReason } = refused;
  return {
    refusedUses: BigInt(count),
    lastRefusedUnix: unixSeconds(lastMs),
    lastRefusedReason: lastReason,
  };
}

const OWNER = new RegExp(`^(projects/[^/]+)/(?:serviceAccounts|members)/${ID}$`);
const KEY = new RegExp(`^(.+)/keys/(${ID})$`);

/** The identity with that resource name. Throws INVALID_FIELD. */
function parseOwnerName(field: string, name: string): KeyOwner {
  const [, project] = OWNER.exec(name) ?? [];
  const owner = project === undefined ? undefined : parseOwner(name);
  if (project === undefined || owner === undefined) throw notAName(field, name, '');
  parseProjectName(field, project);
  return owner;
}

/** Owner and id of `projects/p/serviceAccounts/s/keys/k` or `.../members/m/keys/k`. Throws INVALID_FIELD. */
function parseKeyName(field: string, name: string): { owner: KeyOwner; key: string } {
  const [, parent, key] = KEY.exec(name) ?? [];
  if (parent === undefined || key === undefined) throw notAName(field, name, '/keys/...');
  return { owner: parseOwnerName(field, parent), key };
}

function notAName(field: string, name: string, rest: string): Refusal {
  const seen = name.length > 200 ? `${name.slice(0, 200)}...` : name;
  return new Refusal(
    'INVALID_FIELD',
    `${field} is "${seen}": send a name like projects/demo/serviceAccounts/...${rest} or ` +
      `projects/demo/members/...${rest}`,
    { field },
  );
}
