/** Longest overlap of a rotated key with its successor, ms (LIMIT-12). */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Committed, Draft, Host, Instance } from '../platform/host/host-port.ts';
import { noteAccessChange, shownActor } from './access-notices.ts';
import { checkDisplayName, checkReason, invalid, someCapabilities } from './checks.ts';
import {
  describeCredential,
  KEY_LIFETIME_MS_DEFAULT,
  KEY_LIFETIME_MS_MAX,
  type NewCredential,
  startCredential,
} from './credentials.ts';
import { grantsOf } from './grants.ts';
import { KeyQuota } from './key-quota.ts';
import { isKeyLive } from './key-state.ts';
import type { CreateKey, IssuedKey, Keys, MintedKey, RevokeKey, RotateKey } from './keys-port.ts';
import { type KeyOwner, ownerName } from './names.ts';

const OVERLAP_MS_MAX = 24 * 3_600_000;
/** Successors of successors that are looked through; a day's overlap has far fewer. */
const SUCCESSORS_MAX = 1_000;

export interface KeysDeps {
  readonly host: Pick<Host, 'submit'>;
  /** A fresh personal or service-account key. */
  readonly mint: (kind: 'pk' | 'sk') => MintedKey;
}

export function createKeys(deps: KeysDeps): Keys {
  const room = new KeyQuota();
  return {
    create: (request) => createKey(deps, room, request),
    rotate: (request) => rotateKey(deps, room, request),
    revoke: (request) => revokeKey(deps, request),
  };
}

async function createKey(deps: KeysDeps, room: KeyQuota, creation: CreateKey): Promise<IssuedKey> {
  const { project, by, request, owner, displayName, lifetimeMs } = creation;
  checkDisplayName(displayName);
  checkLifetime(lifetimeMs);
  const capabilities = someCapabilities(creation.capabilities);
  const minted = deps.mint(kindFor(owner));
  const committed = await deps.host.submit({
    ...{ project, by },
    ...(request && { request }),
    decide(draft) {
      checkGrants(draft, owner, capabilities);
      room.assertRoom(draft, owner);
      const about = { capabilities, displayName, createdBy: by.name, lifetimeMs };
      startCredential(draft, minted, credentialOf(owner, about));
      return { key: minted.id };
    },
  });
  return issued(committed, minted);
}

async function rotateKey(deps: KeysDeps, room: KeyQuota, rotation: RotateKey): Promise<IssuedKey> {
  const { project, by, request, owner, key, overlapMs, lifetimeMs } = rotation;
  checkLifetime(lifetimeMs);
  if (!(overlapMs >= 0 && overlapMs <= OVERLAP_MS_MAX)) {
    const message = `overlapSeconds is ${overlapMs / 1000}: 0 to ${OVERLAP_MS_MAX / 1000}`;
    throw invalid('overlapSeconds', message);
  }
  const minted = deps.mint(kindFor(owner));
  const committed = await deps.host.submit({
    ...{ project, by },
    ...(request && { request }),
    decide(draft) {
      const old = ownedKey(draft, owner, key);
      assertActive(draft, owner);
      assertReplaceable(draft, old);
      // Without an overlap one key takes the place of another.
      if (overlapMs > 0) room.assertRoom(draft, owner);
      const { capabilities, displayName } = old.context;
      const about = { capabilities, displayName, createdBy: by.name, lifetimeMs };
      startCredential(draft, minted, credentialOf(owner, about));
      const replaced = { type: 'rotated', at: draft.at, successor: minted.id, overlapMs } as const;
      draft.send('credential', key, { ...replaced, by: by.name });
      return { key: minted.id };
    },
  });
  return issued(committed, minted);
}

function revokeKey(deps: KeysDeps, revocation: RevokeKey): Promise<Committed<{ key: string }>> {
  const { project, by, request, owner, key, reason } = revocation;
  checkReason(reason);
  return deps.host.submit({
    ...{ project, by },
    ...(request && { request }),
    decide(draft) {
      const before = ownedKey(draft, owner, key);
      const revoked = {
        type: 'revoked',
        at: draft.at,
        reason: reason.trim() || 'REVOKED',
      } as const;
      const { changed } = draft.send('credential', key, { ...revoked, by: by.name });
      if (changed) noteRevokedByOther(draft, owner, before, by);
      return { key };
    },
  });
}

