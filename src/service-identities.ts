/** Identities of automation, put together: their decisions, with secrets of our keys' form. */
import type { Host } from '../actors/host-port.ts';
import { createAccounts } from '../actors/identity/accounts.ts';
import type { Accounts } from '../actors/identity/accounts-port.ts';
import { createKeys } from '../actors/identity/keys.ts';
import type { Keys } from '../actors/identity/keys-port.ts';
import type { Clock } from '../streams/clock.ts';
import type { Random } from '../streams/random.ts';
import { mintKey } from './auth/keys.ts';

export interface ServiceIdentities {
  readonly accounts: Accounts;
  readonly keys: Keys;
}

export function createServiceIdentities({
  host,
  clock,
  random,
}: {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
}): ServiceIdentities {
  return {
    accounts: createAccounts({ host, clock, random }),
    keys: createKeys({ host, mint: (kind) => mintKey(kind, { nowMs: clock.now(), random }) }),
  };
}
