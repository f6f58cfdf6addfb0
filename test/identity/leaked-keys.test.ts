/**
 * Reports of leaked secrets: a reported secret of any kind is ended at once, by a commit that
 * records the reason and the reporter, and its owner is notified. A text that opens nothing gets
 * one answer, whether it is invented, expired or miscopied.
 */
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { addLeakedKeysRoute, createLeakReports } from '../../src/identity/auth/leaked-keys.ts';
import { mintSecret } from '../../src/platform/keys.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { startRpcWorld, type WorldParts } from '../support/api-in-process.ts';
import { tokenOf } from '../support/every-method.ts';
import { DAY_MS, tester } from '../support/host-in-memory.ts';
import { outcomeOf as reasonOf } from '../support/people-on-host.ts';
import { tries } from '../support/tries.ts';

const BOTH = ['monitoring.read', 'monitoring.write'] as const;

async function startLeaks(t: Test) {
  let parts: WorldParts | undefined;
  const world = await startRpcWorld(t, undefined, (app, real) => {
    parts = real;
    const metrics = createMetrics({ clock: real.clock, version: 'test' });
    t.teardown(() => metrics.close());
    const leaks = createLeakReports({ ...real, metrics });
    void addLeakedKeysRoute(app, { ...real, metrics, leaks });
  });
  if (!parts) throw new Error('The world has no parts');
  const report = async (body: unknown) => {
    const payload = JSON.stringify(body);
    const headers = { 'content-type': 'application/json' };
    const url = '/v1/leaked-keys';
    const answer = await world.app.inject({ method: 'POST', url, payload, headers });
    return { status: answer.statusCode, body: answer.json() };
  };
  const notices = async (person: Awaited<ReturnType<typeof world.signedInAs>>) => {
    const path = '/svc.monitoring.v1.AlertService/ListNotices';
    const body = JSON.stringify({ projectName: 'projects/demo' });
    const listed = await world.send(path, body, { person });
    const texts: string[] = listed.body.notices.map((each: { text: string }) => each.text);
    return texts.join('\n');
  };
  return { ...world, parts, report, notices };
}

const ENDED = { status: 200, body: { results: [{ revoked: true }] } };
const NOTHING = { status: 200, body: { results: [{ revoked: false }] } };

test('KEY-07: a leaked secret of any kind is revoked by its text and rejected at once', async (t) => {
  const world = await startLeaks(t);
  const { parts, report, notices, host, clock } = world;
  const { random } = parts;
  const owner = await world.signedInAs('demo', 'OWNER');
  const viewer = await world.signedInAs('demo', 'VIEWER');
  const account = await world.account('demo', BOTH);
  const reads = async (authorization: string | undefined, cookie?: string) => {
    try {
      await parts.authenticator.identify({
        authorization,
        cookie,
        origin: 'http://127.0.0.1:8080',
        address: '127.0.0.1',
      });
    } catch (error) {
      return (error as { reason?: string }).reason;
    }
    return 'accepted';
  };
  const keys = {
    personal: (await world.personalKey('demo', viewer.person, ['monitoring.read'])).key,
    account: (await world.accountKey('demo', BOTH)).key,
    collector: (await world.collector('demo')).key,
    everywhere: (await world.collector('_system')).key,
    agent: (await world.agent('demo', 'vm-1')).key,
  };
  const inBatch = (await world.personalKey('demo', viewer.person, ['monitoring.read'])).key;
  const batch = await report({ keys: [...Array<string>(99).fill('none'), inBatch] });
  t.equal(batch.body.results.length, 100, 'a scanner’s batch is accepted whole');
  t.same(batch.body.results.at(-1), { revoked: true });
  for (const [kind, key] of Object.entries(keys)) {
    t.equal(await reads(`Bearer ${key}`), 'accepted');
    t.match(await report({ key }), ENDED, kind);
    t.equal(await reads(`Bearer ${key}`), 'CREDENTIAL_REVOKED', kind);
    t.match(await report({ key }), NOTHING, `${kind}: it has ended`);
  }
  const noticeTexts = await notices(owner);
  t.match(noticeTexts, /The personal key "k" .* leaked and was revoked/);
  t.match(await notices(viewer), /The personal key "k" .* leaked and was revoked/, 'whose it was');
  t.notMatch(await notices(viewer), /service-account/);

  const connection = await world.connection('demo', account, BOTH);
  const token = await tokenOf(world, connection);
  t.equal(await reads(`Bearer ${token}`), 'accepted');
  t.match(await report([{ token, type: 'svc', url: 'https://git.example/a' }]), ENDED);
  t.equal(await reads(`Bearer ${token}`), 'TOKEN_EPOCH');
  t.match(await report({ key: token }), NOTHING);

  t.equal(await reads(undefined, `svc_session=${viewer.secret}`), 'accepted');
  t.match(await report({ key: viewer.secret }), ENDED);
  t.equal(await reads(undefined, `svc_session=${viewer.secret}`), 'CREDENTIAL_REVOKED');
  t.match(await notices(owner), /A session of Ada .* leaked and was ended/);

  const link = await parts.people.linkFor(tester, viewer.person, 'operator');
  t.match(await report({ key: link.token }), ENDED);
  t.equal(
    await reasonOf(() => parts.people.signInByLink({ token: link.token, agent: '' })),
    'CREDENTIAL_REVOKED',
  );

  const offered = await parts.enrolments.offer({
    project: 'demo',
    by: tester,
    vm: 'vm-2',
    datacenter: 'DC-1',
    request: { scope: 'test', id: 'offer', fingerprint: '' },
  });
  t.match(await report({ key: offered.token }), ENDED);
  t.equal(
    await reasonOf(() => parts.enrolments.enrol(offered.token ?? '', '')),
    'MALFORMED_CREDENTIAL',
  );

  await host.submit({
    project: 'demo',
    by: tester,
    decide: (draft) => draft.putRecord({ kind: 'project', id: 'demo', body: { displayName: 'd' } }),
  });
  const invite = { project: 'demo', by: tester, email: 'bob@x.org', role: 'OWNER' } as const;
  const invited = await parts.members.invitations.invite(invite);
  t.match(await report({ key: invited.token }), ENDED);
  t.equal(
    await reasonOf(() => parts.people.signInByLink({ token: invited.token ?? '', agent: '' })),
    'CREDENTIAL_REVOKED',
  );

  const pair = mintSecret('pair', { nowMs: clock.now(), random });
  await world.start('demo', 'ciVerification', pair.id, {
    project: 'demo',
    serviceAccount: account,
    displayName: 'x',
    capabilities: [...BOTH],
    issuer: 'github',
    issuerUrl: 'https://x',
    audience: 'a',
    codeHash: pair.hash,
    createdBy: 'test',
  });
  t.match(await report({ key: pair.text }), ENDED);
  const verification = host.view('demo').instance('ciVerification', pair.id);
  t.match(verification, { value: 'rejected', context: { reason: 'LEAKED' } });

  const path = host.view('demo').transitions({ limit: 500 }).items;
  const ends = path.filter(({ event }) => event.reason === 'LEAKED');
  t.same(new Set(ends.map(({ by }) => by.name)), new Set(['service/leak-report']));
  t.ok(ends.length >= 7, 'each is in the audit, with the reason');
  t.notMatch(JSON.stringify(path), /svc_(pk|sk|col|vm|enrol|inv|pair)_/);
});

