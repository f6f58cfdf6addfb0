/**
 * Pairing codes: valid for one observation, on one node and on two, and the limits on wrong ones.
 * Over a real host, with tokens whose claims the test chooses.
 */
import { test } from 'tap';
import type { Instance } from '../../actors/platform/host/host-port.ts';
import {
  ACCOUNT,
  BOUND,
  type CiWorld,
  causeOf,
  NETWORK,
  owner,
  PROJECT,
  refusalOf,
  startCiWorld,
  type TestToken,
} from '../support/keyless-ci-on-host.ts';

const READ = ['monitoring.read'];
const MINUTE_MS = 60_000;

const change = (world: CiWorld) => ({ project: PROJECT, by: owner, request: world.request() });

async function start(world: CiWorld) {
  const about = { serviceAccount: ACCOUNT, displayName: 'Deploy', capabilities: READ, issuer: '' };
  const { verification: setupId, pairingCode = '' } = (
    await world.ci.start({ ...change(world), ...about })
  ).answer;
  return { setupId, pairingCode, network: NETWORK };
}

function row(world: CiWorld, id: string): Instance<'ciVerification'> {
  const found = world.host.view(PROJECT).instance('ciVerification', id);
  if (!found) throw new Error(`There is no verification ${id}`);
  return found;
}

test('CI-10: a pairing code is valid for one observation', async (t) => {
  const world = await startCiWorld(t);
  const used = { reason: 'INVALID_STATE', message: /code was used.*start a new one/ };
  await t.test('another run changes nothing, whatever its claims', async (t) => {
    const started = await start(world);
    const { digest } = await world.ci.submitProof({ ...started, assertion: world.assertion() });
    const approval = { verification: started.setupId, displayName: '', capabilities: READ, digest };
    const bound = { ref: 'refs/heads/evil', environment: 'prod' };
    const burned = world.burned.size;
    for (const token of [{ bound }, {}, { refused: [{ claim: 'ref', got: 'x' }] }]) {
      const proof = { ...started, assertion: world.assertion(token) };
      t.match(await refusalOf(world.ci.submitProof(proof)), used);
    }
    t.equal(world.burned.size, burned, 'no assertion is burned for it');
    t.match(row(world, started.setupId).context, { lastRefusal: null, observation: { digest } });
    t.match(row(world, started.setupId).context.observation, { bound: BOUND });
    const approved = world.ci.approve({ ...change(world), ...approval });
    t.equal(await causeOf(approved), 'EXCHANGED', 'the reviewed observation can still be approved');
  });
  await t.test(
    'exactly one of many concurrent submissions is observed, also on two nodes',
    async (t) => {
      const other = await startCiWorld(t, world);
      const started = await start(world);
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, i) => {
          const node = i % 2 === 0 ? world : other;
          const assertion = node.assertion({ recorded: { run_id: String(i) } });
          return causeOf(node.ci.submitProof({ ...started, assertion }));
        }),
      );
      t.same(outcomes.toSorted(), ['EXCHANGED', ...Array(7).fill('INVALID_STATE')]);
    },
  );
  await t.test('a rejected proof does not use up the code', async (t) => {
    const started = await start(world);
    const refused = world.assertion({ audience: 'https://elsewhere.example' });
    t.match(await refusalOf(world.ci.submitProof({ ...started, assertion: refused })), {
      reason: 'BAD_ASSERTION',
    });
    const proof = { ...started, assertion: world.assertion() };
    t.equal(await causeOf(world.ci.submitProof(proof)), 'EXCHANGED');
  });
});

