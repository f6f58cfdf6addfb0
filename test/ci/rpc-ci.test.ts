/**
 * Keyless CI over the API, with real identity tokens of a local issuer: set-up by a person, proof
 * by a job, exchange and use of the access token.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'tap';
import type { Answer } from '../support/api-in-process.ts';
import { PROJECT_NAME, reads, startCiRpcWorld } from '../support/ci-api.ts';
import { submit } from '../support/submit.ts';

const READ = ['monitoring.read'];
const BOTH = ['monitoring.read', 'monitoring.write'];
const MINUTE_MS = 60_000;

interface ClaimJson {
  readonly claim: string;
  readonly value?: string;
  readonly bound: boolean;
  readonly why: string;
}

const claimsIn = ({ metadata }: Answer): { claim: string }[] => JSON.parse(metadata.claims ?? '[]');

test('AUTH-01, AUTH-09: a connection is set up in steps (a) to (f) and then exchanges', async (t) => {
  const world = await startCiRpcWorld(t);
  const { ci, anonymous, mint, audience } = world;
  const started = (await world.start({ capabilities: READ })).body;
  const { setupId, pairingCode, verification } = started;
  const open = { ref_protected: 'false', repository_visibility: 'public' };
  await t.test(
    'CI-04: a start returns the pairing code once, with an audience for this deployment and project',
    async (t) => {
      t.match(pairingCode, /^svc_pair_[0-9A-Z]{26}_[0-9A-Za-z]{49}$/);
      t.match(started, {
        secretAvailable: true,
        audience,
        expiresUnix: verification.expiresUnix,
      });
      t.match(verification, {
        name: `${PROJECT_NAME}/ciVerifications/${setupId}`,
        state: 'AWAITING_PROOF',
        serviceAccountName: world.account,
        capabilities: READ,
        wrongCodes: 0,
        audience,
        issuer: 'github',
        claims: [],
        createdBy: `people/${world.owner.person}`,
        serviceAccountDisplayName: 'Robot',
        createdByDisplayName: 'OWNER',
      });
      const lifetime = Number(verification.expiresUnix) - Number(verification.createdUnix);
      t.equal(lifetime, 1800, 'workflow verification validity: 30 minutes');
      t.notMatch(started.workflowStep, pairingCode);
      const read = (await ci('GetCiVerification', { name: verification.name })).body;
      t.equal(read.workflowStep, started.workflowStep, 'it can be read again; the code cannot');
    },
  );
  const observed = (
    await anonymous('SubmitCiVerification', { setupId, pairingCode, assertion: await mint(open) })
  ).body;
  await t.test('CI-11: the step gets the observed claims and never a token', async (t) => {
    t.same(Object.keys(observed).sort(), ['claims', 'claimsDigest']);
    const bound = observed.claims.filter((claim: ClaimJson) => claim.bound);
    const names = bound.map(({ claim }: ClaimJson) => claim);
    const wanted = ['repository_id', 'repository_owner_id', 'workflow_ref', 'ref', 'event_name'];
    t.ok(wanted.every((name) => names.includes(name)));
    t.same(
      observed.claims.find(({ claim }: ClaimJson) => claim === 'environment'),
      {
        claim: 'environment',
        bound: true,
        why: 'The approved token does not have it, and it must stay absent.',
      },
      'an absent claim has no value',
    );
    const whys = new Map(observed.claims.map(({ claim, why }: ClaimJson) => [claim, why]));
    t.match(whys.get('repository_id'), /^This id stays the same after a rename/);
    t.match(whys.get('repository'), /A renaming requires a new approval/);
    t.match(whys.get('event_name'), / Accepted events are push, workflow_dispatch, schedule\.$/);
    t.match(whys.get('actor'), /^It may differ from job to job/);
    t.match(whys.get('job_workflow_sha'), / It is bound if the job is in a workflow of another/);
  });
  const displayed = (await ci('GetCiVerification', { name: verification.name })).body;
  await t.test('the review lists each observed claim with the points to consider', async (t) => {
    t.match(displayed, { state: 'OBSERVED', claims: observed.claims, observedUnix: /^\d+$/ });
    t.equal(displayed.workflowStep, '', 'the code is used up, and so is the step');
    t.equal(displayed.claimsDigest, observed.claimsDigest);
    t.match(displayed.warnings, [/branch is not protected/, /repository is public/]);
  });
  const { claimsDigest } = observed;
  const approval = { name: verification.name, capabilities: READ, claimsDigest };
  const connection = (await ci('ApproveCiVerification', approval)).body;
  await t.test('approval creates a connection with only the chosen permissions', async (t) => {
    t.match(connection, {
      state: 'ENABLED',
      capabilities: READ,
      effectiveCapabilities: READ,
      tokenEpoch: '1',
      serviceAccountName: world.account,
      audience,
      verificationName: verification.name,
      displayName: 'Deploy',
      createdBy: `people/${world.owner.person}`,
      serviceAccountDisplayName: 'Robot',
      createdByDisplayName: 'OWNER',
    });
    t.ok(connection.claims.every(({ bound }: ClaimJson) => bound));
    t.notOk('lastExchangeUnix' in connection);
    const { body } = await ci('GetCiVerification', { name: verification.name });
    t.match(body, { state: 'APPROVED', connectionName: connection.name });
  });
  await t.test('the exchange returns accessToken, projectName and 900 seconds', async (t) => {
    const { status, body, headers } = await world.exchange(connection.name);
    t.match({ status, headers }, { status: 200, headers: { 'cache-control': 'no-store' } });
    t.match(body, { projectName: PROJECT_NAME, expiresInSeconds: 900 });
    t.equal(await reads(world, body.accessToken), 'accepted');
    t.equal(await reads(world, body.accessToken, 'projects/other'), 'PROJECT_BOUNDARY');
    await world.clock.advance(15 * MINUTE_MS - 1000);
    t.equal(await reads(world, body.accessToken), 'accepted');
    await world.clock.advance(1000);
    t.equal(await reads(world, body.accessToken), 'CREDENTIAL_EXPIRED');
    const seen = (await ci('GetCiConnection', { name: connection.name })).body;
    t.match(seen, { lastExchangeUnix: /^\d+$/ });
  });
  await t.test('lists contain both', async (t) => {
    const request = { projectName: PROJECT_NAME };
    t.match((await ci('ListCiVerifications', request)).body.verifications, [{ state: 'APPROVED' }]);
    t.match((await ci('ListCiConnections', request)).body.connections, [{ name: connection.name }]);
  });
});

test('AUTH-07: the exchange accepts the assertion as proof and rejects an Authorization header', async (t) => {
  const world = await startCiRpcWorld(t);
  const trustName = await world.connect();
  const assertion = await world.mint();
  const key = world.keys.write;
  const refused = await world.anonymous('ExchangeCiToken', { trustName, assertion }, { key });
  t.match(refused, {
    status: 400,
    reason: 'INVALID_FIELD',
    metadata: { field: 'Authorization' },
  });
  t.equal((await world.anonymous('ExchangeCiToken', { trustName, assertion })).status, 200);
  const { setupId, pairingCode } = (await world.start()).body;
  const proof = { setupId, pairingCode, assertion: await world.mint() };
  const answer = await world.anonymous('SubmitCiVerification', proof, { key });
  t.match(answer, { status: 400, metadata: { field: 'Authorization' } });
});

test('Bad requests name the field, before anything is burned', async (t) => {
  const world = await startCiRpcWorld(t);
  const trustName = await world.connect();
  const field = async (method: string, body: object, as = world.anonymous) => {
    const { status, metadata } = await as(method, body);
    return [status, metadata.field ?? metadata.cause];
  };
  const assertion = await world.mint();
  t.same(await field('ExchangeCiToken', { trustName: '', assertion }), [400, 'trustName']);
  t.same(await field('ExchangeCiToken', { trustName: 'ci/1', assertion }), [400, 'trustName']);
  t.same(await field('ExchangeCiToken', { trustName }), [400, 'assertion']);
  t.same(await field('ExchangeCiToken', { trustName, assertion: 'x' }), [401, 'MALFORMED']);
  const large = `${assertion}${'A'.repeat(16 * 1024)}`;
  t.same(await field('ExchangeCiToken', { trustName, assertion: large }), [401, 'TOO_LARGE']);
  const { setupId, pairingCode } = (await world.start()).body;
  const submit = (more: object) =>
    field('SubmitCiVerification', { setupId, pairingCode, assertion, ...more });
  t.same(await submit({ setupId: '' }), [400, 'setupId']);
  t.same(await submit({ pairingCode: ' ' }), [400, 'pairingCode']);
  t.same(await submit({ assertion: '' }), [400, 'assertion']);
  t.same(await submit({}), [200, undefined], 'the assertion is still valid');
  const start = async (more: object) => {
    const { status, metadata } = await world.start(more);
    return [status, metadata.field];
  };
  t.same(await start({ serviceAccountName: 'robot' }), [400, 'serviceAccountName']);
  t.same(await start({ displayName: '' }), [400, 'displayName']);
  t.same(await start({ displayName: 'x'.repeat(201) }), [400, 'displayName']);
  t.same(await start({ displayName: 'two\nlines' }), [400, 'displayName']);
  t.same(await start({ capabilities: [] }), [400, 'capabilities']);
  t.same(await start({ issuer: 'jenkins' }), [400, 'issuer']);
  t.same(await start({ requestId: 'x' }), [400, 'requestId']);
});

test('A retry of an uncertain start returns only metadata, not the lost code', async (t) => {
  const world = await startCiRpcWorld(t);
  const requestId = String(randomUUID());
  const first = (await world.start({ requestId })).body;
  const again = (await world.start({ requestId })).body;
  t.match(again, { setupId: first.setupId, pairingCode: '', secretAvailable: false });
  t.equal(again.workflowStep, first.workflowStep);
  const other = await world.start({ requestId, displayName: 'Other' });
  t.match(other, { status: 400, reason: 'REQUEST_ID_REUSED' });
  const claims = await world.anonymous('SubmitCiVerification', {
    setupId: first.setupId,
    pairingCode: first.pairingCode,
    assertion: await world.mint(),
  });
  const approval = {
    name: first.verification.name,
    capabilities: READ,
    requestId: String(randomUUID()),
    claimsDigest: claims.body.claimsDigest,
  };
  const made = await world.ci('ApproveCiVerification', approval);
  const resent = await world.ci('ApproveCiVerification', approval);
  t.equal(resent.body.name, made.body.name, 'an approval sent twice creates one connection');
});

test('AUTH-10: push, workflow_dispatch and schedule are accepted only as the observed event', async (t) => {
  const world = await startCiRpcWorld(t);
  for (const event of ['push', 'workflow_dispatch', 'schedule']) {
    const trust = await world.connect({ event_name: event });
    t.equal((await world.exchange(trust, { event_name: event })).status, 200, event);
    const other = event === 'push' ? 'schedule' : 'push';
    const refused = await world.exchange(trust, { event_name: other });
    t.match(refused, { status: 403, metadata: { cause: 'IDENTITY_MISMATCH' } });
    t.same(claimsIn(refused), [{ claim: 'event_name', got: other, expected: event }]);
  }
});

test('AUTH-10: pull-request contexts are rejected', async (t) => {
  const world = await startCiRpcWorld(t);
  const trust = await world.connect();
  const contexts = [
    { event_name: 'pull_request', ref: 'refs/pull/7/merge', head_ref: 'x', base_ref: 'main' },
    { event_name: 'pull_request_target' },
    { event_name: 'push', ref: 'refs/heads/gh-readonly-queue/main/pr-7' },
    { event_name: 'merge_group', ref: 'refs/heads/gh-readonly-queue/main/pr-7' },
  ];
  for (const claims of contexts) {
    const answer = await world.exchange(trust, claims);
    t.match(answer, {
      status: 403,
      reason: 'EXCHANGE_DENIED',
      metadata: { cause: 'PULL_REQUEST' },
    });
    t.match(answer.body.message, /pull request is never trusted/);
  }
  for (const event of ['workflow_run', 'issue_comment', 'repository_dispatch']) {
    const answer = await world.exchange(trust, { event_name: event });
    t.match(answer, { status: 403, metadata: { cause: 'CONTEXT_REFUSED' } }, event);
  }
});

test('AUTH-11: a typed repository name alone never establishes trust', async (t) => {
  const world = await startCiRpcWorld(t);
  const trust = await world.connect();
  const renamed = { repository_id: '999', repository_owner_id: '998' };
  const answer = await world.exchange(trust, renamed);
  t.match(answer, { status: 403, metadata: { cause: 'IDENTITY_MISMATCH' } });
  t.same(
    claimsIn(answer).map((claim) => Object.keys(claim)),
    [
      ['claim', 'got'],
      ['claim', 'got'],
    ],
  );
});

test('AUTH-13: a permission edit invalidates outstanding tokens, and disabling stops access at once', async (t) => {
  const world = await startCiRpcWorld(t);
  const name = await world.connect();
  const token = async () => String((await world.exchange(name)).body.accessToken);
  const first = await token();
  const edit = (more: object) => world.ci('UpdateCiConnection', { name, ...more });
  t.match((await edit({ displayName: 'Other' })).body, { displayName: 'Other', tokenEpoch: '1' });
  t.equal(await reads(world, first), 'accepted');
  t.match((await edit({ capabilities: { values: READ } })).body, { tokenEpoch: '2' });
  t.equal(await reads(world, first), 'TOKEN_EPOCH');
  const second = await token();
  t.equal(await reads(world, second), 'accepted');
  const disabled = await world.ci('DisableCiConnection', { name, reason: 'leak' });
  t.match(disabled.body, { state: 'DISABLED', tokenEpoch: '3', effectiveCapabilities: [] });
  t.equal(await reads(world, second), 'IDENTITY_DISABLED');
  t.match(await world.exchange(name), { metadata: { cause: 'CONNECTION_DISABLED' } });
  t.match((await world.ci('EnableCiConnection', { name })).body, { state: 'ENABLED' });
  t.equal(await reads(world, second), 'TOKEN_EPOCH', 'revoked tokens stay revoked');
  const third = await token();
  t.same((await world.ci('DeleteCiConnection', { name })).body, {});
  t.equal(await reads(world, third), 'CREDENTIAL_REVOKED');
  t.match(await world.ci('GetCiConnection', { name }), { status: 404 });
  t.match(await world.exchange(name), { metadata: { cause: 'CONNECTION_DELETED' } });
  t.match(await edit({ displayName: 'x' }), { status: 404 });
});

test('AUTH-08: an access token may do what both the connection and its service account allow', async (t) => {
  const world = await startCiRpcWorld(t);
  const name = await world.connect({}, BOTH);
  const { accessToken: key } = (await world.exchange(name)).body;
  const saves = async () =>
    (await world.call('DeleteAlertRule', { name: 'x' }, { key })).reason ?? 'accepted';
  t.equal(await saves(), 'INVALID_FIELD', 'it may write');
  const account = { name: world.account, capabilities: { values: READ } };
  t.equal((await world.ci('UpdateServiceAccount', account)).status, 200);
  t.equal(await saves(), 'GRANT_REMOVED', 'no longer, with the same token');
  t.equal(await reads(world, key), 'accepted');
  const { body } = await world.ci('GetCiConnection', { name });
  t.match(body, { capabilities: BOTH, effectiveCapabilities: READ });
  await world.ci('DisableServiceAccount', { name: world.account, reason: 'x' });
  t.equal(await reads(world, key), 'IDENTITY_DISABLED');
  t.match(await world.exchange(name), { metadata: { cause: 'ACCOUNT_DISABLED' } });
  await world.ci('EnableServiceAccount', { name: world.account });
  t.equal(await reads(world, key), 'TOKEN_EPOCH', 'earlier tokens stay ended');
});

test('CI-12, ERR-05: a rejected exchange names the differing claims, never a token, and is audited', async (t) => {
  const world = await startCiRpcWorld(t);
  const name = await world.connect();
  const assertion = await world.mint({ ref: 'refs/heads/dev' });
  const answer = await world.anonymous('ExchangeCiToken', { trustName: name, assertion });
  t.same(claimsIn(answer), [{ claim: 'ref', got: 'refs/heads/dev', expected: 'refs/heads/main' }]);
  const output = JSON.stringify(answer) + world.lines.join('\n');
  t.notOk(
    assertion.split('.').some((part) => output.includes(part)),
    'no part of the token',
  );
  await world.notesSettled();
  const about = { machine: 'ciConnection', instance: name.split('/').at(-1) ?? '', limit: 100 };
  const { items } = world.host.view('demo').transitions({ ...about, descending: true });
  t.match(items[0]?.event, {
    type: 'exchangeRefused',
    correlation: answer.metadata.correlation,
    codes: { IDENTITY_MISMATCH: 1 },
    claims: ['ref'],
    refusals: 1,
  });
  const { lastRefusalUnix, recentRefusals: displayed } = (
    await world.ci('GetCiConnection', { name })
  ).body;
  t.equal(lastRefusalUnix, displayed[0].refusedUnix);
  t.match(displayed, [
    {
      correlationId: answer.metadata.correlation,
      claims: [{ claim: 'ref', difference: 'DIFFERENT' }],
      causes: [{ code: 'IDENTITY_MISMATCH', refusals: 1 }],
    },
  ]);
  await submit(
    world.host,
    { project: 'demo', by: { kind: 'service', name: 'keyless CI' } },
    (draft) => {
      const note = { correlation: 'older', codes: { IDENTITY_MISMATCH: 1 }, refusals: 1 };
      const event = { type: 'exchangeRefused', at: draft.at, ...note, claims: ['ref'] } as const;
      draft.send('ciConnection', about.instance, event);
    },
  );
  const [older] = (await world.ci('GetCiConnection', { name })).body.recentRefusals;
  t.same(older.claims, [{ claim: 'ref', difference: 'DIFFERENCE_UNSPECIFIED' }]);
  t.notMatch(JSON.stringify(displayed), /refs\/heads/, 'values are only in the log of the job');
});

test('Unknown trust names are answered like a mismatch, and no sooner', async (t) => {
  const world = await startCiRpcWorld(t);
  const unknown = `${PROJECT_NAME}/ciConnections/01ARZ3NDEKTSV4RRFFQ69G5FAV`;
  const answer = await world.exchange(unknown);
  t.match(answer, { status: 403, metadata: { cause: 'IDENTITY_MISMATCH', claims: '[]' } });
  const assertion = await world.mint();
  const twice = async (trustName: string) =>
    (await world.anonymous('ExchangeCiToken', { trustName, assertion })).metadata.cause;
  t.equal(await twice(unknown), 'IDENTITY_MISMATCH');
  t.equal(
    await twice(await world.connect()),
    'REPLAYED',
    'it was verified and burned all the same',
  );
  const forged = `${assertion.slice(0, -8)}AAAAAAAA`;
  const exchange = (trustName: string) =>
    world.anonymous('ExchangeCiToken', { trustName, assertion: forged });
  const [known, made] = [await exchange(await world.connect()), await exchange(unknown)];
  t.same([known.status, known.body.message], [made.status, made.body.message]);
});

test('Only an owner’s human session reaches the set-up', async (t) => {
  const world = await startCiRpcWorld(t);
  const name = await world.connect();
  const { accessToken } = (await world.exchange(name)).body;
  const methods = ['GetCiConnection', 'DisableCiConnection', 'DeleteCiConnection'];
  for (const method of methods) {
    t.equal((await world.ci(method, { name }, { key: accessToken })).reason, 'HUMAN_OPERATION');
  }
  const editor = await world.signedInAs('demo', 'EDITOR');
  t.equal((await world.ci('GetCiConnection', { name }, { person: editor })).status, 403);
  const stranger = await world.signedInAs('other', 'OWNER');
  const refused = await world.ci('DisableCiConnection', { name }, { person: stranger });
  t.equal(refused.reason, 'PROJECT_BOUNDARY');
});

test('An outage of the issuer fails closed, and nothing is burned', async (t) => {
  const world = await startCiRpcWorld(t);
  const name = await world.connect();
  await world.platform.rotate({ keepOld: false });
  world.platform.keysAway = true;
  await world.clock.advance(MINUTE_MS);
  const assertion = await world.mint();
  const trustName = name;
  const answer = await world.anonymous('ExchangeCiToken', { trustName, assertion });
  t.match(answer, { status: 503, reason: 'NOT_READY' });
  t.equal((await world.call('ListVMMonitoring', { projectName: PROJECT_NAME })).status, 200);
  world.platform.keysAway = false;
  await world.clock.advance(MINUTE_MS);
  const fresh = await world.anonymous('ExchangeCiToken', { trustName, assertion });
  t.equal(fresh.status, 200, JSON.stringify(fresh.body));
});

test('Pairing code, assertion and access token are in no file and no log line', async (t) => {
  const world = await startCiRpcWorld(t);
  const { setupId, pairingCode, verification } = (await world.start()).body;
  const displayed = await world.mint();
  const proof = { setupId, pairingCode, assertion: displayed };
  const { claimsDigest } = (await world.anonymous('SubmitCiVerification', proof)).body;
  const approval = { name: verification.name, capabilities: READ, claimsDigest };
  const { name: trustName } = (await world.ci('ApproveCiVerification', approval)).body;
  const [given, refused] = [await world.mint(), await world.mint({ ref: 'refs/heads/dev' })];
  const exchange = (assertion: string) =>
    world.anonymous('ExchangeCiToken', { trustName, assertion });
  const { accessToken } = (await exchange(given)).body;
  await exchange(refused);
  await exchange('svc_garbage_that_somebody_sent');
  const folder = dirname(world.controlPath);
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  const written = files.map(({ name }) => readFileSync(join(folder, name), 'latin1'));
  const all = [...written, ...world.lines].join('\n');
  t.ok(all.includes(setupId), 'stored values are found');
  const jwts = [displayed, given, refused, accessToken].flatMap((jwt) => jwt.split('.').slice(1));
  const secrets = [pairingCode, pairingCode.split('_')[3], 'svc_garbage', ...jwts];
  for (const secret of secrets) t.notOk(all.includes(secret), `${secret.slice(0, 12)}...`);
});
