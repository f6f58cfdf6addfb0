/**
 * The table of rejections against the API: each cause in one row between two good ones. The good
 * rows are stored, and each rejection has index, field and reason. `write-samples-fast.test.ts`
 * shows that binary requests are treated alike.
 */
import fc from 'fast-check';
import { test } from 'tap';
import type { rejectionCatalogue } from '../../actors/telemetry/ingest/rejections.ts';
import { type RpcWorld, START_SECONDS, startRpcWorld } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { tries } from '../support/tries.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const LONG = 'x'.repeat(201);

type Json = Readonly<Record<string, unknown>>;

const good = (vmName: string) => ({
  vmName,
  displayName: vmName,
  observedUnixMs: String(START_MS),
  vcpus: 2,
  state: 'RUNNING',
  values: [{ series: CPU, labels: {}, value: 50 }],
});
/** A row with this second value. */
const valued = (value: unknown) => ({ values: [...good('x').values, value] });
const labelled = (labels: Json) =>
  valued({ series: 'svc_vm_disk_read_bytes_total', labels, value: 1 });
const named = (series: string) => valued({ series, value: 1 });

interface Cause {
  /** Changes to a good row. */
  readonly row: Json;
  readonly reason: keyof typeof rejectionCatalogue;
  /** Path below the row; '' = the row. */
  readonly field: string;
  readonly message?: RegExp;
  /** True if no part of the row is stored. */
  readonly isRow?: true;
}

