/**
 * Making and ending credentials: one commit each. The commit holds the hash of the key alone; the
 * key itself goes back to the caller, once.
 */
import type { Draft, Host } from '../../actors/host-port.ts';
import type { CredentialInput } from '../../machines/credential.ts';
import type { Clock } from '../../streams/clock.ts';
import type { Actor } from '../../streams/commit/commit.ts';
import type { Random } from '../../streams/random.ts';
import { type KeyKind, type MintedKey, mintKey } from './keys.ts';

/** What a credential may be good for; methods of the API each need one of these. */
type Capability = 'monitoring.read' | 'monitoring.write' | 'collector';

/** Longest and usual lifetime of a key (interface, section 2). */
export const KEY_LIFETIME_MS_MAX = 365 * 86_400_000;
const KEY_LIFETIME_MS_DEFAULT = 90 * 86_400_000;

export interface NewCredential {
  readonly project: string;
  readonly kind: KeyKind;
  readonly capabilities: readonly Capability[];
  /** Resource name of the identity it acts for. */
  readonly owner: string;
  readonly displayName: string;
  /** Resource name of who makes it; default the part of the service. */
  readonly createdBy?: string;
  /** Of a collector: the one data center it reports; of an agent: the one VM. */
  readonly datacenter?: string;
  readonly vm?: string;
  /** Default 90 days; more than a year throws RangeError. */
  readonly lifetimeMs?: number;
}

export interface IssuedCredential {
  readonly id: string;
  /** The secret: this is the only time it can be read. */
  readonly key: string;
  readonly expiresMs: number;
}

export interface CredentialPorts {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
}

/** Commits a new credential; durable when it resolves. Throws what `Host.submit` throws. */
export async function issueCredential(
  { host, clock, random }: CredentialPorts,
  by: Actor,
  credential: NewCredential,
): Promise<IssuedCredential> {
  const minted = mintKey(credential.kind, { nowMs: clock.now(), random });
  const { answer } = await host.submit({
    project: credential.project,
    by,
    decide: (draft) => ({ expiresMs: startCredential(draft, minted, credential) }),
  });
  return { id: minted.id, key: minted.text, expiresMs: answer.expiresMs };
}

/** Adds a minted key to a decision; returns the end of its lifetime, Unix ms. */
export function startCredential(
  draft: Draft,
  minted: MintedKey,
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
    vm: credential.vm ?? null,
    expiresMs: draft.at + lifetimeMs,
  };
  draft.start('credential', minted.id, { ...input });
  return input.expiresMs;
}

/** Ends a credential at once; false when it had ended before, or is not of this project. */
export async function revokeCredential(
  host: Host,
  by: Actor,
  credential: { readonly project: string; readonly id: string; readonly reason: string },
): Promise<boolean> {
  const { project, id, reason } = credential;
  const { answer } = await host.submit({
    project,
    by,
    decide: (draft) => {
      if (!draft.instance('credential', id)) return false;
      return draft.send('credential', id, { type: 'revoked', at: draft.at, reason, by: by.name })
        .changed;
    },
  });
  return answer;
}
