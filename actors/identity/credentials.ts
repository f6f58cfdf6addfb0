/**
 * Starts a credential of any kind inside a decision. This is the only place that bounds lifetimes.
 */
import type { CredentialInput } from '../../machines/identity/credential.ts';
import type { Draft } from '../platform/host/host-port.ts';
import { displayedActor, displayedOwner, recordAccessChange } from './access-notices.ts';

/** Longest lifetime of a key, ms (IDN-06). */
export const KEY_LIFETIME_MS_MAX = 365 * 86_400_000;
/** Lifetime of a key whose request names none, ms: 90 days. */
export const KEY_LIFETIME_MS_DEFAULT = 90 * 86_400_000;

/** A new secret in the form of our keys. */
export interface MintedKey {
  readonly id: string;
  /** The secret. */
  readonly text: string;
  /** SHA-256 of it, hex. */
  readonly hash: string;
  readonly lastFour: string;
}

/** A credential to start. Its secret was made earlier; only the hash is passed. */
export interface NewCredential {
  readonly project: string;
  readonly kind: CredentialInput['kind'];
  readonly capabilities: readonly string[];
  /** Resource name of the identity it acts for. */
  readonly owner: string;
  readonly displayName: string;
  /** Resource name of its creator; default: the service. */
  readonly createdBy?: string;
  /** For a collector: the one data center that it reports. For an agent: the one VM. */
  readonly datacenter?: string;
  /** For a collector of `_system`: the projects that it writes into; absent = any. */
  readonly projects?: readonly string[];
  readonly vm?: string;
  /** Addresses and networks that it may be used from; absent or null = any. */
  readonly networks?: readonly string[] | null;
  /** Default 90 days; more than a year throws RangeError. */
  readonly lifetimeMs?: number;
}

/**
 * Adds a new key to a decision, with the notice for the project's owners. Returns the end of its
 * lifetime, Unix ms.
 */
export function startCredential(
  draft: Draft,
  minted: Omit<MintedKey, 'text'>,
  credential: NewCredential,
): number {
  const lifetimeMs = credential.lifetimeMs ?? KEY_LIFETIME_MS_DEFAULT;
  if (!(lifetimeMs > 0 && lifetimeMs <= KEY_LIFETIME_MS_MAX)) {
    throw new RangeError(
      `A key's lifetime is at most ${KEY_LIFETIME_MS_MAX} ms, not ${lifetimeMs}`,
    );
  }
  const input: CredentialInput = {
    at: draft.at,
    project: credential.project,
    kind: credential.kind,
    hash: minted.hash,
    lastFour: minted.lastFour,
    capabilities: credential.capabilities,
    owner: credential.owner,
    displayName: credential.displayName,
    createdBy: credential.createdBy ?? 'service',
    datacenter: credential.datacenter ?? null,
    projects: credential.projects ?? null,
    vm: credential.vm ?? null,
    networks: credential.networks ?? null,
    expiresMs: draft.at + lifetimeMs,
  };
  draft.start('credential', minted.id, { ...input });
  // Keys that the service makes for itself (in the demo) need no notice.
  if (!/^service(\/|$)/.test(input.createdBy)) recordNewKey(draft, input);
  return input.expiresMs;
}

function recordNewKey(draft: Draft, input: CredentialInput): void {
  const { createdBy, owner, capabilities, networks = null, expiresMs } = input;
  const until = new Date(expiresMs).toISOString().slice(0, 10);
  const what = `The ${describeCredential(input)} of ${displayedOwner(draft, owner)}`;
  const from = networks === null ? '' : `, from ${networks.join(' and ')}`;
  const text = `${what} was made by ${displayedActor(draft, createdBy)}: for ${capabilities.join(' and ')}${from}, until ${until}`;
  recordAccessChange(draft, { about: 'KEY', text, isForOwners: true, member: null });
}

const KINDS: Readonly<Record<CredentialInput['kind'], string>> = {
  pk: 'personal key',
  sk: 'service-account key',
  col: 'collector key',
  vm: 'agent key',
};

/** Description for users: kind, name and the last characters of the secret. */
export function describeCredential({
  kind,
  displayName,
  lastFour,
}: Pick<CredentialInput, 'kind' | 'displayName' | 'lastFour'>): string {
  return `${KINDS[kind]} "${displayName}" (…${lastFour})`;
}