/** A member whose key somebody else has ended hears of it, and from whom. */
function noteRevokedByOther(
  draft: Draft,
  owner: KeyOwner,
  key: Instance<'credential'>,
  by: Actor,
): void {
  if (owner.machine !== 'membership') return;
  const person = draft.instance('membership', owner.id)?.context.person;
  if (by.name === `people/${String(person)}`) return;
  const what = describeCredential(key.context);
  const text = `Your ${what} was revoked by ${shownActor(draft, by.name)}`;
  noteAccessChange(draft, { about: 'KEY', text, isForOwners: false, member: owner.id });
}

function issued(
  { answer, sequence, replayed }: Committed<{ readonly key: string }>,
  minted: MintedKey,
): IssuedKey {
  return { key: answer.key, sequence, secret: replayed ? null : minted.text };
}

function kindFor({ machine }: KeyOwner): 'pk' | 'sk' {
  return machine === 'membership' ? 'pk' : 'sk';
}

function credentialOf(
  owner: KeyOwner,
  {
    lifetimeMs,
    ...about
  }: Pick<NewCredential, 'capabilities' | 'displayName'> & {
    createdBy: string;
    lifetimeMs: number | undefined;
  },
): NewCredential {
  const { project } = owner;
  const lifetime = { lifetimeMs: lifetimeMs ?? KEY_LIFETIME_MS_DEFAULT };
  return { project, kind: kindFor(owner), owner: ownerName(owner), ...about, ...lifetime };
}

function checkLifetime(lifetimeMs: number | undefined): void {
  if (lifetimeMs === undefined || (lifetimeMs > 0 && lifetimeMs <= KEY_LIFETIME_MS_MAX)) return;
  const message = `lifetimeSeconds is ${lifetimeMs / 1000}: 1 to ${KEY_LIFETIME_MS_MAX / 1000}, or 0 for 90 days`;
  throw invalid('lifetimeSeconds', message);
}

/** A new key may have what its owner has, at this moment, and nothing else. */
function checkGrants(draft: Draft, owner: KeyOwner, capabilities: readonly string[]): void {
  const granted = assertActive(draft, owner);
  const missing = capabilities.find((capability) => !granted.includes(capability));
  if (missing === undefined) return;
  const whose = owner.machine === 'membership' ? 'Your role here' : 'The service account';
  const has = granted.length === 0 ? 'nothing' : granted.join(' and ');
  throw new Refusal(
    'MISSING_CAPABILITY',
    `${whose} grants ${has}: a key cannot have ${missing} before its owner has it`,
    { capability: missing },
  );
}

/** What the owner is granted. */
function assertActive(draft: Draft, owner: KeyOwner): readonly string[] {
  const { state, capabilities } = grantsOf(draft, owner);
  if (state === 'active') return capabilities;
  if (state === 'gone') throw new Refusal('NOT_FOUND', `There is no ${ownerName(owner)}`);
  throw new Refusal('INVALID_STATE', 'The service account is disabled: enable it first');
}

function ownedKey(draft: Draft, owner: KeyOwner, key: string): Instance<'credential'> {
  const found = draft.instance('credential', key);
  if (found?.context.owner === ownerName(owner)) return found;
  throw new Refusal('NOT_FOUND', `There is no ${ownerName(owner)}/keys/${key}`);
}

/** A key that works, and has no successor that does. */
function assertReplaceable(draft: Draft, key: Instance<'credential'>): void {
  if (!isKeyLive(key, draft.at)) {
    throw new Refusal('INVALID_STATE', 'The key has ended and cannot be rotated: create a new one');
  }
  const live = liveSuccessor(draft, key);
  if (live === undefined) return;
  throw new Refusal(
    'INVALID_STATE',
    `The key has been replaced by ${live.instance}: rotate that one, or revoke it first`,
    { successor: live.instance },
  );
}

function liveSuccessor(
  draft: Draft,
  key: Instance<'credential'>,
): Instance<'credential'> | undefined {
  let { successor } = key.context;
  for (let i = 0; successor !== null && i < SUCCESSORS_MAX; i++) {
    const next = draft.instance('credential', successor);
    if (!next || isKeyLive(next, draft.at)) return next;
    successor = next.context.successor;
  }
  return undefined;
}
