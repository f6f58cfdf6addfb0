/**
 * Exchanges: the answer and the record of a refusal, the single use of an assertion, and changes
 * while an assertion is being verified.
 */
import { test } from 'tap';
import { change, denied, notesOf } from '../support/ci-exchanges.ts';
import {
  ACCOUNT,
  AUDIENCE,
  type CiWorld,
  NETWORK,
  owner,
  PROJECT,
  refusalOf,
  send,
  startCiWorld,
} from '../support/keyless-ci-on-host.ts';

const SHOP = 'acme/shop/.github/workflows';

test('STATE-09: a change of repository or workflow identity requires a new verification', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const rows: [what: string, bound: object, cause: string, claims: string[]][] = [
    ['another branch', { ref: 'refs/heads/dev' }, 'IDENTITY_MISMATCH', ['ref']],
    ['another event', { event_name: 'schedule' }, 'IDENTITY_MISMATCH', ['event_name']],
    ['a new environment', { environment: 'prod' }, 'IDENTITY_MISMATCH', ['environment']],
    [
      'a renamed workflow',
      { workflow_ref: `${SHOP}/other.yml@refs/heads/main` },
      'IDENTITY_MISMATCH',
      ['workflow_ref'],
    ],
    [
      'another reusable workflow',
      { job_workflow_ref: 'evil/lib/.github/workflows/x.yml@refs/heads/main' },
      'IDENTITY_MISMATCH',
      ['job_workflow_ref'],
    ],
    [
      'other runners',
      { runner_environment: 'self-hosted' },
      'IDENTITY_MISMATCH',
      ['runner_environment'],
    ],
    ['a missing claim', { runner_environment: null }, 'IDENTITY_MISMATCH', ['runner_environment']],
    ['a claim that is not text', { ref_type: ['branch'] }, 'IDENTITY_MISMATCH', ['ref_type']],
  ];
  for (const [what, bound, cause, claims] of rows) {
    const answer = await denied(world, id, { bound: { ...bound } });
    t.match(answer, { reason: 'EXCHANGE_DENIED', cause }, what);
    t.same(
      answer.claims.map(({ claim }: { claim: string }) => claim),
      claims,
      what,
    );
    t.ok(
      answer.claims.every((claim: object) => 'expected' in claim),
      `${what}: visible to the owner`,
    );
  }
  t.equal(await world.tryExchange(id), 'EXCHANGED', 'the approved one is still admitted');
});

test('AUTH-10: an exchange from another branch is rejected until that branch is verified', async (t) => {
  const world = await startCiWorld(t);
  const dev = { bound: { ref: 'refs/heads/dev' } };
  const id = await world.connect(dev);
  const { claims, message } = await denied(world, id);
  t.same(claims, [{ claim: 'ref', got: 'refs/heads/main', expected: 'refs/heads/dev' }]);
  t.match(message, /\(ref\).*start a new verification/);
  t.equal(await world.tryExchange(await world.connect()), 'EXCHANGED');
});

test('CI-05: a renamed repository with the same id needs a new verification', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const bound = {
    repository: 'acme/store',
    workflow_ref: 'acme/store/.github/workflows/deploy.yml@refs/heads/main',
    job_workflow_ref: 'acme/store/.github/workflows/deploy.yml@refs/heads/main',
  };
  const renamed = await denied(world, id, { bound });
  t.match(renamed, { cause: 'IDENTITY_RENAMED', message: /Start a new verification/ });
  t.match(renamed.claims[1], { claim: 'repository', got: 'acme/store', expected: 'acme/shop' });
  t.match(await denied(world, id, { bound: { repository_owner: 'acme-inc' } }), {
    cause: 'IDENTITY_RENAMED',
  });
  t.equal(await world.tryExchange(await world.connect({ bound }), { bound }), 'EXCHANGED');
});

test('A repository transferred, or re-created under its name, is another one', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const transferred = {
    repository_owner_id: '78',
    repository_owner: 'evil',
    repository: 'evil/shop',
  };
  for (const bound of [transferred, { repository_id: '1002' }]) {
    const { cause, claims } = await denied(world, id, { bound });
    t.equal(cause, 'IDENTITY_MISMATCH');
    t.same(
      claims.map(({ claim }: { claim: string }) => claim),
      Object.keys(bound).sort(),
    );
    t.notOk(
      claims.some((claim: object) => 'expected' in claim),
      'a stranger learns nothing',
    );
  }
});

test('CI-09: a second exchange of one assertion is rejected, whatever the first returned', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const exchange = (connection: string, assertion: string) =>
    refusalOf(world.ci.exchange({ project: PROJECT, connection, assertion }));
  const replayed = {
    reason: 'BAD_ASSERTION',
    metadata: { cause: 'REPLAYED' },
    message: /needs a fresh token/,
  };
  const good = world.assertion();
  t.equal(await exchange(id, good), undefined);
  t.match(await exchange(id, good), replayed);
  const [first, second] = [world.assertion(), world.assertion()];
  t.match(await exchange('nowhere', first), { reason: 'EXCHANGE_DENIED' });
  t.match(await exchange(id, first), replayed, 'burned by an attempt under an unknown name');
  t.match(await exchange(id, second.replace('{', '{"bound":{"ref":"x"},')), {
    metadata: { cause: 'IDENTITY_MISMATCH' },
  });
  t.match(await exchange(id, second), replayed, 'burned by a refusal of its claims');
  const raced = world.assertion();
  const outcomes = await Promise.all(Array.from({ length: 16 }, () => exchange(id, raced)));
  t.equal(outcomes.filter((refusal) => refusal === undefined).length, 1, 'concurrently: one wins');
  const { answer } = await world.ci.start({
    project: PROJECT,
    by: owner,
    request: world.request(),
    issuer: '',
    serviceAccount: 'deployer',
    displayName: 'x',
    capabilities: ['monitoring.read'],
  });
  const { verification: setupId, pairingCode = '' } = answer;
  const submit = (assertion: string) =>
    refusalOf(world.ci.submitProof({ setupId, pairingCode, network: NETWORK, assertion }));
  t.match(await submit(good), replayed, 'a verification does not accept a used one');
  const displayed = world.assertion();
  t.equal(await submit(displayed), undefined);
  t.match(await exchange(id, displayed), replayed, 'nor does an exchange');
});

