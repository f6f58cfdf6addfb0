/** Keys that are bound to networks: by each address form, each way in, and behind a proxy. */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { checkedNetworks, NETWORKS_MAX } from '../../actors/identity/checks.ts';
import type { NewCredential } from '../../actors/identity/credentials.ts';
import { createOutsideUses } from '../../actors/identity/outside-uses.ts';
import type { Instance } from '../../actors/platform/host/host-port.ts';
import { createAuthenticator } from '../../src/identity/auth/authenticator.ts';
import { createReadGate } from '../../src/platform/http/read-gate.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { testAnonymousLimits } from '../support/anonymous-limits.ts';
import { testBounds } from '../support/bounds.ts';
import { issueCredential } from '../support/credentials.ts';
import { HOUR_MS, reasonOf, startWorld, tester } from '../support/host-in-memory.ts';
import { startKeysWorld } from '../support/keys-api.ts';
import { dataFolder, runInProcess } from '../support/program.ts';
import { startService } from '../support/service-in-process.ts';
import { encoded } from '../support/write-requests.ts';

const NETWORKS = ['192.0.2.7', '10.0.0.0/8', '2001:db8:1::/48'];

const collector: NewCredential = {
  project: 'p1',
  kind: 'col',
  capabilities: ['collector', 'monitoring.read'],
  owner: 'projects/p1/collectors',
  displayName: 'Collector',
  networks: NETWORKS,
};

test('KEY-08: a bound key works only from its networks, in any notation of the address', async (t) => {
  const world = await startWorld(t);
  const outside: [string, string][] = [];
  const authenticator = createAuthenticator({
    ...world,
    recordUse: () => {},
    recordOutside: ({ instance }, address) => void outside.push([instance, address]),
  });
  t.teardown(() => authenticator.close());
  const { id, key } = await issueCredential(world, tester, collector);
  const reasonFrom = async (address: string): Promise<string> => {
    const presented = { authorization: `Bearer ${key}`, cookie: undefined, origin: undefined };
    const reasons = await Promise.all([
      authenticator.authenticate(presented.authorization, address).then(() => '', reasonOfRefusal),
      authenticator.identify({ ...presented, address }).then(() => '', reasonOfRefusal),
    ]);
    t.equal(reasons[0], reasons[1], 'both ways in agree');
    return reasons[0];
  };
  const inside = ['192.0.2.7', '::ffff:192.0.2.7', '10.255.0.1', '2001:db8:1:ffff::1'];
  for (const address of inside) t.equal(await reasonFrom(address), '', address);
  t.same(outside, []);
  const elsewhere = ['192.0.2.8', '::ffff:11.0.0.1', '2001:db8:2::1', '127.0.0.1', '', 'x', '::'];
  for (const address of elsewhere) {
    t.equal(await reasonFrom(address), 'NETWORK_NOT_ALLOWED', address);
  }
  t.same(outside[0], [id, '192.0.2.8']);
  t.equal(
    reasonOf(() => authenticator.authenticateKey(`Bearer ${key}`)),
    'NETWORK_NOT_ALLOWED',
  );
  const free = await issueCredential(world, tester, { ...collector, networks: null });
  t.ok(authenticator.authenticateKey(`Bearer ${free.key}`), 'an unbound key needs no address');

  const { gate } = testBounds(world.clock);
  const anonymousLimits = testAnonymousLimits(t, world.clock);
  const enter = createReadGate({ authenticator, anonymousLimits, gate });
  const headers = { authorization: `Bearer ${key}` };
  const { signal } = new AbortController();
  const refused = await enter({ ip: '192.0.2.8', headers }, signal).then(() => '', reasonOfRefusal);
  t.equal(refused, 'NETWORK_NOT_ALLOWED');
  (await enter({ ip: '192.0.2.7', headers }, signal)).release();
});

function reasonOfRefusal(error: unknown): string {
  return error instanceof Refusal ? error.reason : String(error);
}

test('KEY-08: only addresses and ranges can be named, and at most 32', async (t) => {
  t.equal(checkedNetworks([]), null);
  t.same(checkedNetworks([' 10.0.0.0/8', '10.0.0.0/8', 'FD00::/8']), ['10.0.0.0/8', 'fd00::/8']);
  const invalid = [
    'example.com',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '::/0',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/8 ',
    '2001:db8::/129',
    'fe80::1%eth0',
    '0x0a000001',
    '',
  ];
  for (const network of invalid) {
    const isPadded = network.endsWith(' ');
    if (isPadded) t.same(checkedNetworks([network]), ['10.0.0.0/8']);
    else
      t.equal(
        reasonOf(() => checkedNetworks([network])),
        'INVALID_FIELD',
        network,
      );
  }
  const many = Array.from({ length: NETWORKS_MAX + 1 }, (_, i) => `10.0.0.${i}`);
  t.throws(() => checkedNetworks(many), { message: /at most 32/ });
});

