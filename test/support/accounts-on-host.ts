/**
 * Service accounts and keys on a real host, without the API: an account, many keys at once, and a host
 * whose process ends between two commits.
 */
import type { Test } from 'tap';
import { createAccounts } from '../../actors/identity/accounts.ts';
import { startCredential } from '../../actors/identity/credentials.ts';
import { type KeyOwner, ownerName } from '../../actors/identity/grants.ts';
import { type CreateKey, createKeys } from '../../actors/identity/keys.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import { mintKey } from '../../src/platform/keys.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { startWorld, tester, type World } from './host-in-memory.ts';
import { identitiesOf } from './identities.ts';

export const project = 'p1';
export const change = { project, by: tester };

/** The decisions under test, over the world's host or one that fails. */
export function decisionsOf(world: World, host: Host = world.host) {
  const { clock, random } = world;
  return {
    accounts: createAccounts({ host, clock, random }),
    keys: createKeys({ host, mint: (kind) => mintKey(kind, { nowMs: clock.now(), random }) }),
  };
}

/** A world with a service account that may read and write. */
export async function startIdentities(t: Test) {
  const world = await startWorld(t);
  const made = { ...world, ...identitiesOf(world), ...decisionsOf(world) };
  const account = await made.account(project, ['monitoring.read', 'monitoring.write']);
  const owner: KeyOwner = { project, machine: 'serviceAccount', id: account };
  const creation: CreateKey = {
    ...change,
    owner,
    displayName: 'k',
    capabilities: ['monitoring.read'],
    lifetimeMs: undefined,
  };
  /** Issues many keys at once, in few commits. */
  const manyKeys = async (count: number, of: KeyOwner = owner): Promise<void> => {
    for (let left = count; left > 0; left -= 200) {
      await world.host.submit({
        ...change,
        decide(draft) {
          for (let i = 0; i < Math.min(left, 200); i++) {
            const minted = mintKey('sk', { nowMs: draft.at, random: world.random });
            startCredential(draft, minted, {
              project,
              kind: 'sk',
              owner: ownerName(of),
              displayName: 'k',
              capabilities: ['monitoring.read'],
            });
          }
        },
      });
    }
  };
  const liveKeys = (of: KeyOwner = owner) =>
    world.host.view(project).countInstances('credential', { final: false, owner: ownerName(of) });
  return { ...made, account, owner, creation, manyKeys, liveKeys, value: stateIn(world.host) };
}

function stateIn(host: Host) {
  return (machine: MachineName, id: string) => host.view(project).instance(machine, id)?.value;
}

/** A host whose process ends after this many commits: every later commit fails. */
export function dyingAfter(host: Host, commits: number): Host {
  let left = commits;
  return {
    ...host,
    submit(submission) {
      if (left-- > 0) return host.submit(submission);
      throw new StreamUnavailable('The process ended', 'refused');
    },
  };
}
