/**
 * Decisions of keyless CI, including STATE-06 to STATE-10 and ERR-05: verifications, connections
 * and exchanges over a real host, with tokens whose claims the test chooses.
 */

import { test } from 'tap';
import { ACCESS_TOKEN_MS } from '../../actors/ci/exchange.ts';
import { OPEN_VERIFICATIONS_MAX } from '../../actors/ci/verifications.ts';
import type { Instance } from '../../actors/platform/host/host-port.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import type { CiConnectionContext } from '../../machines/ci/ci-connection.ts';
import type { CiVerificationContext } from '../../machines/ci/ci-verification.ts';
import { START_MS } from '../support/host-in-memory.ts';
import {
  ACCOUNT,
  BOUND,
  type CiWorld,
  causeOf,
  NETWORK,
  owner,
  PROJECT,
  RECORDED,
  refusalOf,
  send,
  startCiWorld,
  type TestToken,
} from '../support/keyless-ci-on-host.ts';

const READ = ['monitoring.read'];
const BOTH = ['monitoring.read', 'monitoring.write'];
const MINUTE_MS = 60_000;

const change = (world: CiWorld) => ({ project: PROJECT, by: owner, request: world.request() });

async function start(world: CiWorld, more: object = {}) {
  const about = { serviceAccount: ACCOUNT, displayName: 'Deploy', capabilities: BOTH, issuer: '' };
  const { answer } = await world.ci.start({ ...change(world), ...about, ...more });
  const { verification: setupId, pairingCode = '' } = answer;
  return { setupId, pairingCode, network: NETWORK };
}

/** A started and proved verification, with the input of an approval. */
async function observe(world: CiWorld, token: TestToken = {}) {
  const started = await start(world);
  const assertion = world.assertion(token);
  const { digest } = await world.ci.submitProof({ ...started, assertion });
  const approval = { verification: started.setupId, displayName: '', capabilities: READ, digest };
  return { started, digest, approve: () => world.ci.approve({ ...change(world), ...approval }) };
}

const row = <M extends MachineName>(world: CiWorld, machine: M, id: string): Instance<M> => {
  const found = world.host.view(PROJECT).instance(machine, id);
  if (!found) throw new Error(`There is no ${machine} ${id}`);
  return found;
};
const verification = (world: CiWorld, id: string) =>
  row(world, 'ciVerification', id).context as unknown as CiVerificationContext;
const connection = (world: CiWorld, id: string) =>
  row(world, 'ciConnection', id).context as unknown as CiConnectionContext;

test('STATE-06, LIMIT-10: a workflow verification expires after 30 minutes', async (t) => {
  const world = await startCiWorld(t);
  const early = await observe(world);
  await world.clock.advance(30 * MINUTE_MS - 1);
  const late = await start(world);
  t.equal(await causeOf(early.approve()), 'EXCHANGED', 'a moment before its end it is approved');
  const { approve, started } = await observe(world);
  await world.clock.advance(30 * MINUTE_MS);
  t.match(await refusalOf(approve()), { reason: 'INVALID_STATE', message: /has expired/ });
  const burned = world.burned.size;
  for (const open of [started, late]) {
    const proof = { ...open, assertion: world.assertion() };
    t.match(await refusalOf(world.ci.submitProof(proof)), {
      reason: 'INVALID_STATE',
      metadata: { state: 'expired' },
    });
  }
  t.equal(world.burned.size, burned, 'no assertion is burned for it');
  t.equal(world.host.view(PROJECT).countInstances('ciConnection', { final: false }), 1);
});

test('STATE-07: a verification grants no project access', async (t) => {
  const world = await startCiWorld(t);
  const { started } = await observe(world);
  const view = world.host.view(PROJECT);
  t.equal(view.countInstances('ciConnection', { final: false }), 0);
  t.equal(row(world, 'ciVerification', started.setupId).value, 'observed');
  t.equal(await world.tryExchange(started.setupId), 'IDENTITY_MISMATCH', 'it is not a trust name');
});

test('IDN-03, STATE-07: operator approval creates a connection with the approved permissions', async (t) => {
  const world = await startCiWorld(t);
  const { started, approve, digest } = await observe(world, { warnings: ['Public repository'] });
  t.match(verification(world, started.setupId), {
    observation: { bound: BOUND, recorded: RECORDED, digest, warnings: ['Public repository'] },
  });
  const { connection: id } = (await approve()).answer;
  t.match(connection(world, id), {
    serviceAccount: ACCOUNT,
    capabilities: READ,
    bound: BOUND,
    digest,
    verification: started.setupId,
    createdBy: owner.name,
    displayName: 'Deploy',
  });
  t.equal(verification(world, started.setupId).connection, id);
  t.equal(await world.tryExchange(id), 'EXCHANGED');
});

