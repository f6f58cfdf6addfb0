/**
 * Issue and revocation of credentials, one commit each. The commit holds only the hash of the key; the
 * key itself is returned to the caller once.
 */
import { type NewCredential, startCredential } from '../../actors/identity/credentials.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import { mintKey } from '../../src/platform/keys.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Random } from '../../streams/platform/random.ts';
import { submit } from './submit.ts';

export interface IssuedCredential {
  readonly id: string;
  /** The secret, which cannot be read again. */
  readonly key: string;
  readonly expiresMs: number;
}

export interface CredentialPorts {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
}

/** Commits a new credential, durable when it resolves. Throws the errors of `Host.submit`. */
export async function issueCredential(
  { host, clock, random }: CredentialPorts,
  by: Actor,
  credential: NewCredential,
): Promise<IssuedCredential> {
  const minted = mintKey(credential.kind, { nowMs: clock.now(), random });
  const { answer } = await submit(host, { project: credential.project, by }, (draft) => ({
    expiresMs: startCredential(draft, minted, credential),
  }));
  return { id: minted.id, key: minted.text, expiresMs: answer.expiresMs };
}

/** Revokes a credential at once. False if it had already ended, or is not in this project. */
export async function revokeCredential(
  host: Host,
  by: Actor,
  credential: { readonly project: string; readonly id: string; readonly reason: string },
): Promise<boolean> {
  const { project, id, reason } = credential;
  const { answer } = await submit(host, { project, by }, (draft) => {
    if (!draft.instance('credential', id)) return false;
    return draft.send('credential', id, { type: 'revoked', at: draft.at, reason, by: by.name })
      .changed;
  });
  return answer;
}
