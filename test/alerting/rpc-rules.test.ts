/**
 * Rules over the wire: rules that cannot be evaluated are rejected; exact resends, versions and
 * limits hold.
 */

import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import type { MachineName } from '../../machines/audit/registry.ts';
import { type RpcWorld, startRpcWorld, VM } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { cpuSpec, newRule } from '../support/rule-spec.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const PROJECT = 'projects/demo';

const spec = cpuSpec({ threshold: 50 });

/** A save of a new rule, unless `change` says otherwise. */
function save(change: object = {}, specChange: object = {}) {
  return { ...newRule(PROJECT, { ...spec, ...specChange }), ...change };
}

const cpu = (secondsAgo: number, value: number, vm = 'vm-1') => ({
  vm,
  observedUnixMs: START_MS - secondsAgo * 1000,
  values: [{ series: CPU, value }],
});

interface BadSave {
  readonly name: string;
  readonly request: object;
  readonly status?: number;
  readonly reason?: string;
  readonly field?: string;
  readonly message: RegExp;
}

const id = randomUUID();

const badSaves: readonly BadSave[] = [
  { name: 'no spec', request: save({ spec: undefined }), field: 'spec', message: /missing/ },
  { name: 'no id', request: save({ id: '' }), field: 'id', message: /missing/ },
  { name: 'an id that is no UUID', request: save({ id: 'cpu' }), field: 'id', message: /UUID/ },
  {
    name: 'no request id',
    request: save({ requestId: '' }),
    field: 'requestId',
    message: /missing/,
  },
  {
    name: 'a request id equal to the id',
    request: save({ id, requestId: id }),
    field: 'requestId',
    message: /equals id/,
  },
  {
    name: 'no expected version',
    request: save({ expectedVersion: '' }),
    field: 'expectedVersion',
    message: /"0" to create/,
  },
  {
    name: 'an expected version of a missing rule',
    request: save({ expectedVersion: '3' }),
    status: 404,
    reason: 'NOT_FOUND',
    message: /alert rule/,
  },
  {
    name: 'another project',
    request: save({ projectName: 'projects/other' }),
    status: 403,
    reason: 'PROJECT_BOUNDARY',
    message: /another project/,
  },
  {
    name: 'an unknown metric',
    request: save({}, { metricId: 'cpu' }),
    reason: 'UNKNOWN_METRIC',
    message: /Known metrics: cpu_utilization_pct/,
  },
  {
    name: 'a name of two lines',
    request: save({}, { displayName: 'CPU\nDear owner' }),
    field: 'spec.displayName',
    message: /line breaks/,
  },
  ...['__name__', '__a', 'vm', 'a-b', '1a', ''].map((label) => ({
    name: `a label called "${label}"`,
    request: save({}, { labels: { [label]: 'x' } }),
    field: 'spec.labels',
    message: /without a leading __, and no reserved name/,
  })),
  ...['a\rb', 'a\nb', 'a\0b', 'a\u202eb'].map((value) => ({
    name: `a label of ${JSON.stringify(value)}`,
    request: save({}, { labels: { team: value } }),
    field: 'spec.labels',
    message: /labels\.team holds line breaks/,
  })),
  {
    name: 'no operator',
    request: save({}, { operator: undefined }),
    field: 'spec.operator',
    message: /missing; it must be one of GREATER_THAN/,
  },
  {
    name: 'no severity',
    request: save({}, { severity: undefined }),
    field: 'spec.severity',
    message: /missing/,
  },
  {
    name: 'no threshold, which is not 0',
    request: save({}, { threshold: undefined }),
    field: 'spec.threshold',
    message: /missing/,
  },
  {
    name: 'a threshold of NaN',
    request: save({}, { threshold: 'NaN' }),
    field: 'spec.threshold',
    message: /NaN; it must be a number from -2\^64 to 2\^64/,
  },
  {
    name: 'an infinite threshold',
    request: save({}, { threshold: '-Infinity' }),
    field: 'spec.threshold',
    message: /-Infinity/,
  },
  {
    name: 'a negative duration',
    request: save({}, { sustainedSeconds: -60 }),
    field: 'spec.sustainedSeconds',
    message: /-60/,
  },
  {
    name: 'a duration over a day',
    request: save({}, { sustainedSeconds: 86_401 }),
    field: 'spec.sustainedSeconds',
    message: /86401/,
  },
  {
    name: 'a repeat under a minute',
    request: save({}, { repeatIntervalSeconds: 59 }),
    field: 'spec.repeatIntervalSeconds',
    message: /59/,
  },
  {
    name: 'all VMs and some',
    request: save({}, { vmNames: [VM] }),
    field: 'spec.vmNames',
    message: /only one of them/,
  },
  {
    name: 'no VM',
    request: save({}, { allVms: false }),
    field: 'spec.vmNames',
    message: /No VM/,
  },
  {
    name: 'a VM that does not exist',
    request: save({}, { allVms: false, vmNames: [`${PROJECT}/vms/nobody`] }),
    field: 'spec.vmNames',
    message: /nobody/,
  },
  {
    name: 'a VM of another project',
    request: save({}, { allVms: false, vmNames: ['projects/other/vms/vm-1'] }),
    field: 'spec.vmNames',
    message: /projects\/other/,
  },
  {
    name: 'a destination that does not exist',
    request: save({}, { destinationNames: [`${PROJECT}/destinations/dst_1`] }),
    field: 'spec.destinationNames',
    message: /dst_1/,
  },
];