test('CI-11: only the reviewed claims can be approved', async (t) => {
  const world = await startCiWorld(t);
  const { digest } = await observe(world);
  await t.test(
    'an approval without an observation, without a digest or with another digest is refused',
    async (t) => {
      const open = await start(world);
      const about = { verification: open.setupId, displayName: '', capabilities: READ };
      const approve = (sent: string) =>
        refusalOf(world.ci.approve({ ...change(world), ...about, digest: sent }));
      t.match(await approve(digest), {
        reason: 'INVALID_STATE',
        message: /verification step first/,
      });
      await world.ci.submitProof({ ...open, assertion: world.assertion() });
      t.match(await approve(''), { reason: 'INVALID_FIELD', metadata: { field: 'claimsDigest' } });
      t.match(await approve('0'.repeat(64)), { reason: 'INVALID_STATE' });
    },
  );
});

test('Approval grants only permissions that the verification and the account have', async (t) => {
  const world = await startCiWorld(t);
  const refused = async (capabilities: string[], more: object = {}) => {
    const refusal = await refusalOf(start(world, { capabilities, ...more }));
    return refusal?.reason;
  };
  t.equal(await refused([]), 'INVALID_FIELD', 'none');
  t.equal(
    await refused(['collector']),
    'INVALID_FIELD',
    'a capability that cannot be granted here',
  );
  t.equal(await refused(READ, { serviceAccount: 'nobody' }), 'NOT_FOUND');
  const unconfigured = await refusalOf(start(world, { issuer: 'sourcehut' }));
  t.match(
    unconfigured,
    { reason: 'INVALID_FIELD', message: /SVC_CI_ISSUERS/ },
    'says what would do',
  );
  const open = await start(world, { capabilities: READ });
  const { digest } = await world.ci.submitProof({ ...open, assertion: world.assertion() });
  const approve = (capabilities: readonly string[]) =>
    world.ci.approve({
      ...change(world),
      verification: open.setupId,
      displayName: '',
      capabilities,
      digest,
    });
  t.match(await refusalOf(approve(BOTH)), { message: /started with: monitoring.read$/ });
  t.match(await refusalOf(approve([])), { reason: 'INVALID_FIELD' });
  await send(world, 'serviceAccount', ACCOUNT, {
    type: 'edited',
    displayName: 'x',
    capabilities: ['monitoring.write'],
  });
  t.match(await refusalOf(approve(READ)), { message: /may do now: monitoring.write$/ });
  await send(world, 'serviceAccount', ACCOUNT, { type: 'disabled', reason: 'stop' });
  t.match(await refusalOf(approve(READ)), { reason: 'INVALID_STATE', message: /is disabled/ });
  t.equal(await refused(READ), 'INVALID_STATE');
});

test('Two concurrent approvals: exactly one wins', async (t) => {
  const world = await startCiWorld(t);
  const { approve } = await observe(world);
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => causeOf(approve())));
  t.same(outcomes.toSorted(), ['EXCHANGED', ...Array(7).fill('INVALID_STATE')]);
  t.equal(world.host.view(PROJECT).countInstances('ciConnection', { final: false }), 1);
  t.match(await refusalOf(approve()), { message: /was already approved, as connection/ });
});

test('CI-10: the pairing code is returned once and stored as a hash', async (t) => {
  const world = await startCiWorld(t);
  const same = { request: world.request() };
  const first = await start(world, same);
  t.match(first.pairingCode, /^svc_pair_[0-9A-Z]{26}_[0-9A-Za-z]{49}$/);
  t.equal(first.pairingCode.split('_')[2], first.setupId);
  t.same(await start(world, same), { ...first, pairingCode: '' });
  t.notMatch(JSON.stringify(row(world, 'ciVerification', first.setupId)), first.pairingCode);
});

test('A rejected verification is final', async (t) => {
  const world = await startCiWorld(t);
  const open = await start(world);
  world.meanwhile = () =>
    world.ci.reject({ ...change(world), verification: open.setupId, reason: '' });
  const proof = world.ci.submitProof({ ...open, assertion: world.assertion() });
  t.match(await refusalOf(proof), { reason: 'INVALID_STATE' }, 'also while it is being proved');
  const { started, approve } = await observe(world);
  const rejection = { verification: started.setupId, reason: 'Not ours' };
  await world.ci.reject({ ...change(world), ...rejection });
  t.match(await refusalOf(approve()), { message: /was rejected: Not ours/ });
  t.match(await refusalOf(world.ci.reject({ ...change(world), ...rejection })), {
    reason: 'INVALID_STATE',
  });
});

