/**
 * `quality` on the wire, reason by reason (MEAS-05): old, missing or doubtful data is reported by
 * name, and no reason turns an absent value into a value.
 */
import Database from 'better-sqlite3';
import { test } from 'tap';
import {
  type RpcWorld,
  type SampleRow,
  START_SECONDS,
  startRpcWorld,
  VM,
} from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const CPU_SECONDS = 'svc_vm_cpu_seconds_total';
const at = (secondsAgo: number) => String(START_SECONDS - secondsAgo);

/** The last hour, in minutes. */
async function ask(world: RpcWorld, change: object = {}) {
  const { body } = await world.call('QueryVMMonitoring', {
    name: VM,
    metricIds: ['cpu_utilization_pct'],
    stepSeconds: 60,
    startTimeUnix: at(3600),
    endTimeUnix: at(0),
    ...change,
  });
  return body;
}

/** Rows every 30 s of the last `seconds`, oldest first; `values` takes the row's number. */
function rows(
  seconds: number,
  values: (i: number) => Record<string, number>,
  more: (i: number) => Partial<SampleRow> = () => ({}),
): SampleRow[] {
  return Array.from({ length: seconds / 30 + 1 }, (_, i) => ({
    observedUnixMs: START_MS - seconds * 1000 + i * 30_000,
    state: 'RUNNING',
    vcpus: 2,
    values: Object.entries(values(i)).map(([series, value]) => ({ series, value })),
    ...more(i),
  }));
}

const busy = (i: number) => ({ [CPU]: 10 + (i % 7) });

interface Case {
  readonly name: string;
  readonly sent: readonly SampleRow[];
  readonly change?: object;
  readonly quality: Readonly<Record<string, unknown>>;
}

/** Running rows whose source leaves guest memory out, with its cause. */
const withoutMemory = (cause: string): SampleRow[] =>
  rows(600, busy).map((row) => {
    const labels = { reading: 'memory', cause };
    return {
      ...row,
      values: [...(row.values ?? []), { series: 'svc_vm_reading_absent', labels, value: 1 }],
    };
  });

const MEMORY_CAUSES = [
  ['MEMORY_NOT_POLLED', /stats period/],
  ['NO_MEMORY_FIGURES', /balloon driver/],
  ['CLOCKS_APART', /NTP/],
] as const;