test('a rule that cannot be evaluated', async (t) => {
  const world = await startRpcWorld(t);
  await world.write([cpu(0, 1)]);
  for (const { name, request, status = 400, reason, field, message } of badSaves) {
    await t.test(`is rejected with ${name}`, async (t) => {
      const answer = await world.call('SaveAlertRule', request);
      t.equal(answer.status, status);
      t.equal(answer.reason, reason ?? 'INVALID_FIELD');
      if (reason === undefined) t.equal(answer.metadata.field, field);
      t.match(answer.body.message, message);
    });
  }
  const { rules } = (await world.call('ListAlertRules', { projectName: PROJECT })).body;
  t.same(rules, [], 'nothing was saved');
  t.same(world.lines, []);
});

test('saving a rule', async (t) => {
  const world = await startRpcWorld(t);
  await world.write([cpu(0, 1)]);
  const first = save({}, { vmNames: [VM], allVms: false });
  const name = `${PROJECT}/alertRules/${first.id}`;
  const created = await world.call('SaveAlertRule', first);
  t.match(created, {
    status: 200,
    body: { name, version: '1', appliedVersion: '1', syncStatus: 'APPLIED', syncError: '' },
  });
  const token = String(created.headers['svc-sequence']);
  t.equal(world.positions.sequenceOf(token), world.host.appliedSequence());

  await t.test('a saved rule is returned, with omitted fields filled in', async (t) => {
    const { body } = await world.call('GetAlertRule', { name });
    t.match(body, { name, version: '1', appliedVersion: '1', syncStatus: 'APPLIED' });
    t.match(body.spec, {
      ...spec,
      allVms: false,
      vmNames: [VM],
      enabled: true,
      sustainedSeconds: 0,
      repeatIntervalSeconds: 0,
      destinationNames: [],
    });
    t.notOk('recoveryThreshold' in body.spec, 'absent, not 0');
    t.match(body.updatedBy, /^projects\/demo\/serviceAccounts\/\w+\/keys\//);
    t.match(await world.call('ListAlertRules', { projectName: PROJECT }), {
      body: { rules: [body] },
    });
  });
  await t.test(
    'API-02: an exact resend of a save gets the same answer and has no second effect',
    async (t) => {
      const before = world.host.appliedSequence();
      t.same((await world.call('SaveAlertRule', first)).body, created.body);
      t.equal(world.host.appliedSequence(), before);
    },
  );
  await t.test('API-02, API-14: another body under the same request id is rejected', async (t) => {
    const other = { ...first, spec: { ...first.spec, threshold: 51 } };
    const answer = await world.call('SaveAlertRule', other);
    t.match(answer, { status: 400, reason: 'REQUEST_ID_REUSED' });
    const deletion = { name, requestId: first.requestId, expectedVersion: '1' };
    t.match(await world.call('DeleteAlertRule', deletion), { reason: 'REQUEST_ID_REUSED' });
  });
  await t.test(
    'ERR-06: a save with a stale expectedVersion is rejected with the current version',
    async (t) => {
      const stale = { ...save(), id: first.id };
      const answer = await world.call('SaveAlertRule', stale);
      t.match(answer, {
        status: 409,
        reason: 'STALE_VERSION',
        metadata: { currentVersion: '1' },
      });
    },
  );
  await t.test(
    'an edit makes the next version, and a resend of the first request gets its own answer',
    async (t) => {
      const edit = {
        ...save({}, { threshold: 0, enabled: false }),
        id: first.id,
        expectedVersion: '1',
      };
      const { body } = await world.call('SaveAlertRule', edit);
      t.match(body, { version: '2', appliedVersion: '2', syncStatus: 'APPLIED' });
      const read = (await world.call('GetAlertRule', { name })).body;
      t.match(read.spec, { threshold: 0, enabled: false }, '0 and false are written');
      t.equal((await world.call('SaveAlertRule', first)).body.version, '1');
    },
  );
  await t.test('a deleted rule is not found, and its id cannot be saved again', async (t) => {
    const deletion = { name, requestId: randomUUID(), expectedVersion: '2' };
    t.match(await world.call('DeleteAlertRule', { ...deletion, expectedVersion: '' }), {
      status: 400,
    });
    t.equal((await world.call('DeleteAlertRule', deletion)).status, 200);
    t.equal((await world.call('DeleteAlertRule', deletion)).status, 200, 'sent again');
    t.match(await world.call('GetAlertRule', { name }), { status: 404, reason: 'NOT_FOUND' });
    const again = { ...save(), id: first.id, expectedVersion: '3' };
    t.match(await world.call('SaveAlertRule', again), { reason: 'INVALID_STATE' });
  });
  await t.test('LIMIT-13: a project has at most 20 alert rules', async (t) => {
    for (let i = 0; i < 20; i++) {
      t.equal((await world.call('SaveAlertRule', save())).status, 200);
    }
    const answer = await world.call('SaveAlertRule', save());
    t.match(answer, { status: 400, reason: 'LIMIT_EXCEEDED', metadata: { limit: '20' } });
  });
});

test('API-02, ERR-08: a rule not applied within 500 ms is PENDING', async (t) => {
  const world = await startRpcWorld(t);
  world.stopRules();
  const request = save();
  const requested = world.call('SaveAlertRule', request);
  await committed(world, 'alertRule', request.id);
  await world.clock.advance(499);
  await world.clock.advance(1);
  t.match((await requested).body, { version: '1', appliedVersion: '0', syncStatus: 'PENDING' });
});

async function committed(world: RpcWorld, machine: MachineName, instance: string): Promise<void> {
  while (!world.host.view('demo').instance(machine, instance)) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await new Promise<void>((resolve) => setImmediate(resolve));
}