test('AUTH-08, LIMIT-09: an access token is valid for 15 minutes and only in the approved project', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const assertion = world.assertion();
  const given = await world.ci.exchange({ project: PROJECT, connection: id, assertion });
  const claims = JSON.parse(given.accessToken.replace('token ', ''));
  t.equal(ACCESS_TOKEN_MS, 15 * MINUTE_MS);
  t.match(claims, { project: PROJECT, connection: id, tokenEpoch: 1 });
  t.equal(claims.expiresMs, START_MS + 15 * MINUTE_MS);
  t.same(world.outcomes, ['EXCHANGED']);
  const { items } = world.host.view(PROJECT).transitions({
    machine: 'ciConnection',
    instance: id,
    limit: 1,
    descending: true,
  });
  t.match(items[0], {
    by: { kind: 'ci', name: `projects/${PROJECT}/ciConnections/${id}` },
    event: { type: 'exchanged', token: claims.token, recorded: RECORDED },
  });
  t.notMatch(JSON.stringify(items), /accessToken|"token \{/, 'the token itself is in no commit');
});

test('owners are notified of a connection with more access than before', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect({}, READ);
  const noted = () =>
    world.host
      .view(change(world).project)
      .records('notice', { limit: 9 })
      .items.flatMap(({ body }) =>
        body.kind === 'ACCESS_CHANGED' ? body.changes.map(({ text }) => text) : [],
      );
  const named = () => ({ ...change(world), connection: id });
  t.match(noted(), [/was approved by/]);
  await world.ci.edit({ ...named(), displayName: 'Other', capabilities: BOTH });
  await world.ci.edit({ ...named(), displayName: undefined, capabilities: READ });
  await world.ci.disable({ ...named(), reason: 'quiet' });
  await world.ci.enable(named());
  await world.ci.enable(named());
  t.match(noted().slice(1), [
    /^The CI connection "Other" .* was granted monitoring\.write by /,
    /^The CI connection "Other" .* was enabled again by /,
  ]);
  t.equal(noted().length, 3);
});

test('STATE-08: a permission edit keeps the connection and invalidates its outstanding tokens', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect({}, BOTH);
  const edit = async (more: { displayName?: string; capabilities?: readonly string[] }) => {
    const { displayName, capabilities } = more;
    await world.ci.edit({ ...change(world), connection: id, displayName, capabilities });
    return connection(world, id).tokenEpoch;
  };
  t.equal(await edit({ displayName: 'Other' }), 1, 'a name is not a permission');
  t.equal(
    await edit({ capabilities: [...BOTH].reverse() }),
    1,
    'the same permissions in another order',
  );
  t.equal(await edit({ capabilities: READ }), 2);
  t.equal(await edit({ capabilities: BOTH }), 3);
  t.match(connection(world, id), { displayName: 'Other', capabilities: BOTH, bound: BOUND });
  t.equal(await world.tryExchange(id), 'EXCHANGED', 'the same trust name still works');
  t.match(await refusalOf(edit({ capabilities: [] })), { reason: 'INVALID_FIELD' });
  const narrowed = { type: 'edited', displayName: 'x', capabilities: READ };
  await send(world, 'serviceAccount', ACCOUNT, narrowed);
  t.equal(await edit({ capabilities: READ }), 4);
  t.match(await refusalOf(edit({ capabilities: BOTH })), { message: /may do: monitoring.read$/ });
});

test('STATE-10: disabling or deleting a connection stops access, removing the pairing secret does not', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const named = () => ({ ...change(world), connection: id });
  await world.ci.disable({ ...named(), reason: 'emergency' });
  t.equal(await world.tryExchange(id), 'CONNECTION_DISABLED');
  t.match(connection(world, id), { tokenEpoch: 2, disabledReason: 'emergency' });
  await world.ci.disable({ ...named(), reason: 'again' });
  t.match(connection(world, id), { tokenEpoch: 2, disabledReason: 'emergency' }, 'done before');
  await world.ci.enable(named());
  t.equal(connection(world, id).tokenEpoch, 2, 'old tokens stay ended');
  t.equal(await world.tryExchange(id), 'EXCHANGED');
  await world.ci.delete(named());
  t.equal(
    await world.tryExchange(id),
    'CONNECTION_DELETED',
    'reported to the workflow that it belonged to',
  );
  const assertion = world.assertion({ bound: { ref: 'refs/heads/x' } });
  const other = world.ci.exchange({ project: PROJECT, connection: id, assertion });
  const asUnknown = { metadata: { cause: 'IDENTITY_MISMATCH', claims: '[]' } };
  t.match(await refusalOf(other), asUnknown, 'to any other it is unknown');
  t.match(await refusalOf(world.ci.enable(named())), { reason: 'NOT_FOUND' });
});