test('An invalid assertion is not burned, and its refusal states the cause', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const before = world.burned.size;
  const answers = [
    await denied(world, id, { audience: 'https://elsewhere.example/projects/demo' }),
    await denied(world, 'nowhere', { audience: 'https://elsewhere.example/projects/demo' }),
  ];
  for (const answer of answers) t.match(answer, { reason: 'BAD_ASSERTION', cause: 'AUDIENCE' });
  t.equal(world.burned.size, before);
  t.equal(world.ci.audienceOf(PROJECT), AUDIENCE);
  t.equal(AUDIENCE, 'https://monitoring.example/projects/demo', 'of this deployment and project');
});

test('Unknown trust names are answered like a mismatch, without a claim list', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const unknown = await denied(world, 'nowhere');
  t.match(unknown, { reason: 'EXCHANGE_DENIED', cause: 'IDENTITY_MISMATCH', claims: [] });
  t.match(unknown.correlation, /^[0-9A-Z]{26}$/);
  const elsewhere = { project: 'other', connection: id, assertion: world.assertion() };
  t.match(
    await refusalOf(world.ci.exchange(elsewhere)),
    {
      reason: 'BAD_ASSERTION',
      metadata: { cause: 'AUDIENCE' },
    },
    'a token for one project is useless in another',
  );
  t.same(world.outcomes, ['UNKNOWN_TRUST', 'BAD_ASSERTION']);
  const events = notesOf(world, id);
  t.same(events, [], 'no connection records it');
});

test('Renaming another issuer to an approved issuer’s name moves no trust to it', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const { answer } = await world.ci.start({
    ...change(world),
    issuer: '',
    serviceAccount: ACCOUNT,
    displayName: 'x',
    capabilities: ['monitoring.read'],
  });
  world.issuers.github = 'https://elsewhere.example';
  const moved = await denied(world, id);
  t.match(moved, {
    reason: 'EXCHANGE_DENIED',
    cause: 'ISSUER_CHANGED',
    claims: [],
    message: /SVC_CI_ISSUERS.*new verification/,
  });
  t.match(notesOf(world, id), [{ codes: { ISSUER_CHANGED: 1 } }]);
  t.match(
    await denied(world, id, { bound: { ref: 'x' } }),
    { cause: 'ISSUER_CHANGED', claims: [] },
    'approved values are hidden from another issuer’s job with the same ids',
  );
  const { verification: setupId, pairingCode = '' } = answer;
  const proof = { setupId, pairingCode, network: NETWORK, assertion: world.assertion() };
  t.match(await refusalOf(world.ci.submitProof(proof)), { metadata: { cause: 'ISSUER_CHANGED' } });
  world.issuers.github = 'https://github.example';
  t.equal(
    await world.tryExchange(id),
    'EXCHANGED',
    'with the original configuration it works again',
  );
});

test('No exchange succeeds after a revocation was decided, however many are in flight', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const running = Array.from({ length: 50 }, () => world.tryExchange(id));
  const disabling = { project: PROJECT, by: owner, request: world.request(), connection: id };
  await world.ci.disable({ ...disabling, reason: 'stop' });
  const after = Array.from({ length: 50 }, () => world.tryExchange(id));
  t.ok((await Promise.all(running)).every((end) => /EXCHANGED|CONNECTION_DISABLED/.test(end)));
  t.same(new Set(await Promise.all(after)), new Set(['CONNECTION_DISABLED']));
});

test('A revocation while the assertion is being verified stops the exchange', async (t) => {
  const disabled = { type: 'disabled', reason: 'x' };
  const revocations: [string, (world: CiWorld, connection: string) => Promise<unknown>][] = [
    [
      'CONNECTION_DISABLED',
      (world, connection) => world.ci.disable({ ...change(world), connection, reason: 'leak' }),
    ],
    [
      'CONNECTION_DELETED',
      (world, connection) => world.ci.delete({ ...change(world), connection }),
    ],
    ['ACCOUNT_DISABLED', (world) => send(world, 'serviceAccount', ACCOUNT, disabled)],
  ];
  for (const [cause, revoke] of revocations) {
    const world = await startCiWorld(t);
    const id = await world.connect();
    world.meanwhile = () => revoke(world, id);
    t.equal(await world.tryExchange(id), cause);
    t.same(world.outcomes, [cause]);
  }
});

test('A token carries the epoch at the time of its issue', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect({}, ['monitoring.read', 'monitoring.write']);
  const capabilities = ['monitoring.read'];
  world.meanwhile = () =>
    world.ci.edit({ ...change(world), connection: id, displayName: undefined, capabilities });
  const assertion = world.assertion();
  const given = await world.ci.exchange({ project: PROJECT, connection: id, assertion });
  t.match(JSON.parse(given.accessToken.replace('token ', '')), { tokenEpoch: 2 });
});