test('KEY-07: a report of an invalid secret is always answered alike', async (t) => {
  const { report, clock, parts, personalKey, signedInAs, host } = await startLeaks(t);
  const { random } = parts;
  const owner = await signedInAs('demo', 'OWNER');
  const { key } = await personalKey('demo', owner.person, ['monitoring.read']);
  const other = mintSecret('pk', { nowMs: clock.now(), random, id: key.split('_')[2] ?? '' });
  const sequence = host.appliedSequence();
  const texts = [
    '',
    'x',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'eyJh.eyJh.eyJh',
    key.slice(0, -1),
    mintSecret('pk', { nowMs: clock.now(), random }).text,
    mintSecret('verify', { nowMs: clock.now(), random }).text,
    other.text,
  ];
  for (const text of texts) t.same(await report({ key: text }), NOTHING, text.slice(0, 12));
  t.equal(host.appliedSequence(), sequence, 'a stranger causes no commit');
  const mixed = await report({ keys: [texts[1], key] });
  t.same(mixed.body.results, [{ revoked: false }, { revoked: true }]);
  const late = await personalKey('demo', owner.person, ['monitoring.read']);
  clock.jump(400 * DAY_MS);
  t.same(await report({ key: late.key }), NOTHING, 'an expired one');
  t.ok(host.view('demo').instance('membership', memberIdOf('demo', owner.person)));
});

test('a changed text revokes nothing', async (t) => {
  const { report, accountKey, host } = await startLeaks(t);
  const { key } = await accountKey('demo', BOTH);
  const sequence = host.appliedSequence();
  await fc.assert(
    fc.asyncProperty(
      fc.nat(key.length - 1),
      fc.constantFrom('a', 'Z', '0', '_'),
      async (at, char) => {
        const text = key.slice(0, at) + char + key.slice(at + 1);
        if (text === key) return true;
        return (await report({ key: text })).body.results[0].revoked === false;
      },
    ),
    { numRuns: tries(60), seed: 3 },
  );
  t.equal(host.appliedSequence(), sequence);
});

test('an invalid report is rejected without its text; too many are limited', async (t) => {
  const { report, app } = await startLeaks(t);
  const bodies: readonly unknown[] = [
    {},
    [],
    { key: 1 },
    { keys: Array(257).fill('x') },
    'svc_pk_x',
    null,
  ];
  for (const body of bodies) {
    const answer = await report(body);
    t.match(answer, { status: 400, body: { code: 'invalid_argument' } }, JSON.stringify(body));
    t.notMatch(JSON.stringify(answer.body), 'svc_pk_x');
  }
  t.equal((await report({ key: 'x'.repeat(30_000) })).status, 413);
  const inUrl = await app.inject({ method: 'GET', url: '/v1/leaked-keys?key=svc_pk_x' });
  t.equal(inUrl.statusCode, 405);
  t.notMatch(inUrl.body, 'svc_pk_x');
  const statuses = new Set<number>();
  for (let n = 0; n < 400; n++) statuses.add((await report({ key: 'x' })).status);
  t.same([...statuses], [200, 429]);
});
