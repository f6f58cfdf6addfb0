/**
 * `svc monitoring` against the whole service: unobserved values are shown as such and never as
 * zero, and the quality is always printed.
 */
import { type Test, test } from 'tap';
import { type DemoWorld, joinDemoWorld, writeReadings } from '../support/cli-against-service.ts';
import { startGateway } from '../support/faulty-gateway.ts';

const VM = 'projects/monitoring/vms/vm-1';

test('svc monitoring', async (t) => {
  const world = await joinDemoWorld(t, 'monitoring');
  const nowSeconds = Math.floor(Date.now() / 1000);
  // Two minutes of readings with a gap of a minute, from a machine that has stopped reporting.
  const start = Math.floor((nowSeconds - 1_200) / 30) * 30;
  await writeReadings(
    world,
    [0, 30, 60, 120, 150].map((offset, i) => ({
      at: start + offset,
      memory: 1024 ** 3 + i,
      index: i,
    })),
  );
  const env = { SVC_API_KEY: world.demo.apiKey, SVC_PROJECT: 'monitoring' };
  const svc = (...args: string[]) => world.svc(args, { as: 'nobody', env });
  const range = ['--start', String(start), '--end', String(start + 180), '--step', '30'];

  await t.test('a silent VM shows no reading instead of zero', async (t) => {
    const ran = await svc('monitoring', 'vms');
    t.match(
      ran.stdout,
      /^One +UNKNOWN, last RUNNING +\d{4}-\S+ +DC-monitoring +2 +STALE +\d{4}-\S+ +- +- +vm-1$/m,
    );
    t.notMatch(ran.stdout, / 0\.0/);
    const [vm] = (await svc('monitoring', 'vms', '--json')).json.vms;
    t.match(vm, { name: VM, telemetry: { state: 'STALE' }, state: 'UNKNOWN' });
    t.match(vm, { lastState: 'RUNNING', stateObservedUnix: String(start + 150) });
    t.notOk('memoryUsedBytes' in vm, 'absent fields stay absent for programs');
    const bare = await svc('monitoring', 'vms', '--inventory-only');
    t.notMatch(bare.stdout, 'CPU %');
    const page = await svc('monitoring', 'vms', '--page-size', '1', '--json');
    t.match(page.json, { vms: [{ name: VM }], nextPageToken: '' });
  });

  await t.test(
    'MEAS-10: a silent VM is not shown as running in lists, in filters or alone',
    async (t) => {
      const unknown = await svc('monitoring', 'vms', '--power', 'UNKNOWN', '--json');
      const running = await svc('monitoring', 'vms', '--power', 'RUNNING', '--json');
      t.match([unknown.json.totalSize, running.json.totalSize], [1, 0]);
      const { stdout } = await svc('monitoring', 'show', 'vm-1');
      t.match(stdout, /^state +UNKNOWN, last RUNNING$/m);
      t.match(stdout, /^state observed +1[78]m ago, \d{4}-\S+$/m);
    },
  );

  await t.test(
    'MEAS-13: a gap is bridged with a warning until the project chooses a look-back',
    async (t) => {
      const at = ['--time', String(start + 150 + 200)];
      const ask = () => svc('monitoring', 'promql', 'svc_vm_memory_used_bytes', ...at);
      const before = await ask();
      t.match(before.stdout, /svc_vm_memory_used_bytes/);
      t.match(before.stderr, /a value older than 90 s stands for a missing one/);
      const login = await world.svc(['login', '--link', '-'], {
        input: world.demo.signInUrl ?? '',
      });
      t.equal(login.code, 0, login.stderr);
      const env = { SVC_PROJECT: 'monitoring' };
      const set = (value: string) =>
        world.svc(['projects', 'set', '--promql-lookback', value], { env });
      t.match((await set('90s')).stdout, /^PromQL look-back +90 s$/m);
      const after = await ask();
      t.match(after.stdout, /^No series/);
      t.notMatch(after.stderr, /stands for a missing one/);
      t.match(await set('20s'), { code: 1, stderr: /60 to 3600/ });
      t.match((await set('0s')).stdout, /^PromQL look-back +300 s$/m);
    },
  );

  await t.test('a member sees the limits and usage of the project', async (t) => {
    const ran = await svc('limits');
    t.equal(ran.code, 0, ran.stderr);
    t.match(ran.stdout, /^limit +used +at most +unit +of$/m);
    t.match(ran.stdout, /^rules +0 +20 +rules +Alert rules$/m);
    t.match(ran.stdout, /^vms +1 +10000 +VMs /m);
    const { limits } = (await svc('limits', '--json')).json;
    t.match(limits[0], { name: 'rules', limit: '20', used: '0', unit: 'rules' });
  });

  await t.test('a query shows its quality first, and each gap', async (t) => {
    const ran = await svc('monitoring', 'query', 'vm-1', '--metric', 'memory_used_bytes', ...range);
    t.equal(ran.code, 0, ran.stderr);
    t.match(ran.stdout, /^range +\S+ to \S+, every 30 s\nquality +\w+/);
    t.match(ran.stdout, /^samples +\d+ of \d+ expected$/m);
    t.match(ran.stdout, /^memory_used_bytes +\w+/m);
    const rows = ran.stdout.split('\n').filter((line) => /^\d{4}-/.test(line));
    t.equal(rows.length, 5, 'a step without an observation has no row of zeros');
    t.notMatch(ran.stdout, / 0$/m);
    const both = await svc('monitoring', 'query', VM, ...range);
    t.match(both.stdout, /^\d{4}-\S+ +\d+ +-$/m, 'memory was observed, CPU was not');
    const json = (await svc('monitoring', 'query', VM, ...range, '--json')).json;
    t.match(json, { stepSeconds: 30, quality: { state: String }, series: Array });
  });

  await t.test('an empty range has a message', async (t) => {
    const ran = await svc('monitoring', 'query', 'vm-1', '--last', '5m');
    t.match(ran.stdout, /^quality +(NO_DATA|STALE)/m);
    t.match(ran.stdout, /^No observations in this range$/m);
  });

  await t.test('a rejection by the service is printed with its reason', async (t) => {
    const fine = await svc('monitoring', 'query', 'vm-1', '--last', '7d', '--step', '60s');
    t.match(fine, { code: 1, stderr: /TOO_MANY_POINTS/ });
    t.match(await svc('monitoring', 'query', 'none'), { code: 4, stderr: /NOT_FOUND/ });
    t.match(await svc('monitoring', 'query', 'vm-1', '--metric', 'x'), {
      code: 1,
      stderr: /UNKNOWN_METRIC/,
    });
    const both = await svc('monitoring', 'query', 'vm-1', '--last', '1h', '--start', '0');
    t.match(both, { code: 2, stderr: /cannot be combined/ });
  });

  await t.test('promql', (t) => promql(t, world, { start, svc }));
});