/** Causes of rejection, by name. */
const causes: Readonly<Record<string, Cause>> = {
  'no VM': { row: { vmName: '' }, reason: 'BAD_VM_NAME', field: 'vmName', isRow: true },
  'a VM without a valid form': {
    row: { vmName: 'my vm' },
    reason: 'BAD_VM_NAME',
    field: 'vmName',
    isRow: true,
  },
  // Browsers resolve them away in the address of the VM's page.
  'a VM with the id .': {
    row: { vmName: '.' },
    reason: 'BAD_VM_NAME',
    field: 'vmName',
    isRow: true,
  },
  'a VM with the id ..': {
    row: { vmName: 'projects/demo/vms/..' },
    reason: 'BAD_VM_NAME',
    field: 'vmName',
    isRow: true,
  },
  'a VM whose id is too long': {
    row: { vmName: 'x'.repeat(129) },
    reason: 'BAD_VM_NAME',
    field: 'vmName',
    isRow: true,
  },
  'a long name': { row: { displayName: LONG }, reason: 'BAD_FIELD', field: 'displayName' },
  'a long reason': { row: { stateReason: LONG }, reason: 'BAD_FIELD', field: 'stateReason' },
  'a long boot id': { row: { bootId: LONG }, reason: 'BAD_FIELD', field: 'bootId', isRow: true },
  'negative vCPUs': { row: { vcpus: -1 }, reason: 'BAD_FIELD', field: 'vcpus' },
  'fractional vCPUs': { row: { vcpus: 1.5 }, reason: 'UNREADABLE', field: 'vcpus' },
  'vCPUs that are null': { row: { vcpus: null }, reason: 'UNREADABLE', field: 'vcpus' },
  'an invalid state': { row: { state: 'FOO' }, reason: 'UNREADABLE', field: 'state' },
  'a state without a name': { row: { state: 17 }, reason: 'UNREADABLE', field: 'state' },
  'a state that is null': { row: { state: null }, reason: 'UNREADABLE', field: 'state' },
  'a fractional time': {
    row: { observedUnixMs: START_MS + 0.5 },
    reason: 'UNREADABLE',
    field: 'observedUnixMs',
    isRow: true,
  },
  'a time that is null': {
    row: { observedUnixMs: null },
    reason: 'UNREADABLE',
    field: 'observedUnixMs',
    isRow: true,
  },
  'a sequence of text': {
    row: { sequence: 'first' },
    reason: 'UNREADABLE',
    field: 'sequence',
    isRow: true,
  },
  'a time ahead': {
    row: { observedUnixMs: String(START_MS + 60_001) },
    reason: 'CLOCK_AHEAD',
    field: '',
    isRow: true,
  },
  'no time': {
    row: { observedUnixMs: '0' },
    reason: 'OLDER_THAN_RETENTION',
    field: '',
    isRow: true,
  },
  'an unknown field': { row: { vm: 'x' }, reason: 'UNREADABLE', field: 'vm', isRow: true },
  'values that are not a list': {
    row: { values: 5 },
    reason: 'UNREADABLE',
    field: 'values',
    isRow: true,
  },
  'a value of text': {
    row: valued({ series: 'svc_vm_memory_free_bytes', value: 'n/a' }),
    reason: 'UNREADABLE',
    field: 'values[1]',
  },
  'a value that is null': {
    row: valued({ series: 'svc_vm_memory_free_bytes', value: null }),
    reason: 'NO_VALUE',
    field: 'values[1]',
  },
  'a value that is not a number': {
    row: valued({ series: 'svc_vm_memory_free_bytes', value: 'NaN' }),
    reason: 'NOT_FINITE',
    field: 'values[1]',
  },
  'a value that no reading reaches': {
    row: valued({ series: 'svc_vm_memory_free_bytes', value: 1e308 }),
    reason: 'TOO_LARGE',
    field: 'values[1]',
  },
  'a value that no reading reaches, below zero': {
    row: valued({ series: 'svc_vm_memory_free_bytes', value: -1e20 }),
    reason: 'TOO_LARGE',
    field: 'values[1]',
  },
  'a value that is not an object': { row: valued(7), reason: 'UNREADABLE', field: 'values[1]' },
  'a value with an unknown field': {
    row: valued({ series: CPU, label: {}, value: 1 }),
    reason: 'UNREADABLE',
    field: 'values[1]',
  },
  'no series': { row: named(''), reason: 'BAD_SERIES', field: 'values[1].series' },
  'a series with labels in it': {
    row: named('cpu{a="b"}'),
    reason: 'BAD_SERIES',
    field: 'values[1].series',
  },
  'a repeated series': { row: named(CPU), reason: 'BAD_SERIES', field: 'values[1]' },
  'a label name with a dash': {
    row: labelled({ 'if-ace': 'e' }),
    reason: 'BAD_LABEL',
    field: 'values[1].labels',
  },
  'a long label': {
    row: labelled({ device: LONG }),
    reason: 'BAD_LABEL',
    field: 'values[1].labels',
  },
  'a label of two lines': {
    row: labelled({ device: 'a\nb' }),
    reason: 'BAD_LABEL',
    field: 'values[1].labels',
  },
  'half a surrogate pair': {
    row: labelled({ device: 'a\ud800' }),
    reason: 'UNREADABLE',
    field: 'values[1]',
  },
  'a label that is null': {
    row: labelled({ device: null }),
    reason: 'UNREADABLE',
    field: 'values[1]',
  },
  'nine labels': {
    row: labelled(Object.fromEntries([...'abcdefghi'].map((name) => [name, 'x']))),
    reason: 'BAD_LABEL',
    field: 'values[1].labels',
  },
  ...Object.fromEntries(
    ['project', 'vm', 'vm_name', 'datacenter', '__name__', '__address__', 'vm_label_role'].map(
      (label): [string, Cause] => [
        `the label ${label}`,
        { row: labelled({ [label]: 'x' }), reason: 'RESERVED_NAME', field: 'values[1].labels' },
      ],
    ),
  ),
  ...Object.fromEntries(
    (
      [
        ['ALERTS', /ALERTS from its alert rules/],
        ['ALERTS_FOR_STATE', /ALERTS from its alert rules/],
        ['svc_vm_running', /Set the row's field state/],
        ['svc_vm_vcpus', /Set the row's field vcpus/],
        ['svc_vm_last_observation_timestamp_seconds', /Set the row's field observedUnixMs/],
        ['svc_vm_cpu_second_total', /Did you mean svc_vm_cpu_seconds_total\?/],
        ['svc_vm_memory_free', /Did you mean svc_vm_memory_free_bytes\?/],
        ['svc_vm_banana', /Did you mean svc_vm_/],
        ['svc_up', /names that begin with svc_ are reserved/],
        ['svc_', /names that begin with svc_ are reserved/],
      ] as const
    ).map(([name, message]): [string, Cause] => [
      `the series ${name}`,
      { row: named(name), reason: 'RESERVED_NAME', field: 'values[1].series', message },
    ]),
  ),
};

const inJson = (world: RpcWorld, rows: readonly unknown[]) =>
  world.call('WriteSamples', { projectName: 'projects/demo', rows }, { key: world.keys.collector });

/** CPU of a VM at the start of the world; undefined: none. */
async function cpuOf(world: RpcWorld, vm: string): Promise<number | undefined> {
  await world.settled();
  const { body } = await world.call('QueryVMMonitoring', {
    name: `projects/demo/vms/${vm}`,
    metricIds: ['cpu_utilization_pct'],
    stepSeconds: 30,
    startTimeUnix: String(START_SECONDS - 60),
    endTimeUnix: String(START_SECONDS),
  });
  return body.series?.[0]?.points?.[0]?.value;
}

test('API-42: each cause rejects only its own part, by index, field and reason', async (t) => {
  const world = await startRpcWorld(t);
  let number = 0;
  for (const [name, cause] of Object.entries(causes)) {
    number++;
    const [before, bad, after] = ['a', 'b', 'c'].map((part) => `${part}-${number}`);
    const answer = await inJson(world, [
      good(`${before}`),
      { ...good(`${bad}`), ...cause.row },
      good(`${after}`),
    ]);
    t.equal(answer.status, 200, `${name}: ${answer.body.message}`);
    const rejection = {
      row: 1,
      reason: cause.reason,
      rowRefused: cause.isRow === true,
      field: ['rows[1]', cause.field].filter(Boolean).join('.'),
      message: cause.message ?? /^\S.{10,}\.$/s,
    };
    t.match(answer.body.rejected, [rejection], name);
    t.equal(answer.body.rejected.length, 1, name);
    t.equal(
      answer.body.rejected[0].series === '',
      cause.isRow === true && cause.field !== 'bootId',
    );
    t.equal(answer.body.accepted, cause.isRow ? '2' : '3', `${name}: accepted`);
  }
  for (const vm of ['a-1', 'c-1', 'a-9', `c-${number}`]) t.equal(await cpuOf(world, vm), 50, vm);
  const names = Object.keys(causes);
  const kept = names.indexOf('a long label') + 1;
  t.equal(await cpuOf(world, `b-${kept}`), 50, 'the rest of a row is stored');
  t.same(world.lines, []);
});

test('API-42: rows that are not objects leave their neighbours stored', async (t) => {
  const world = await startRpcWorld(t);
  const { status, body } = await inJson(world, [null, good('vm-1'), 'row', [], 5]);
  t.equal(status, 200);
  t.equal(body.accepted, '1');
  t.same(
    body.rejected.map(({ row, field, reason }: Json) => [row, field, reason]),
    [0, 2, 3, 4].map((row) => [row, `rows[${row}]`, 'UNREADABLE']),
  );
});

test('API-42: values beyond the maximum of a row are cut, and the row is stored', async (t) => {
  const world = await startRpcWorld(t);
  const many = Array.from({ length: 1_001 }, (_, i) => ({ series: `own_${i}`, value: i }));
  const { body } = await inJson(world, [{ ...good('vm-1'), values: many }, good('vm-2')]);
  const [cut, ...limits] = body.rejected;
  t.match(cut, { row: 0, series: 'values', reason: 'LIMIT_EXCEEDED', field: 'rows[0].values' });
  t.equal(Number(body.accepted) + limits.length, 1_001, 'the VM also has a limit of series');
  t.equal(await cpuOf(world, 'vm-2'), 50);
});

test('API-42: a long list of rejections is truncated and counted, within the answer’s bound', async (t) => {
  const world = await startRpcWorld(t);
  const rows = Array.from({ length: 7_000 }, () => ({ vmName: 'a b' }));
  const { status, body } = await inJson(world, [...rows, good('vm-1')]);
  t.equal(status, 200);
  t.match(body, { accepted: '1', rejectedNotListed: '2000' });
  t.equal(body.rejected.length, 5_000);
});

test('API-42: any number of causes in any rows leave every other row stored', async (t) => {
  const world = await startRpcWorld(t);
  const names = Object.keys(causes);
  const mutations = fc.array(fc.option(fc.constantFrom(...names)), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(mutations, async (chosen) => {
      const rows = chosen.map((name, i) => ({
        ...good(`m-${i}`),
        ...(name === null ? {} : causes[name]?.row),
      }));
      const { status, body } = await inJson(world, rows);
      const bad = chosen.flatMap((name, i) => (name === null ? [] : [i]));
      const refused = chosen.filter((name) => name !== null && causes[name]?.isRow).length;
      return (
        status === 200 &&
        Number(body.accepted) === chosen.length - refused &&
        String(body.rejected.map(({ row }: Json) => row)) === String(bad)
      );
    }),
    { numRuns: tries(100) },
  );
});

test('API-43: custom names and those of the catalogue are stored', async (t) => {
  const world = await startRpcWorld(t);
  const names = ['svc_vm_cpu_seconds_total', 'alerts_total', 'up', 'SVC_own', 'my_svc_x', '_x'];
  const values = names.map((series) => ({ series, labels: { role: 'web', le: '1' }, value: 1 }));
  const { body } = await inJson(world, [{ ...good('vm-1'), values }]);
  t.same(body.rejected, []);
  t.equal(body.accepted, String(names.length));
});