test('ERR-05: an exchange is denied if the service account differs from the connection', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  await send(world, 'serviceAccount', ACCOUNT, { type: 'disabled', reason: 'x' });
  t.equal(await world.tryExchange(id), 'ACCOUNT_DISABLED');
  await send(world, 'serviceAccount', ACCOUNT, { type: 'enabled' });
  t.equal(await world.tryExchange(id), 'EXCHANGED');
  const edited = { type: 'edited', displayName: 'x', capabilities: ['monitoring.write'] };
  await send(world, 'serviceAccount', ACCOUNT, edited);
  t.equal(await world.tryExchange(id), 'NO_PERMISSION_LEFT');
  await send(world, 'serviceAccount', ACCOUNT, { type: 'deleted' });
  t.equal(await world.tryExchange(id), 'ACCOUNT_DISABLED');
});

test('ERR-05: pull-request contexts are rejected, whatever is approved', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const forms = [
    ['event_name', 'pull_request', 'PULL_REQUEST'],
    ['event_name', 'pull_request_target', 'PULL_REQUEST'],
    ['event_name', 'merge_group', 'PULL_REQUEST'],
    ['ref', 'refs/pull/7/merge', 'PULL_REQUEST'],
    ['pipeline_source', 'merge_request_event', 'PULL_REQUEST'],
    ['event_name', 'workflow_run', 'CONTEXT_REFUSED'],
    ['event_name', 'issue_comment', 'CONTEXT_REFUSED'],
  ] as const;
  for (const [claim, got, cause] of forms) {
    const token = { refused: [{ claim, got }] };
    t.equal(await world.tryExchange(id, token), cause, `${claim} ${got}`);
    t.equal(await world.tryExchange('nowhere', token), cause, 'for an unknown trust name too');
    const started = await start(world);
    const proof = world.ci.submitProof({ ...started, assertion: world.assertion(token) });
    t.match(await refusalOf(proof), {
      reason: 'EXCHANGE_DENIED',
      message: /is never trusted/,
      metadata: { cause, claims: JSON.stringify(token.refused) },
    });
    t.equal(row(world, 'ciVerification', started.setupId).value, 'awaitingProof');
  }
});

test('A rejected proof is recorded for the reviewer, at most once a minute', async (t) => {
  const world = await startCiWorld(t);
  const open = await start(world);
  const prove = (token?: TestToken, more: object = {}) =>
    refusalOf(world.ci.submitProof({ ...open, assertion: world.assertion(token), ...more }));
  const last = () => verification(world, open.setupId).lastRefusal;
  const notes = () => {
    const about = { machine: 'ciVerification', instance: open.setupId, limit: 100 };
    const { items } = world.host.view(PROJECT).transitions(about);
    return items.map(({ event }) => event).filter(({ type }) => type === 'proofRefused');
  };
  t.equal(last(), null);
  await prove({}, { pairingCode: 'svc_pair_wrong' });
  t.equal(last(), null, 'nothing is recorded for a stranger');
  await prove({ refused: [{ claim: 'event_name', got: 'pull_request' }] });
  const atMs = world.clock.now();
  t.same(last(), { code: 'PULL_REQUEST', atMs, claims: ['event_name'] });
  await prove({ audience: 'https://elsewhere.example' });
  t.match(last(), { code: 'PULL_REQUEST' }, 'no second record within the minute');
  await world.clock.advance(MINUTE_MS);
  await prove({ audience: 'https://elsewhere.example' });
  t.match(last(), { code: 'BAD_ASSERTION AUDIENCE', claims: [] });
  await world.clock.advance(MINUTE_MS);
  await prove({ jti: 'used' });
  t.match(last(), { code: 'BAD_ASSERTION AUDIENCE' }, 'a valid proof leaves no record');
  t.equal(row(world, 'ciVerification', open.setupId).value, 'observed');
  t.equal(notes().length, 2);
  t.match(notes()[0], { code: 'PULL_REQUEST', claims: ['event_name'] });
});

test('Verifications and connections of a project are bounded', async (t) => {
  const world = await startCiWorld(t);
  for (let i = 0; i < OPEN_VERIFICATIONS_MAX; i++) await start(world);
  t.match(await refusalOf(start(world)), {
    reason: 'LIMIT_EXCEEDED',
    metadata: { limit: String(OPEN_VERIFICATIONS_MAX) },
    message: /open verifications/,
  });
});

test('Two concurrent approvals on two nodes: exactly one wins', async (t) => {
  const world = await startCiWorld(t);
  const other = await startCiWorld(t, world);
  for (let round = 0; round < 10; round++) {
    const { started, digest } = await observe(world);
    const about = { verification: started.setupId, displayName: '', capabilities: READ, digest };
    const sequence = world.host.appliedSequence();
    await other.host.waitFor(sequence, AbortSignal.timeout(180_000));
    const outcomes = await Promise.all(
      [world, other].map((node) => causeOf(node.ci.approve({ ...change(node), ...about }))),
    );
    t.same(outcomes.toSorted(), ['EXCHANGED', 'INVALID_STATE']);
  }
  t.equal(world.host.view(PROJECT).countInstances('ciConnection', { final: false }), 10);
});
