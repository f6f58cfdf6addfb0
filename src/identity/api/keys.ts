/**
 * The key part of `AutomationService`: for owners of the project where a service account has the
 * key, for the member alone where it is a personal one. A secret is in the answer to the request
 * that made it and nowhere else.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { IssuedKey, Keys } from '../../../actors/identity/keys.ts';
import { type KeyOwner, ownerName } from '../../../actors/identity/names.ts';
import type { Host, Instance, ListOptions } from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import {
  type AutomationService,
  CreateKeyRequestSchema,
  type ListKeysRequest,
  RevokeKeyRequestSchema,
  RotateKeyRequestSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { actorOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import { isShownLive, type KeyView, keyMessage } from './key-messages.ts';
import { parseKeyName, parseOwnerName } from './owner-names.ts';

export interface KeysDeps {
  readonly host: Pick<Host, 'view'>;
  readonly keys: Keys;
  /** When credentials were last used, coarsely. */
  readonly lastUsed: KeyView['lastUsed'];
  readonly clock: Clock;
}

type KeyMethods = 'createKey' | 'rotateKey' | 'revokeKey' | 'listKeys' | 'getKey';

export function keyMethods(
  deps: KeysDeps,
): Pick<ServiceImpl<typeof AutomationService>, KeyMethods> {
  const { keys } = deps;
  return {
    async createKey(request, context) {
      const owner = entered(context, parseOwnerName('parent', request.parent));
      const { displayName, capabilities, lifetimeSeconds } = request;
      const issued = await keys.create({
        ...{ project: owner.project, owner, by: actorOf(context) },
        request: requestKeyOf(context, CreateKeyRequestSchema, request),
        ...{ displayName, capabilities, lifetimeMs: lifetimeOf(lifetimeSeconds) },
      });
      return issuedMessage(deps, owner, issued);
    },
    async rotateKey(request, context) {
      const { owner, key } = parseKeyName('name', request.name);
      entered(context, owner);
      const issued = await keys.rotate({
        ...{ project: owner.project, owner, key, by: actorOf(context) },
        request: requestKeyOf(context, RotateKeyRequestSchema, request),
        overlapMs: request.overlapSeconds * 1000,
        lifetimeMs: lifetimeOf(request.lifetimeSeconds),
      });
      return issuedMessage(deps, owner, issued);
    },
    async revokeKey(request, context) {
      const { owner, key } = parseKeyName('name', request.name);
      entered(context, owner);
      await keys.revoke({
        ...{ project: owner.project, owner, key, by: actorOf(context) },
        request: requestKeyOf(context, RevokeKeyRequestSchema, request),
        reason: request.reason,
      });
      return keyMessage(deps, owner, keyRow(deps, owner, key));
    },
    listKeys: (request, context) => listKeys(deps, request, context),
    getKey({ name }, context) {
      const { owner, key } = parseKeyName('name', name);
      entered(context, owner);
      return keyMessage(deps, owner, keyRow(deps, owner, key));
    },
  };
}

/** The owner, if the caller may manage their keys. */
function entered(context: HandlerContext, owner: KeyOwner): KeyOwner {
  within(context, owner.project, owner.machine === 'membership' ? owner.id : undefined);
  return owner;
}

/** ms; undefined = the usual one. Negative ones are refused by whom they are given to. */
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

/** Oldest first; those that have ended only when they are asked for. */
async function listKeys(deps: KeysDeps, request: ListKeysRequest, context: HandlerContext) {
  const owner = entered(context, parseOwnerName('parent', request.parent));
  const view = deps.host.view(owner.project);
  const row = view.instance(owner.machine, owner.id);
  if (!row || row.final) throw new Refusal('NOT_FOUND', `There is no ${request.parent}`);
  const { includeEnded } = request;
  const filter = { owner: ownerName(owner), ...(includeEnded ? {} : { final: false }) };
  const kind = JSON.stringify(['keys', filter]);
  const read = (page: ListOptions) =>
    mapPage(view.instances('credential', { ...page, ...filter }), (key) =>
      includeEnded || isShownLive(deps, key) ? key : undefined,
    );
  const { items, token } = await collect(kind, request, read, turnsOf(context));
  return { keys: items.map((key) => keyMessage(deps, owner, key)), nextPageToken: token };
}