test('CI-10: five wrong codes lock their source and never the verification', async (t) => {
  const world = await startCiWorld(t);
  const { pairingCode, setupId } = await start(world);
  const other = await start(world);
  const submit = (pairingCode: string, network: string, token?: TestToken) =>
    refusalOf(
      world.ci.submitProof({ setupId, pairingCode, network, assertion: world.assertion(token) }),
    );
  const nobody = { audience: 'https://elsewhere.example' };
  const mallory = { bound: { repository_id: '666', repository_owner_id: '667' } };
  const wrong = { reason: 'MALFORMED_CREDENTIAL' };
  const locked = {
    reason: 'TOO_MANY_REQUESTS',
    message: /try again in 600 s/,
    metadata: { retryAfterSeconds: '600' },
  };
  const reasons = (refusals: readonly unknown[]) =>
    refusals.map((refusal) => (refusal as { reason?: string } | undefined)?.reason).toSorted();
  const hundred = (token: TestToken) =>
    Promise.all(
      Array.from({ length: 100 }, (_, i) => submit(`guess-${i}`, `198.51.100.${i}`, token)),
    );
  await t.test('an unknown setup id gets the same answers and the same locks', async (t) => {
    const unknown = () =>
      refusalOf(
        world.ci.submitProof({
          setupId: 'nowhere',
          pairingCode,
          network: '198.51.100.1',
          assertion: '{}',
        }),
      );
    const answers = [await submit(other.pairingCode, '198.51.100.2', nobody), await unknown()];
    t.match(answers[0], wrong);
    t.same(answers[0]?.message, answers[1]?.message);
    t.same(answers[0]?.metadata, answers[1]?.metadata);
    for (let i = 0; i < 4; i++) await unknown();
    t.match(await unknown(), locked);
  });
  await t.test('a proven repository has five attempts, from any address', async (t) => {
    const outcomes = reasons(await hundred(mallory));
    t.same(outcomes.slice(0, 5), Array(5).fill('MALFORMED_CREDENTIAL'));
    t.same(outcomes.slice(5), Array(95).fill('TOO_MANY_REQUESTS'));
    t.match(await submit(pairingCode, NETWORK, mallory), locked, 'with the correct code too');
  });
  await t.test('a network without proof has five attempts', async (t) => {
    const tries = Array.from({ length: 50 }, (_, i) => submit(`guess-${i}`, NETWORK, nobody));
    t.same(reasons(await Promise.all(tries)).slice(4, 6), [
      'MALFORMED_CREDENTIAL',
      'TOO_MANY_REQUESTS',
    ]);
    t.match(
      await submit(pairingCode, NETWORK, nobody),
      locked,
      'and does not learn whether a code is correct',
    );
  });
  t.ok(row(world, setupId).context.wrongCodes > 0, 'the reviewer sees the guesses');
  const { items } = world.host.view(PROJECT).transitions({
    machine: 'ciVerification',
    instance: setupId,
    limit: 100,
  });
  t.equal(items.length, 2, 'its start and one record a minute: guesses do not flood the audit');
  t.equal(
    await submit(pairingCode, NETWORK),
    undefined,
    'the waiting workflow is observed, even from the guesser’s network',
  );
  t.equal(row(world, setupId).value, 'observed');
});

test('A locked source may retry after ten minutes; others are never locked', async (t) => {
  const world = await startCiWorld(t);
  const { pairingCode, setupId, network } = await start(world);
  const submit = (code: string, id = setupId) =>
    refusalOf(
      world.ci.submitProof({
        setupId: id,
        pairingCode: code,
        network,
        assertion: world.assertion(),
      }),
    );
  for (let i = 0; i < 5; i++) await submit('guess');
  t.match(await submit(pairingCode), { reason: 'TOO_MANY_REQUESTS' });
  const other = await start(world);
  t.equal(await submit(other.pairingCode, other.setupId), undefined, 'for that verification only');
  await world.clock.advance(10 * MINUTE_MS - 1);
  t.match(await submit(pairingCode), { reason: 'TOO_MANY_REQUESTS' }, 'up to the last moment');
  await world.clock.advance(1);
  t.equal(await submit(pairingCode), undefined);
  t.same(new Set(world.wrongCodes), new Set(['WRONG', 'LOCKED']));
  t.equal(world.wrongCodes.length, 7);
});