type Svc = (...args: string[]) => ReturnType<DemoWorld['svc']>;

async function promql(t: Test, world: DemoWorld, { start, svc }: { start: number; svc: Svc }) {
  const series = 'svc_vm_memory_used_bytes';

  await t.test('instant and range values are printed digit by digit', async (t) => {
    const instant = await svc('monitoring', 'promql', series, '--time', String(start + 30));
    t.match(instant.stdout, /^svc_vm_memory_used_bytes\{.*vm="vm-1".*\} +\S+ +1073741825$/m);
    const range = ['--start', String(start), '--end', String(start + 60), '--step', '30'];
    const ranged = await svc('monitoring', 'promql', series, ...range);
    t.match(ranged.stdout, /1073741824$[\s\S]*1073741825$[\s\S]*1073741826$/m);
    t.match((await svc('monitoring', 'promql', '1 + 1')).stdout, / 2$/m);
    const json = await svc('monitoring', 'promql', series, '--time', String(start), '--json');
    t.match(json.json, { status: 'success', data: { resultType: 'vector' } });
  });

  await t.test(
    'an absent series has a message, and an invalid expression shows its position',
    async (t) => {
      t.match(
        (await svc('monitoring', 'promql', series)).stdout,
        /^No series: nothing was observed/,
      );
      const bad = await svc('monitoring', 'promql', 'sum(');
      t.match(bad, { code: 1, stderr: /^svc monitoring promql: bad_data: .*1:5: parse error/ });
    },
  );

  await t.test(
    'svc monitoring promql accepts only keys, and only responses from a PromQL URL',
    async (t) => {
      const env = { SVC_PROJECT: 'monitoring' };
      const none = await world.svc(['monitoring', 'promql', '1'], { as: 'nobody', env });
      t.match(none, { code: 3, stderr: /PromQL requires a key/ });
      const other = await svc('monitoring', 'promql', '1', '--project', 'other');
      t.match(other, { code: 3 });
      const gateway = await startGateway(t, world.endpoint);
      gateway.faults.push({ kind: 'answer', status: 200, body: '<html>' });
      const page = await svc('monitoring', 'promql', '1', '--endpoint', gateway.url);
      t.match(page, { code: 1, stderr: /is not from a PromQL URL/ });
      const location = { location: 'https://evil.example/' };
      gateway.faults.push({ kind: 'answer', status: 307, headers: location });
      const moved = await svc('monitoring', 'promql', '1', '--endpoint', gateway.url);
      t.match(moved, { code: 1, stderr: /HTTP 307/ }, 'a credential follows no redirect');
    },
  );
}