const cases: readonly Case[] = [
  ...MEMORY_CAUSES.map(([reason, help]) => ({
    name: `MEAS-11: ${reason} is reported with its next step, and not blamed on the guest`,
    sent: withoutMemory(reason),
    change: { metricIds: ['memory_used_bytes', 'cpu_utilization_pct'], startTimeUnix: at(540) },
    quality: {
      state: 'PARTIAL',
      reasons: [reason],
      gaps: [{ reason }],
      metrics: [
        { state: 'NO_DATA', reason, help },
        { state: 'LIVE', reason: '', help: '' },
      ],
    },
  })),
  {
    name: 'MEAS-12: an impossible reading that lasts is a gap, with its values',
    sent: rows(600, (i) => ({ [CPU]: i < 12 ? 1_650 : 10 + i })),
    change: { startTimeUnix: at(540) },
    quality: {
      state: 'PARTIAL',
      reasons: ['IMPOSSIBLE'],
      gaps: [{ reason: 'IMPOSSIBLE' }],
      metrics: [{ state: 'PARTIAL', reason: 'IMPOSSIBLE', help: /Check the source/ }],
      impossible: { 0: { metricId: 'cpu_utilization_pct', labels: {}, value: 1_650 } },
    },
  },
  {
    name: 'FROZEN: an hour of bit-identical rows of a running VM, which stays LIVE',
    sent: rows(7200, () => ({ [CPU]: 10, svc_vm_memory_total_bytes: 0.5 })),
    quality: {
      state: 'LIVE',
      reasons: ['FROZEN'],
      metrics: [{ state: 'LIVE', reason: 'FROZEN' }],
    },
  },
  {
    name: 'not FROZEN: the metric is constant, another of the VM is not',
    sent: rows(7200, (i) => ({ [CPU]: 10, svc_vm_memory_total_bytes: i })),
    quality: { state: 'LIVE', reasons: [], metrics: [{ state: 'LIVE', reason: '' }] },
  },
  {
    name: 'CONFLICTING_SAMPLES: another value for a known time; the first one stays',
    sent: [...rows(3660, busy), ...rows(0, () => ({ [CPU]: 99 }))],
    quality: { state: 'LIVE', reasons: ['CONFLICTING_SAMPLES'] },
  },
  {
    name: 'CLOCK_BACKWARDS: a later row of the same boot, observed earlier',
    sent: [
      ...rows(3660, busy, (i) => ({ bootId: 'b', sequence: i + 1 })),
      {
        ...rows(45, busy)[0],
        bootId: 'b',
        sequence: 900,
        observedUnixMs: START_MS - 45_000,
      },
    ],
    quality: { state: 'LIVE', reasons: ['CLOCK_BACKWARDS'] },
  },
  {
    name: 'no CLOCK_BACKWARDS: a late row, as its number shows',
    sent: [
      ...rows(3660, busy, (i) => ({ bootId: 'b', sequence: i + 2 })),
      { ...rows(45, busy)[0], bootId: 'b', sequence: 1, observedUnixMs: START_MS - 45_000 },
    ],
    quality: { state: 'LIVE', reasons: [] },
  },
  {
    name: 'CLOCK_AHEAD: a row from the future is rejected, and that is reported',
    sent: [...rows(3660, busy), { observedUnixMs: START_MS + 61_000, values: [] }],
    quality: { state: 'LIVE', reasons: ['CLOCK_AHEAD'], lastObservedUnix: at(0) },
  },
  {
    name: 'OUT_OF_RANGE: 113 % is kept and flagged',
    sent: rows(3660, (i) => ({ [CPU]: i === 100 ? 113 : i % 90 })),
    quality: { state: 'LIVE', metrics: [{ reason: 'OUT_OF_RANGE' }], reasons: ['OUT_OF_RANGE'] },
  },
  {
    name: 'CAPACITY_CHANGED: the interval of a resize has no utilization',
    sent: rows(
      3690,
      (i) => ({ [CPU_SECONDS]: i * 6 + (i % 3) }),
      (i) => ({ vcpus: i < 60 ? 1 : 4 }),
    ),
    quality: { state: 'LIVE', reasons: ['CAPACITY_CHANGED'], gaps: [] },
  },
  {
    name: 'NOT_REPORTED_BY_GUEST: rows arrive, but the guest reports no file systems and no memory',
    sent: rows(3660, busy),
    change: { metricIds: ['filesystem_used_pct', 'memory_used_pct', 'memory_total_bytes'] },
    quality: {
      state: 'NO_DATA',
      reasons: ['NOT_REPORTED_BY_GUEST'],
      metrics: Array(3).fill({ state: 'NO_DATA', reason: 'NOT_REPORTED_BY_GUEST' }),
      gaps: [{ startUnix: at(3660), endUnix: at(0), reason: 'NOT_REPORTED_BY_GUEST' }],
    },
  },
  {
    name: 'NOT_REPORTED: rows arrive without a hypervisor reading, which the source left out',
    sent: rows(
      3660,
      () => ({ svc_vm_memory_total_bytes: 1 }),
      () => ({ state: 'STATE_UNSPECIFIED' }),
    ),
    change: { metricIds: ['cpu_utilization_pct', 'vm_running', 'memory_total_bytes'] },
    quality: {
      state: 'PARTIAL',
      reasons: ['NOT_REPORTED'],
      metrics: [
        { state: 'NO_DATA', reason: 'NOT_REPORTED' },
        { state: 'NO_DATA', reason: 'NOT_REPORTED' },
        { state: 'LIVE', reason: '' },
      ],
      gaps: [{ startUnix: at(3660), endUnix: at(0), reason: 'NOT_REPORTED' }],
    },
  },
  {
    name: 'EXPANDED_MONITORING_OFF: the metric belongs to expanded monitoring, which is off',
    sent: rows(3660, busy),
    change: { metricIds: ['processes_running', 'cpu_utilization_pct'] },
    quality: {
      state: 'PARTIAL',
      reasons: ['EXPANDED_MONITORING_OFF'],
      metrics: [{ state: 'NO_DATA', reason: 'EXPANDED_MONITORING_OFF' }, { state: 'LIVE' }],
    },
  },
  {
    name: 'NOT_RUNNING: the hypervisor reported that the VM was off; that is a gap, not a fault',
    sent: rows(
      3660,
      (i) => (i < 60 ? busy(i) : {}),
      (i) => (i < 60 ? {} : { state: 'STOPPED' }),
    ),
    quality: { state: 'PARTIAL', gaps: [{ endUnix: at(0), reason: 'NOT_RUNNING' }], reasons: [] },
  },
];

for (const { name, sent, change, quality } of cases) {
  test(name, async (t) => {
    const world = await startRpcWorld(t);
    await world.write(sent);
    const reported = (await ask(world, change)).quality;
    t.match(reported, quality);
    t.same(reported.reasons, quality.reasons ?? []);
  });
}

test('MEAS-01: a resize, a conflict and an out-of-range value keep the observed readings', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3660, (i) => ({ [CPU]: i === 122 ? 113 : 10 + (i % 2) })));
  await world.write(rows(0, () => ({ [CPU]: 50 })));
  const { series, quality } = await ask(world);
  t.same(series[0].points.at(-1), { timeUnix: at(0), value: (113 + 11) / 2 });
  t.match(quality.metrics, [{ reason: 'OUT_OF_RANGE' }], 'most limiting first');
  t.same(quality.reasons, ['OUT_OF_RANGE', 'CONFLICTING_SAMPLES']);
});

