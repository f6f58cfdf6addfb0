/** Secrets of sign-in in the form of all our secrets: what `actors/identity` is given. */
import type { SignInSecrets } from '../../../actors/identity/sign-in-secrets.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { hashKey, mintSecret, parseSecret } from '../../platform/keys.ts';

export function createSignInSecrets(ports: { clock: Clock; random: Random }): SignInSecrets {
  return {
    mint: (kind, id) =>
      mintSecret(kind, {
        ...{ nowMs: ports.clock.now(), random: ports.random },
        ...(id !== undefined && { id }),
      }),
    parse: parseSecret,
    hash: hashKey,
  };
}