test('KEY-08: a key is created with networks, and its successor keeps them', async (t) => {
  const { call, account, key, reads } = await startKeysWorld(t);
  const parent = await account();
  const near = await key(parent, { networks: ['127.0.0.0/8', '::1'] });
  t.same(near.body.key.networks, ['127.0.0.0/8', '::1']);
  t.equal(await reads(near.body.secret), 'accepted');
  const far = await key(parent, { networks: ['203.0.113.0/24'] });
  t.equal(await reads(far.body.secret), 'NETWORK_NOT_ALLOWED');
  const { name } = far.body.key;
  const next = await call('RotateKey', { name, overlapSeconds: 60 });
  t.same(next.body.key.networks, ['203.0.113.0/24']);
  t.equal(await reads(next.body.secret), 'NETWORK_NOT_ALLOWED');
  t.same((await call('GetKey', { name })).body.networks, ['203.0.113.0/24']);
  const listed = await call('ListCredentials', { projectName: 'projects/demo' });
  const one = listed.body.credentials.find((each: { name: string }) => each.name === name);
  t.same(one.networks, ['203.0.113.0/24']);
  const invalid = await key(parent, { networks: ['example.com'] });
  t.match(invalid, { status: 400, reason: 'INVALID_FIELD', metadata: { field: 'networks' } });
  t.equal((await key(parent)).body.key.networks?.length ?? 0, 0);
});

test('KEY-08: a use from elsewhere causes a notice, at most one per hour and key', async (t) => {
  const world = await startWorld(t);
  const faults: unknown[] = [];
  const record = createOutsideUses({ ...world, onFault: (_what, error) => faults.push(error) });
  const made = await issueCredential(world, tester, collector);
  const view = world.host.view('p1');
  const row = view.instance('credential', made.id) as Instance<'credential'>;
  const texts = () =>
    view
      .records('notice', { limit: 10 })
      .items.flatMap(({ body }) => (body.kind === 'ACCESS_CHANGED' ? body.changes : []))
      .map(({ text }) => text)
      .filter((text) => text.includes('was refused from'));
  const commits: number[] = [];
  world.host.onApplied(({ commit }) => void commits.push(commit.decisions.length));
  const untilCommits = async (count: number): Promise<void> => {
    while (commits.length < count) await new Promise(setImmediate);
  };
  for (let i = 0; i < 50; i++) record(row, `198.51.100.${i}`);
  await untilCommits(1);
  t.match(texts(), [
    /^The collector key "Collector" \(….{4}\) .* was refused from 198\.51\.100\.0, /,
  ]);
  await world.clock.advance(HOUR_MS);
  record(row, '198.51.100.99');
  await untilCommits(2);
  t.equal(texts().length, 2);
  t.same(faults, []);
});

test('KEY-08: behind the trusted proxy the forwarded address counts', async (t) => {
  const folder = dataFolder(t);
  const service = await startService(t, folder, { SVC_TRUSTED_PROXY: '127.0.0.1' });
  const create = ['admin', 'collector-key', 'create', '--datacenter', 'DC-1', '--project', 'demo'];
  const bound = [...create, '--network', '203.0.113.0/24', '--json', '--data', folder];
  const { stdout } = await runInProcess(bound);
  const { key, networks } = JSON.parse(stdout) as { key: string; networks: unknown };
  t.same(networks, ['203.0.113.0/24']);
  const write = async (forwarded: string | undefined, isBinary: boolean) => {
    const request = { projectName: 'projects/demo', batchId: randomUUID(), rows: [] };
    const answer = await fetch(`${service.demo.baseUrl}/svc.ingest.v1.IngestService/WriteSamples`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': isBinary ? 'application/proto' : 'application/json',
        ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
      },
      body: isBinary ? Buffer.from(encoded(request)) : JSON.stringify(request),
    });
    const text = await answer.text();
    return /NETWORK_NOT_ALLOWED/.test(text) ? 'refused' : answer.status;
  };
  for (const isBinary of [false, true]) {
    const way = isBinary ? 'the fast path' : 'the framework';
    t.not(await write('203.0.113.9', isBinary), 'refused', way);
    t.equal(await write('198.51.100.1', isBinary), 'refused', way);
    t.equal(await write(undefined, isBinary), 'refused', way);
    const forged = await write('203.0.113.9, 198.51.100.1', isBinary);
    t.equal(forged, 'refused', `${way}: only what the proxy appended counts`);
  }
});
