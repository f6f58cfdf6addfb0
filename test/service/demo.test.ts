/**
 * The first start of the demo and later ones: parts that exist and work are kept, and a crash at
 * any point leaves no working key that was never written down.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { KEY_LIFETIME_MS_MAX } from '../../actors/identity/credentials.ts';
import { banner } from '../../src/cli/serve.ts';
import { parseKey } from '../../src/platform/keys.ts';
import { silentLog } from '../../src/platform/log.ts';
import { type DemoFile, prepareDemo } from '../../src/service/demo.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { issueCredential } from '../support/credentials.ts';
import {
  authenticator,
  DAY_MS,
  reasonOf,
  startWorld,
  tester,
  type World,
} from '../support/host-in-memory.ts';
import { outcomeOf, peopleOf } from '../support/people-on-host.ts';

function demoOf(t: Test, world: World) {
  const dataFolder = mkdtempSync(join(tmpdir(), 'svc-demo-'));
  t.teardown(() => rmSync(dataFolder, { recursive: true }));
  const path = join(dataFolder, 'demo.json');
  const { people, members } = peopleOf(world);
  const prepare = (baseUrl = 'http://127.0.0.1:8080') =>
    prepareDemo({
      ...world,
      people,
      members,
      dataFolder,
      baseUrl,
      pageOrigin: baseUrl.replace('127.0.0.1', 'svc-0.localhost'),
      log: silentLog,
      isShared: false,
    });
  const read = (): DemoFile => JSON.parse(readFileSync(path, 'utf8'));
  const live = () =>
    world.host.view('demo').instances('credential', { final: false, limit: 100 }).items.length;
  return { path, prepare, read, live, people };
}

test('a first start creates the project, two keys and demo.json; a second changes nothing', async (t) => {
  const world = await startWorld(t);
  const { path, prepare, read, live } = demoOf(t, world);
  t.same(await prepare(), { path, signInUrl: read().signInUrl });
  t.equal(statSync(path).mode & 0o777, 0o600);
  const first = read();
  t.match(first, { baseUrl: 'http://127.0.0.1:8080', projectName: 'projects/demo' });
  t.match(first.signInUrl, 'http://svc-0.localhost:8080/auth/link#');
  t.match(world.host.view('demo').record('project', 'demo')?.body, { displayName: 'Demo' });
  const { authenticate } = authenticator(t, world);
  const { credential } = authenticate(first.apiKey);
  t.match(authenticate(first.apiKey), {
    project: 'demo',
    name: `projects/demo/serviceAccounts/demo/keys/${credential}`,
    capabilities: ['monitoring.read', 'monitoring.write'],
  });
  t.match(world.host.view('demo').instance('serviceAccount', 'demo'), {
    value: 'active',
    context: { displayName: 'Demo', template: 'alert-manager' },
  });
  t.match(authenticate(first.collectorKey), { kind: 'col', capabilities: ['collector'] });
  await prepare();
  t.same(read(), first);
  await prepare('http://127.0.0.1:9090');
  const signInUrl = first.signInUrl?.replace('8080', '9090');
  const moved = { ...first, baseUrl: 'http://127.0.0.1:9090', signInUrl };
  t.same(read(), moved, 'a new address, the same keys and the same link');
  t.equal(live(), 2);
});

test('the next start revokes keys that were committed but never written down', async (t) => {
  const world = await startWorld(t);
  const { path, prepare, read, live } = demoOf(t, world);
  for (const lose of [
    () => rmSync(path),
    () => writeFileSync(path, ''),
    () => writeFileSync(path, '{"apiKey":"x"}'),
    () => writeFileSync(path, readFileSync(path, 'utf8').replace(/"svc_sk_[^"]*"/, '"svc_sk_"')),
  ]) {
    await prepare();
    const lost = read();
    lose();
    await prepare();
    const { authenticate } = authenticator(t, world);
    t.equal(
      reasonOf(() => authenticate(lost.apiKey)),
      'CREDENTIAL_REVOKED',
    );
    t.equal(
      reasonOf(() => authenticate(read().apiKey)),
      'accepted',
    );
    t.ok(live() <= 3, 'at most a collector key that was still in the file');
  }
});

test('a member that may not decide for a moment creates its demo once it may', async (t) => {
  const world = await startWorld(t);
  const refused = new StreamUnavailable('This member may have been replaced', 'refused');
  let refusals = 0;
  const submit: World['host']['submit'] = async (submission) => {
    if (world.clock.elapsed() < 2_000) {
      refusals++;
      throw refused;
    }
    return world.host.submit(submission);
  };
  const { prepare, read } = demoOf(t, { ...world, host: { ...world.host, submit } });
  const prepared = prepare();
  await new Promise(setImmediate);
  for (let i = 0; i < 8; i++) await world.clock.advance(250);
  await prepared;
  t.equal(refusals, 8);
  t.match(read(), { projectName: 'projects/demo' });
});

test('a member does not start if it may not decide for a long time, or if its commit may be stored', async (t) => {
  const world = await startWorld(t);
  for (const [outcome, waits] of [
    ['refused', 120],
    ['unknown', 0],
  ] as const) {
    let tries = 0;
    const submit: World['host']['submit'] = async () => {
      tries++;
      throw new StreamUnavailable('It gave no answer', outcome);
    };
    const { prepare } = demoOf(t, { ...world, host: { ...world.host, submit } });
    const rejected = t.rejects(prepare(), { message: 'It gave no answer' });
    await new Promise(setImmediate);
    for (let i = 0; i < 120; i++) await world.clock.advance(250);
    await rejected;
    t.equal(tries, waits + 1, outcome);
  }
});

test('an API key that acts for no account is replaced by a key of the account demo', async (t) => {
  const world = await startWorld(t);
  const { path, prepare, read, live } = demoOf(t, world);
  await prepare();
  const { host } = world;
  const old = await issueCredential(world, tester, {
    project: 'demo',
    kind: 'sk',
    owner: 'service/demo',
    displayName: 'Demo key',
    capabilities: ['monitoring.read', 'monitoring.write'],
    lifetimeMs: KEY_LIFETIME_MS_MAX,
  });
  writeFileSync(path, JSON.stringify({ ...read(), apiKey: old.key }));
  await prepare();
  t.not(read().apiKey, old.key);
  t.equal(host.findInstance('credential', old.id)?.value, 'revoked');
  t.match(host.findInstance('credential', parseKey(read().apiKey)?.id ?? '')?.context, {
    owner: 'projects/demo/serviceAccounts/demo',
  });
  t.equal(live(), 3, 'and the collector’s key that was in the file');
});

test('keys that people created for the account demo are kept, whatever is lost', async (t) => {
  const world = await startWorld(t);
  const { path, prepare, live } = demoOf(t, world);
  await prepare();
  const owner = 'projects/demo/serviceAccounts/demo';
  const about = { project: 'demo', kind: 'sk', displayName: 'Mine' } as const;
  const capabilities = ['monitoring.read'];
  const mine = { ...about, owner, capabilities, createdBy: 'people/ada' };
  const { id } = await issueCredential(world, tester, mine);
  rmSync(path);
  await prepare();
  t.equal(world.host.findInstance('credential', id)?.value, 'active');
  t.equal(live(), 3);
});

test('an account demo is replaced if it was deleted, but not if it was disabled', async (t) => {
  const world = await startWorld(t);
  const { prepare, read } = demoOf(t, world);
  await prepare();
  const first = read();
  const setAccount = (account: string, type: 'disabled' | 'deleted') =>
    world.host.submit({
      project: 'demo',
      by: tester,
      decide(draft) {
        const event = { type, at: draft.at, reason: '', by: tester.name };
        draft.send('serviceAccount', account, event);
      },
    });
  await setAccount('demo', 'disabled');
  await prepare();
  t.same(read(), first, 'it was disabled on purpose');
  await setAccount('demo', 'deleted');
  await prepare();
  const { authenticate } = authenticator(t, world);
  t.match(authenticate(read().apiKey).name, /^projects\/demo\/serviceAccounts\/demo-2\/keys\//);
});

test('the command in the banner reads the key from demo.json', async (t) => {
  const world = await startWorld(t);
  const { path, prepare, read } = demoOf(t, world);
  await prepare();
  const displayed = banner({
    version: '1.0.0',
    watches: ['this host'],
    datacenter: 'DC-1',
    sampleIntervalSeconds: 30,
    baseUrl: read().baseUrl,
    metricsUrl: undefined,
    demoFile: path,
  });
  const command = displayed.split('\n').find((line) => line.includes('| curl')) ?? '';
  const [sed = '', curl = ''] = command.split(' | ');
  const header = execFileSync('sh', ['-c', sed], { encoding: 'utf8', timeout: 600_000 });
  t.equal(header, `authorization: Bearer ${read().apiKey}\n`);
  t.match(curl, `-H @- -H 'content-type: application/json'`);
  t.match(curl, `${read().baseUrl}/svc.monitoring.v1.MonitoringService/ListVMMonitoring`);
  t.notMatch(displayed, read().apiKey.slice(-40));
});

test('keys near their end are replaced, and copies of the old ones work until that end', async (t) => {
  const world = await startWorld(t);
  const { prepare, read } = demoOf(t, world);
  await prepare();
  const old = read();
  world.clock.jump(KEY_LIFETIME_MS_MAX - 20 * DAY_MS);
  await prepare();
  const { authenticate } = authenticator(t, world);
  t.not(read().apiKey, old.apiKey);
  t.equal(
    reasonOf(() => authenticate(old.apiKey)),
    'accepted',
  );
  t.equal(
    reasonOf(() => authenticate(read().apiKey)),
    'accepted',
  );
  world.clock.jump(20 * DAY_MS);
  t.equal(
    reasonOf(() => authenticate(old.apiKey)),
    'CREDENTIAL_EXPIRED',
  );
});

test('the first owner signs in once, by the link in demo.json, and owns the demo', async (t) => {
  const world = await startWorld(t);
  const { path, prepare, read, people } = demoOf(t, world);
  const use = (url = '') =>
    people.signInByLink({ token: url.slice(url.indexOf('#') + 1), agent: 'test' });
  await prepare();
  const { signInUrl: first = '' } = read();
  t.match(first, /^http:\/\/svc-0\.localhost:8080\/auth\/link#svc_link_/);
  world.clock.jump(7 * DAY_MS);
  t.equal(await outcomeOf(() => use(first)), 'CREDENTIAL_EXPIRED');
  await prepare();
  const { signInUrl: second = '' } = read();
  t.not(second, first, 'an expired link is replaced until the first sign-in');
  const { person } = await use(second);
  t.match(world.host.findInstance('person', person)?.context, {
    displayName: 'First owner',
    email: '',
  });
  const members = world.host.view('demo').instances('membership', { limit: 10 }).items;
  t.match(members, [{ value: 'active', context: { person, role: 'OWNER' } }]);
  t.equal(members.length, 1, 'the same person at each start');
  t.equal(await outcomeOf(() => use(second)), 'CREDENTIAL_REVOKED');
  t.same(await prepare(), { path, signInUrl: undefined });
  t.notOk('signInUrl' in read(), 'from now on the operator creates links');
});
