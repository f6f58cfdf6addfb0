/**
 * Uses of bound keys from outside their networks, for the owners of the project: such a key was
 * probably copied. The caller waits for no notice, and a key has at most one in an hour, so that a
 * thief of the key can flood neither the log of changes nor mailboxes.
 */
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Host, Instance } from '../platform/host/host-port.ts';
import { displayedOwner, recordAccessChange } from './access-notices.ts';
import { describeCredential } from './credentials.ts';
import { parseOwner } from './grants.ts';
import { isKeyLive } from './key-state.ts';

const SERVICE: Actor = { kind: 'service', name: 'service/bound-keys' };
/** Minimum interval between the notices of one key, ms. */
const APART_MS = 3_600_000;
const KEYS_MAX = 10_000;

export interface OutsideUsesDeps {
  readonly host: Pick<Host, 'submit'>;
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly onFault: (what: string, error: unknown) => void;
}

/** Returns the function that records a use. It never throws. */
export function createOutsideUses({ host, clock, onFault }: OutsideUsesDeps) {
  const notifiedMs = new BoundedCache<string, number>(KEYS_MAX);
  return (key: Instance<'credential'>, address: string): void => {
    const last = notifiedMs.get(key.instance);
    if (last !== undefined && clock.elapsed() - last < APART_MS) return;
    notifiedMs.set(key.instance, clock.elapsed());
    notify(host, key, address).catch((error: unknown) => {
      notifiedMs.delete(key.instance);
      onFault('A use of a bound key from elsewhere could not be recorded', error);
    });
  };
}

async function notify(
  host: Pick<Host, 'submit'>,
  { project, instance: id }: Instance<'credential'>,
  address: string,
): Promise<void> {
  await host.submit({
    project,
    by: SERVICE,
    decide(draft) {
      const key = draft.instance('credential', id);
      if (!key || !isKeyLive(key, draft.at)) return {};
      const { owner } = key.context;
      const text = `The ${describeCredential(key.context)} of ${displayedOwner(draft, owner)} was refused from ${address}, outside its networks`;
      const holder = parseOwner(owner);
      const member = holder?.machine === 'membership' ? holder.id : null;
      recordAccessChange(draft, { about: 'KEY', text, isForOwners: true, member });
      return {};
    },
  });
}