test('ERR-07: retired or missing telemetry is absent, neither zero nor a recovery', async (t) => {
  const world = await startRpcWorld(t);
  const crash = { state: 'CRASHED', stateReason: 'crashed', values: [] };
  await world.write(rows(3660, busy, (i) => (i < 61 ? {} : crash)));
  const metricIds = ['unexpected_stop', 'vm_running', 'cpu_utilization_pct'];
  const last = { startTimeUnix: at(60), metricIds };
  const { series } = await ask(world, last);
  const reported = series.map(({ metricId, points }: { metricId: string; points: object[] }) => [
    metricId,
    points,
  ]);
  const both = (value: number) => [60, 0].map((ago) => ({ timeUnix: at(ago), value }));
  t.same(
    reported,
    [
      ['unexpected_stop', both(1)],
      ['vm_running', both(0)],
    ],
    'use of the VM while it was down is not in the answer',
  );
});

test('the age of telemetry grows from its newest observation while no rows arrive', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3660, busy).slice(0, 62));
  await world.history.flush();
  const metricIds = ['telemetry_age_seconds'];
  const late = await ask(world, { metricIds, startTimeUnix: at(120) });
  const values = late.series[0].points.map(({ value }: { value: number }) => value);
  t.same(values, [1710, 1770, 1830]);
  t.match(late.quality, { state: 'STALE', lastObservedUnix: at(1830) });
  const before = await ask(world, {
    metricIds,
    startTimeUnix: at(7200),
    endTimeUnix: at(3600),
  });
  t.same(before.series[0].points, [
    { timeUnix: at(3660), value: 0 },
    { timeUnix: at(3600), value: 0 },
  ]);
});

test('MEAS-05: unreadable history is an error, neither empty nor zero', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3660, busy));
  await world.history.flush();
  const file = new Database(world.history.share.path);
  file.exec(
    "UPDATE chunks SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB)",
  );
  file.close();
  const request = { name: VM, metricIds: ['cpu_utilization_pct', 'vm_running'], stepSeconds: 60 };
  const range = { startTimeUnix: at(3600), endTimeUnix: at(0) };
  const answer = await world.call('QueryVMMonitoring', { ...request, ...range });
  t.match(answer, { status: 500, reason: 'INTERNAL' });
  t.notOk('series' in answer.body);
  t.match(world.lines.join(), /Chunk \d+/, 'the log names the chunk');
  const list = await world.call('ListVMMonitoring', { projectName: 'projects/demo' });
  t.match(
    list,
    { status: 200, body: { vms: [{ state: 'RUNNING' }] } },
    'values in memory are reported',
  );
});

test('MEAS-03: disk and network rates are the VM’s sum, then one series per device', async (t) => {
  const world = await startRpcWorld(t);
  const device = (name: string, i: number) => ({
    series: 'svc_vm_network_transmit_bytes_total',
    labels: { interface: name },
    value: i,
  });
  await world.write(
    rows(
      120,
      () => ({}),
      (i) => ({ values: [device('eth0', i * 300), device('eth1', i * 600)] }),
    ),
  );
  const request = { metricIds: ['network_transmit_bytes_per_second'], startTimeUnix: at(0) };
  const { series } = await ask(world, request);
  const point = (value: number) => [{ timeUnix: at(0), value }];
  const unit = 'bytes_per_second';
  t.match(series, [
    { labels: {}, unit, points: point(30) },
    { labels: { interface: 'eth0' }, unit, points: point(10) },
    { labels: { interface: 'eth1' }, unit, points: point(20) },
  ]);
});

test('SRC-19: REPORTED_ELSEWHERE: rows of a VM that another collector reports are rejected', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3660, busy));
  t.match(await ask(world), { quality: { state: 'LIVE', reasons: [] } });
  const { project, id } = { project: 'demo', id: VM.split('/').at(-1) ?? '' };
  const row = { vm: id, observedMs: START_MS, sequence: 1, boot: 'domain-1', vcpus: 2 };
  const { rejected } = await world.ingest.write({
    project,
    batchId: '',
    reach: { name: 'collectors/keys/other', datacenter: null, vm: null },
    rows: [{ ...row, state: 1, stateReason: '', series: [CPU], values: [1] }],
  });
  t.same(rejected, [{ row: 0, series: '', reason: 'REPORTED_ELSEWHERE' }]);
  t.match(await ask(world), {
    quality: {
      state: 'LIVE',
      reasons: ['REPORTED_ELSEWHERE'],
      metrics: [{ state: 'LIVE', reason: 'REPORTED_ELSEWHERE' }],
    },
  });
});
