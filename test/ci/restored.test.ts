/**
 * CI identity tokens after a backup was restored: the used tokens of the lost period are unknown,
 * so no token from before the restoration is accepted.
 */
import { test } from 'tap';
import { restored } from '../../actors/identity/restoration.ts';
import { change } from '../support/ci-exchanges.ts';
import {
  ACCOUNT,
  type CiWorld,
  NETWORK,
  PROJECT,
  refusalOf,
  startCiWorld,
  type TestToken,
} from '../support/keyless-ci-on-host.ts';
import { operator } from '../support/people-on-host.ts';

async function restore({ host, request }: CiWorld): Promise<number> {
  const { atMs } = await restored(host, { by: operator, request: request() });
  return atMs;
}

const BEFORE_RESTORE = {
  reason: 'BAD_ASSERTION',
  metadata: { cause: 'BEFORE_RESTORE' },
  message: /before a backup was restored.* fresh/,
};

test('A token from before the last restoration gets no access token', async (t) => {
  const world = await startCiWorld(t);
  const connection = await world.connect();
  const exchange = (token: TestToken) =>
    refusalOf(
      world.ci.exchange({ project: PROJECT, connection, assertion: world.assertion(token) }),
    );
  const issuedMs = world.clock.now() - 1;
  t.equal(await exchange({ issuedMs }), undefined, 'accepted without a restoration');
  const first = await restore(world);
  t.match(await exchange({ issuedMs: first - 1 }), BEFORE_RESTORE);
  t.equal(world.outcomes.at(-1), 'BAD_ASSERTION', 'it is counted');
  t.equal(await exchange({ issuedMs: first }), undefined, 'a fresh one is accepted');
  await world.clock.advance(1_000);
  const second = await restore(world);
  t.match(await exchange({ issuedMs: first }), BEFORE_RESTORE, 'the last restoration counts');
  t.equal(await exchange({ issuedMs: second }), undefined);
});

test('A token from before the last restoration proves no identity', async (t) => {
  const world = await startCiWorld(t);
  const atMs = await restore(world);
  const { answer } = await world.ci.start({
    ...change(world),
    serviceAccount: ACCOUNT,
    displayName: 'x',
    issuer: '',
    capabilities: ['monitoring.read'],
  });
  const { verification: setupId, pairingCode = '' } = answer;
  const prove = (token: TestToken) =>
    refusalOf(
      world.ci.submitProof({
        setupId,
        pairingCode,
        network: NETWORK,
        assertion: world.assertion(token),
      }),
    );
  t.match(await prove({ issuedMs: atMs - 1 }), BEFORE_RESTORE);
  t.equal(await prove({ issuedMs: atMs }), undefined);
});
