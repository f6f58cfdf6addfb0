/**
 * Identities of automation, put together: their decisions, with secrets of our keys' form, and the
 * part that finishes what a crash left of an account's end, or an older version of people's claims.
 */

import { finishLeftovers } from '../../actors/identity/account-aftermath.ts';
import { createAccounts } from '../../actors/identity/accounts.ts';
import type { Accounts } from '../../actors/identity/accounts-port.ts';
import { completeClaimIndex } from '../../actors/identity/email-index.ts';
import { createKeys } from '../../actors/identity/keys.ts';
import type { Keys } from '../../actors/identity/keys-port.ts';
import { noteLeaksOfPeople } from '../../actors/identity/leaks.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Random } from '../../streams/platform/random.ts';
import { mintKey } from '../platform/keys.ts';
import type { Log } from '../platform/log.ts';

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

/** How often it is looked for rows that are not whole, ms; the first time at once. */
const LEFTOVERS_EVERY_MS = 10 * 60_000;

interface Leftovers<H> {
  readonly host: H;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Revokes the keys and connections that a crash, or an outage, left of accounts that have ended.
 * Nothing of them works meanwhile, but they are listed as if it did. Returns what stops it.
 */
export function keepFinishingAccounts(
  parts: Leftovers<Pick<Host, 'submit' | 'view' | 'projects'>>,
): () => Promise<void> {
  return keepFinishing(parts, {
    finish: () => finishLeftovers(parts.host),
    onFault: 'Ends of service accounts are not whole yet',
  });
}

/** Marks people whose unproven address an older version did not note. Returns what stops it. */
export function keepMarkingClaims(
  parts: Leftovers<Pick<Host, 'submit' | 'view' | 'projects' | 'findInstancesOf'>>,
): () => Promise<void> {
  return keepFinishing(parts, {
    finish: () => completeClaimIndex(parts.host),
    onFault: 'Marks of unproven addresses are not whole yet',
  });
}

/** Notifies the projects of people whose leaked session a crash left unsaid. Returns what stops it. */
export function keepNotingLeaks(
  parts: Leftovers<Pick<Host, 'submit' | 'view' | 'findInstancesOf'>>,
): () => Promise<void> {
  return keepFinishing(parts, {
    finish: () => noteLeaksOfPeople(parts.host),
    onFault: 'Projects were not notified of a leaked session yet',
  });
}

function keepFinishing(
  { clock, log }: Pick<Leftovers<unknown>, 'clock' | 'log'>,
  work: { readonly finish: () => Promise<void>; readonly onFault: string },
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await work.finish();
      } catch (error) {
        log.warn({ err: error, part: 'accounts' }, work.onFault);
      }
      await pause(clock, LEFTOVERS_EVERY_MS, signal);
    }
  };
  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}
