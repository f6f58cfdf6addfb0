/**
 * Scoped keys. A request is compared with the owner's grants at the project's head, in the commit
 * that makes the key. The secret is made before the decision and returned once, to the caller whose
 * request made the commit. A resent or concurrent copy of the request gets only the key's id.
 * Commits and stored responses contain only the hash and the id.
 */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { Committed, Draft, Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { displayedActor, recordAccessChange } from './access-notices.ts';
import {
  checkDisplayName,
  checkedNetworks,
  checkReason,
  type IdentityChange,
  someCapabilities,
} from './checks.ts';
import {
  describeCredential,
  KEY_LIFETIME_MS_DEFAULT,
  KEY_LIFETIME_MS_MAX,
  type MintedKey,
  type NewCredential,
  startCredential,
} from './credentials.ts';
import { grantsOf, type KeyOwner, ownerName } from './grants.ts';
import { isKeyLive } from './key-state.ts';

/** Longest overlap of a rotated key with its successor, ms (LIMIT-12). */
const OVERLAP_MS_MAX = 24 * 3_600_000;
/** Maximum number of successors that are followed; a day's overlaps make far fewer. */
const SUCCESSORS_MAX = 1_000;

/** A key for a service account or a member, with no more than its owner's permissions. */
export interface CreateKey extends IdentityChange {
  /** Must be in the change's project. */
  readonly owner: KeyOwner;
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** Addresses and networks that it may be used from; absent or empty = any. */
  readonly networks?: readonly string[];
  /** 1 ms to 365 days; undefined = 90 days. */
  readonly lifetimeMs: number | undefined;
}

/** A successor for a key, with the same permissions and networks. */
export interface RotateKey extends IdentityChange {
  readonly owner: KeyOwner;
  readonly key: string;
  /** Time for which the old key still works: 0 to 24 hours. */
  readonly overlapMs: number;
  /** Lifetime of the successor; undefined = 90 days. */
  readonly lifetimeMs: number | undefined;
}

/** Ends a key at once; `reason` is for users. */
export interface RevokeKey extends IdentityChange {
  readonly owner: KeyOwner;
  readonly key: string;
  readonly reason: string;
}

/** A new key. `sequence` is the position in EVENTS of its commit. */
export interface IssuedKey {
  /** Id of the new key. */
  readonly key: string;
  /** The key itself; null for a resent request, because it cannot be read again. */
  readonly secret: string | null;
  readonly sequence: number;
}

/**
 * Methods throw a `Refusal`: INVALID_FIELD, NOT_FOUND (no such owner or key), MISSING_CAPABILITY
 * (the owner does not have it), INVALID_STATE (the account is disabled; the key has ended, or has a
 * live successor), LIMIT_EXCEEDED, REQUEST_ID_REUSED; and the errors of `Host.submit`.
 */
export interface Keys {
  create(request: CreateKey): Promise<IssuedKey>;
  /** Makes a successor with the same capabilities, except those that the owner no longer has. */
  rotate(request: RotateKey): Promise<IssuedKey>;
  /** Changes nothing for a key that has ended. */
  revoke(request: RevokeKey): Promise<Committed<{ readonly key: string }>>;
}

/** The host, and the source of secrets. */
export interface KeysDeps {
  readonly host: Pick<Host, 'submit'>;
  /** Makes a personal or service-account key. */
  readonly mint: (kind: 'pk' | 'sk') => MintedKey;
}

/** Wraps the host. The decision that adds a key checks the number of keys. */
export function createKeys(deps: KeysDeps): Keys {
  const quota = new KeyQuota();
  return {
    create: (request) => createKey(deps, quota, request),
    rotate: (request) => rotateKey(deps, quota, request),
    revoke: (request) => revokeKey(deps, request),
  };
}

async function createKey(deps: KeysDeps, quota: KeyQuota, creation: CreateKey): Promise<IssuedKey> {
  const { project, by, request, owner, displayName, lifetimeMs } = creation;
  checkDisplayName(displayName);
  checkLifetime(lifetimeMs);
  const capabilities = someCapabilities(creation.capabilities);
  const networks = checkedNetworks(creation.networks ?? []);
  const minted = deps.mint(kindFor(owner));
  const committed = await deps.host.submit({
    project,
    by,
    ...(request && { request }),
    decide(draft) {
      checkGrants(draft, owner, capabilities);
      quota.assertBelowMax(draft, owner);
      const about = { capabilities, networks, displayName, createdBy: by.name, lifetimeMs };
      startCredential(draft, minted, credentialOf(owner, about));
      return { key: minted.id };
    },
  });
  return issued(committed, minted);
}

async function rotateKey(deps: KeysDeps, quota: KeyQuota, rotation: RotateKey): Promise<IssuedKey> {
  const { project, by, request, owner, key, overlapMs, lifetimeMs } = rotation;
  checkLifetime(lifetimeMs);
  if (!(overlapMs >= 0 && overlapMs <= OVERLAP_MS_MAX)) {
    const message = `overlapSeconds is ${overlapMs / 1000}; it must be 0 to ${OVERLAP_MS_MAX / 1000}`;
    throw invalidField('overlapSeconds', message);
  }
  const minted = deps.mint(kindFor(owner));
  const committed = await deps.host.submit({
    project,
    by,
    ...(request && { request }),
    decide(draft) {
      const old = ownedKey(draft, owner, key);
      assertActive(draft, owner);
      assertReplaceable(draft, old);
      // Without an overlap the number of live keys stays the same.
      if (overlapMs > 0) quota.assertBelowMax(draft, owner);
      const { capabilities, networks = null, displayName } = old.context;
      const about = { capabilities, networks, displayName, createdBy: by.name, lifetimeMs };
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
    project,
    by,
    ...(request && { request }),
    decide(draft) {
      const before = ownedKey(draft, owner, key);
      const revoked = {
        type: 'revoked',
        at: draft.at,
        reason: reason.trim() || 'REVOKED',
      } as const;
      const { changed } = draft.send('credential', key, { ...revoked, by: by.name });
      if (changed) recordRevokedByOther(draft, owner, before, by);
      return { key };
    },
  });
}

/** Notifies a member whose key was revoked by someone else. */
function recordRevokedByOther(
  draft: Draft,
  owner: KeyOwner,
  key: Instance<'credential'>,
  by: Actor,
): void {
  if (owner.machine !== 'membership') return;
  const person = draft.instance('membership', owner.id)?.context.person;
  if (by.name === `people/${String(person)}`) return;
  const what = describeCredential(key.context);
  const text = `Your ${what} was revoked by ${displayedActor(draft, by.name)}`;
  recordAccessChange(draft, { about: 'KEY', text, isForOwners: false, member: owner.id });
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
  }: Pick<NewCredential, 'capabilities' | 'networks' | 'displayName'> & {
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
  const message = `lifetimeSeconds is ${lifetimeMs / 1000}; it must be 1 to ${KEY_LIFETIME_MS_MAX / 1000}, or 0 for 90 days`;
  throw invalidField('lifetimeSeconds', message);
}

/** Throws unless the owner currently has all the capabilities. */
function checkGrants(draft: Draft, owner: KeyOwner, capabilities: readonly string[]): void {
  const granted = assertActive(draft, owner);
  const missing = capabilities.find((capability) => !granted.includes(capability));
  if (missing === undefined) return;
  const granter = owner.machine === 'membership' ? 'Your role here' : 'The service account';
  const has = granted.length === 0 ? 'nothing' : granted.join(' and ');
  throw new Refusal(
    'MISSING_CAPABILITY',
    `${granter} grants ${has}. A key cannot have ${missing} until its owner has it`,
    { capability: missing },
  );
}

/** Grants of an active owner. Throws NOT_FOUND or INVALID_STATE. */
function assertActive(draft: Draft, owner: KeyOwner): readonly string[] {
  const { state, capabilities } = grantsOf(draft, owner);
  if (state === 'active') return capabilities;
  if (state === 'gone') throw new Refusal('NOT_FOUND', `There is no ${ownerName(owner)}`);
  throw new Refusal('INVALID_STATE', 'The service account is disabled. Enable it first');
}

function ownedKey(draft: Draft, owner: KeyOwner, key: string): Instance<'credential'> {
  const found = draft.instance('credential', key);
  if (found?.context.owner === ownerName(owner)) return found;
  throw new Refusal('NOT_FOUND', `There is no ${ownerName(owner)}/keys/${key}`);
}

/** Throws INVALID_STATE unless the key is live and has no live successor. */
function assertReplaceable(draft: Draft, key: Instance<'credential'>): void {
  if (!isKeyLive(key, draft.at)) {
    throw new Refusal('INVALID_STATE', 'The key has ended and cannot be rotated. Create a new one');
  }
  const live = liveSuccessor(draft, key);
  if (live === undefined) return;
  throw new Refusal(
    'INVALID_STATE',
    `The key was replaced by ${live.instance}. Rotate that one, or revoke it first`,
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

/** Maximum live keys of one member. People have a few, and one per machine. */
export const MEMBER_KEYS_MAX = 100;
/** Maximum live keys of one service account: one per machine of a large installation. */
export const ACCOUNT_KEYS_MAX = 200_000;

/** From this many keys on, a count is reused. Fewer keys are counted in under 0.1 ms. */
const REUSED_COUNT_MIN = 1_000;
/** Maximum decisions that may reuse one count. */
const DECISIONS_MAX = 200;

/**
 * Quota of live keys by owner, checked in the commit that adds one; one instance per process.
 * Counting takes longer with more keys (6.6 ms for 100,000, over the owner index), so a large count
 * is reused for several decisions, at most as many as keys are left in the quota.
 */
export class KeyQuota {
  /** Keys that may be made before the next count, by the owner's name. */
  readonly #left = new Map<string, number>();

  /** Throws LIMIT_EXCEEDED if the owner has the maximum number of live keys. */
  assertBelowMax(view: Pick<ProjectView, 'countInstances'>, owner: KeyOwner): void {
    const name = ownerName(owner);
    const left = this.#left.get(name) ?? 0;
    if (left > 1) this.#left.set(name, left - 1);
    else this.#left.delete(name);
    if (left > 0) return;
    const max = owner.machine === 'membership' ? MEMBER_KEYS_MAX : ACCOUNT_KEYS_MAX;
    const live = view.countInstances('credential', { final: false, owner: name });
    if (live >= max) throw full(owner, max);
    const others = Math.min(max - live, DECISIONS_MAX) - 1;
    if (live >= REUSED_COUNT_MIN && others > 0) this.#left.set(name, others);
  }
}

function full({ machine }: KeyOwner, max: number): Refusal {
  const who = machine === 'membership' ? 'A member' : 'A service account';
  return new Refusal(
    'LIMIT_EXCEEDED',
    `${who} has at most ${max} live keys. Revoke one first, or rotate one without an overlap`,
    { limit: String(max) },
  );
}
