/**
 * Metrics over a range: each point summarises the observations of its step, weighted by the time
 * that they cover. A step without an observation has no point. Times are seconds.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { EVALUATED_METRICS, metricCatalogue } from '../../streams/telemetry/metrics/catalogue.ts';
import { frozenStretches } from '../../streams/telemetry/metrics/frozen.ts';
import {
  type MetricQuery,
  type MetricRange,
  queryMetric,
  readFromMs,
  seriesNamesOf,
} from '../../streams/telemetry/metrics/query.ts';
import { VM_STATES, type VmState } from '../../streams/telemetry/samples/batch.ts';
import type { VmColumns } from '../../streams/telemetry/samples/columns.ts';
import { tries } from '../support/tries.ts';

const CPU = 'svc_vm_cpu_seconds_total';

interface Row {
  readonly at: number;
  readonly vcpus?: number;
  readonly boot?: string;
  readonly state?: VmState;
  readonly reason?: string;
  readonly [series: string]: number | string | undefined;
}

function columnsOf(rows: readonly Row[]): VmColumns {
  const strings = ['', ...new Set(rows.flatMap(({ boot, reason }) => [boot ?? '', reason ?? '']))];
  const keys = new Set(
    rows.flatMap((row) => Object.keys(row).filter((key) => key.startsWith('svc'))),
  );
  const column = (key: string) => Float64Array.from(rows, (row) => Number(row[key] ?? Number.NaN));
  return {
    timesMs: Float64Array.from(rows, ({ at }) => at * 1000),
    series: new Map([...keys].map((key) => [key, column(key)])),
    vcpus: Float64Array.from(rows, ({ vcpus }) => vcpus ?? Number.NaN),
    state: Uint8Array.from(rows, ({ state }) => VM_STATES.indexOf(state ?? 'UNKNOWN')),
    boot: Uint32Array.from(rows, ({ boot }) => strings.indexOf(boot ?? '')),
    stateReason: Uint32Array.from(rows, ({ reason }) => strings.indexOf(reason ?? '')),
    strings,
    conflicted: new Uint8Array(rows.length),
    conflicts: 0,
  };
}

function query(
  metricId: string,
  rows: readonly Row[],
  range: Partial<MetricQuery> = {},
): MetricRange {
  const columns = columnsOf(rows);
  const defaults = { startMs: 60_000, endMs: 240_000, stepMs: 60_000 };
  return queryMetric({ columns, metricId, ...defaults, ...range });
}

/** Points of the only series as [seconds, value]. */
function points({ series }: MetricRange): [number, number][] {
  return (series[0]?.points ?? []).map(({ timeMs, value }) => [timeMs / 1000, value]);
}

test('the catalogue has every metric, each with its unit, series and limitation', async (t) => {
  t.equal(metricCatalogue.size, 20);
  for (const [id, { metricId, promqlName, limitation, expanded, source }] of metricCatalogue) {
    t.equal(metricId, id);
    t.match(promqlName, /^svc_vm_/);
    t.match(limitation, /\.$/, `${id} states its limitation`);
    t.ok(!expanded || source === 'guest', `${id} comes from inside the guest if it is expanded`);
  }
  const unwatched = [...metricCatalogue.keys()].filter((id) => !EVALUATED_METRICS.has(id));
  t.same(unwatched, [], 'rules can use each of them');
  t.same(seriesNamesOf('filesystem_used_pct'), [
    'svc_vm_filesystem_used_bytes',
    'svc_vm_filesystem_size_bytes',
    'svc_vm_reading_absent',
  ]);
  t.throws(() => seriesNamesOf('cpu'), new RangeError('Unknown metric cpu'));
});

test('MEAS-01: utilisation is CPU seconds over the interval times the vCPUs observed in it', async (t) => {
  const rows = [
    { at: 0, vcpus: 1, [CPU]: 0 },
    { at: 30, vcpus: 1, [CPU]: 30 },
    { at: 60, vcpus: 1, [CPU]: 30 },
    { at: 90, vcpus: 4, [CPU]: 50 },
    { at: 120, vcpus: 4, [CPU]: 80 },
    { at: 210, vcpus: 4, [CPU]: 440 },
  ];
  const range = query('cpu_utilization_pct', rows);
  t.same(points(range), [
    [60, 50],
    [120, 25],
    [240, 100],
  ]);
  t.same(range.flags, ['CAPACITY_CHANGED'], 'a resize has an interval without a value');
  t.equal(range.observedSamples, 4);
  t.equal(range.expectedSamples, 8);
  t.equal(range.lastObservedMs, 210_000);
});

test('a point covers the step that ends at it; a step without an observation has none', async (t) => {
  const used = 'svc_vm_load1';
  const rows = [
    { at: 1, [used]: 1 },
    { at: 60, [used]: 3 },
    { at: 61, [used]: 10 },
    { at: 240, [used]: 0 },
    { at: 241, [used]: 99 },
  ];
  const range = query('load_1m', rows);
  t.same(points(range), [
    [60, 2],
    [120, 10],
    [240, 0],
  ]);
  t.same(range.gaps, [{ startMs: 61_000, endMs: 240_000, reason: 'NO_SAMPLES' }]);
  t.equal(
    readFromMs({ startMs: 600_000, stepMs: 60_000 }),
    450_000,
    'a rate needs the previous row',
  );
  t.same(query('load_1m', []).series, [], 'no series without a point');
});

test('rows without the metric are a separate kind of gap', async (t) => {
  const rows = [
    { at: 30, svc_vm_load1: 1 },
    { at: 120, svc_vm_memory_total_bytes: 8 },
    { at: 180, svc_vm_load1: 1 },
  ];
  t.same(query('load_1m', rows).gaps, [
    { startMs: 30_000, endMs: 180_000, reason: 'NOT_REPORTED' },
  ]);
});

test('memory, filesystems and running are returned as reported', async (t) => {
  const total = 'svc_vm_memory_total_bytes';
  const memory = [
    { at: 60, [total]: 100, svc_vm_memory_free_bytes: 40, svc_vm_memory_used_bytes: 1 },
    { at: 120, [total]: 100, svc_vm_memory_used_bytes: 30 },
    { at: 180, [total]: 100 },
    { at: 240, [total]: 100, svc_vm_memory_free_bytes: 101 },
  ];
  const used = [
    [60, 60],
    [120, 30],
  ];
  t.same(points(query('memory_used_bytes', memory)), used, 'total - free, else as reported');
  t.same(points(query('memory_used_pct', memory)), used);
  const mounts = query('filesystem_used_pct', [
    {
      at: 60,
      'svc_vm_filesystem_size_bytes{mountpoint="/"}': 50,
      'svc_vm_filesystem_used_bytes{mountpoint="/"}': 10,
      'svc_vm_filesystem_size_bytes{mountpoint="/empty"}': 0,
      'svc_vm_filesystem_used_bytes{mountpoint="/empty"}': 0,
    },
  ]);
  t.match(mounts.series, [
    { labels: '{mountpoint="/"}', unit: 'percent', points: [{ value: 20 }] },
  ]);
  t.equal(mounts.series.length, 1, '0/0 is missing');
  const states: Row[] = [{ at: 60, state: 'STOPPED' }, { at: 120 }];
  t.same(points(query('vm_running', states)), [[60, 0]], 'STOPPED is 0, UNKNOWN is absent');
});

test('an undeclared stop is unexpected: crashed, failed, destroyed', async (t) => {
  const rows: Row[] = [
    { at: 60, state: 'RUNNING', reason: 'crashed' },
    { at: 120, state: 'STOPPED', reason: 'destroyed' },
    { at: 180, state: 'STOPPED', reason: 'shutdown' },
    { at: 240, state: 'CRASHED', reason: 'panicked' },
    { at: 300, state: 'PAUSED', reason: 'user' },
    { at: 360, state: 'PAUSED', reason: 'crashed' },
    { at: 420, reason: 'destroyed' },
    { at: 480, state: 'STOPPED', reason: '' },
    ...['unknown', 'daemon', 'from_snapshot', 'shutdown'].map((reason, i) => {
      return { at: 540 + 60 * i, state: 'STOPPED' as const, reason };
    }),
    ...['ioerror', 'watchdog', 'postcopy_failed', 'api_error', '', 'suspended'].map((reason, i) => {
      return { at: 780 + 60 * i, state: 'PAUSED' as const, reason };
    }),
  ];
  t.same(points(query('unexpected_stop', rows, { endMs: 1080_000 })), [
    [60, 0],
    [120, 1],
    [180, 0],
    [240, 1],
    [300, 0],
    [360, 1],
    [720, 0],
    [780, 1],
    [840, 1],
    [900, 1],
    [960, 1],
    [1080, 0],
  ]);
  const [half] = points(query('unexpected_stop', rows, { stepMs: 120_000, startMs: 120_000 }));
  t.same(half, [120, 0.5], 'a coarser step holds the share of its observations');
});

test('telemetry has the age of its newest observation, and none before the first', async (t) => {
  const rows: Row[] = [{ at: 100 }, { at: 130.5, svc_vm_load1: 1 }, { at: 200 }];
  const range = query('telemetry_age_seconds', rows, { endMs: 300_000 });
  const ages: [number, number][] = [
    [120, 20],
    [180, 49.5],
    [240, 40],
    [300, 100],
  ];
  t.same(points(range), ages, 'also in steps without an observation, whose age it measures');
  t.equal(range.observedSamples, 3);
  const known = { endMs: 120_000, lastBeforeMs: 0 };
  t.same(points(query('telemetry_age_seconds', rows, known))[0], [60, 60]);
  t.same(query('telemetry_age_seconds', []).series, [], 'never observed: no age, and not 0');
});

test('a rate is returned as the VM’s sum and as a series for each device', async (t) => {
  const [vda, vdb] = ['vda', 'vdb'].map((d) => `svc_vm_disk_read_bytes_total{device="${d}"}`);
  const rows: Row[] = [
    { at: 0, [`${vda}`]: 0, [`${vdb}`]: 100 },
    { at: 60, [`${vda}`]: 60, [`${vdb}`]: 700 },
    { at: 120, [`${vda}`]: 120 },
    { at: 180, [`${vda}`]: 180 },
  ];
  const { series } = query('disk_read_bytes_per_second', rows);
  const reported = series.map(({ labels, points: of }) => [labels, of.map(({ value }) => value)]);
  t.same(reported, [
    ['', [11, 1]],
    ['{device="vda"}', [1, 1, 1]],
    ['{device="vdb"}', [10]],
  ]);
});

test('a utilization from the source is weighted by its interval and vCPUs', async (t) => {
  const ready = 'svc_vm_cpu_utilization_pct';
  const rows: Row[] = [
    { at: 30, vcpus: 1, [ready]: 80 },
    { at: 60, vcpus: 1, [ready]: 80 },
    { at: 90, vcpus: 4, [ready]: 20.1 },
    { at: 120, vcpus: 4, [ready]: 20.1 },
  ];
  const range = { startMs: 120_000, endMs: 120_000, stepMs: 120_000 };
  const [point] = points(query('cpu_utilization_pct', rows, range));
  t.equal(point?.[1], (80 * 60 + 20.1 * 120) / 180);
  const { series, flags } = query('cpu_utilization_pct', rows, { stepMs: 30_000 });
  t.same(
    series[0]?.points.map(({ timeMs, value }) => [timeMs / 1000, value]),
    [
      [60, 80],
      [120, 20.1],
    ],
    'a single reading is returned as read, but not across a change of vCPUs',
  );
  t.same(flags, ['CAPACITY_CHANGED']);
});

test('a gap consists of no rows, a VM that is off, or rows without the metric', async (t) => {
  const reasons = (rows: Row[]) => query('load_1m', rows).gaps.map(({ reason }) => reason);
  t.same(reasons([]), ['NO_SAMPLES']);
  t.same(reasons([{ at: 60, state: 'STOPPED' }]), ['NOT_RUNNING']);
  t.same(
    reasons([
      { at: 60, state: 'CRASHED' },
      { at: 90, state: 'RUNNING' },
    ]),
    ['NOT_REPORTED'],
  );
});

test('EVAL-23: a running VM is FROZEN after an hour of unchanged rows', async (t) => {
  const frozenRows = (seconds: number, more: (at: number) => object = () => ({})): Row[] =>
    Array.from({ length: seconds / 30 + 1 }, (_, i) => {
      const at = i * 30;
      return { at, state: 'RUNNING', svc_vm_load1: 1, [CPU]: 7, ...more(at) };
    });
  const stretches = (rows: Row[]) => frozenStretches(columnsOf(rows));
  t.same(stretches(frozenRows(3570)), []);
  t.same(stretches(frozenRows(3600)), [{ startMs: 0, endMs: 3_600_000 }]);
  t.same(stretches(frozenRows(3600, (at) => (at === 1800 ? { [CPU]: 8 } : {}))), [], 'one moves');
  t.same(stretches(frozenRows(3600, () => ({ state: 'STOPPED' }))), [], 'it is off');
  t.same(stretches(frozenRows(3600).filter(({ at }) => at < 300 || at > 390)), [], 'silence');
  const turns = frozenRows(3660, (at) => (at % 60 === 0 ? { [CPU]: undefined } : {}));
  t.equal(stretches(turns).length, 1, 'sources that take turns');
  const inside = frozenRows(3660).map((row, i): Row => {
    const { state: _, ...guest } = row;
    return i % 2 === 0 ? row : guest;
  });
  t.equal(stretches(inside).length, 1, 'one of which reports no state');
  const bare = frozenRows(3600).map(({ at }): Row => ({ at, state: 'RUNNING' }));
  t.same(stretches(bare), [], 'rows without a reading have no frozen reading');
});

test('percentages above 100 are kept and flagged, except rounding errors', async (t) => {
  const rows = [
    { at: 60, svc_vm_cpu_utilization_pct: 100.3 },
    { at: 120, svc_vm_cpu_utilization_pct: 113 },
  ];
  const range = query('cpu_utilization_pct', rows);
  t.same(points(range), [
    [60, 100],
    [120, 113],
  ]);
  t.same(range.flags, ['OUT_OF_RANGE']);
  t.same(query('cpu_utilization_pct', rows.slice(0, 1)).flags, []);
  const first = columnsOf(rows.slice(0, 1));
  const columns = { ...first, conflicts: 1, conflicted: Uint8Array.from([1]) };
  t.same(query('cpu_utilization_pct', [], { columns }).flags, ['CONFLICTING_SAMPLES']);
  const later = { columns, startMs: 120_000 + 60_000 };
  t.same(query('cpu_utilization_pct', [], later).flags, [], 'earlier ones are not reported');
});

const VDA = 'svc_vm_disk_read_bytes_total{device="vda"}';
const ROOT = '{mountpoint="/"}';
const USED = `svc_vm_filesystem_used_bytes${ROOT}`;
const SIZE = `svc_vm_filesystem_size_bytes${ROOT}`;
const MEMORY = { total: 'svc_vm_memory_total_bytes', used: 'svc_vm_memory_used_bytes' };

/** Two rows half a minute apart, and the value of the second. */
const judged: readonly {
  readonly metric: string;
  readonly row: Readonly<Record<string, number>>;
  readonly before?: Readonly<Record<string, number>>;
  readonly value?: number;
  readonly impossible?: number;
}[] = [
  { metric: 'cpu_utilization_pct', row: { svc_vm_cpu_utilization_pct: 126 }, value: 126 },
  { metric: 'cpu_utilization_pct', row: { svc_vm_cpu_utilization_pct: 200 }, value: 200 },
  { metric: 'cpu_utilization_pct', row: { svc_vm_cpu_utilization_pct: 201 }, impossible: 201 },
  { metric: 'cpu_utilization_pct', row: { svc_vm_cpu_utilization_pct: -1 }, impossible: -1 },
  { metric: 'cpu_utilization_pct', before: { [CPU]: 0 }, row: { [CPU]: 120 }, value: 200 },
  { metric: 'cpu_utilization_pct', before: { [CPU]: 0 }, row: { [CPU]: 990 }, impossible: 1650 },
  { metric: 'cpu_utilization_pct', before: { [CPU]: -9 }, row: { [CPU]: 21 }, impossible: 50 },
  { metric: 'memory_used_bytes', row: { [MEMORY.total]: 10, [MEMORY.used]: 20 }, value: 20 },
  { metric: 'memory_used_bytes', row: { [MEMORY.total]: 10, [MEMORY.used]: 21 }, impossible: 21 },
  { metric: 'memory_used_bytes', row: { [MEMORY.used]: 21 }, value: 21 },
  { metric: 'memory_used_pct', row: { [MEMORY.total]: 10, [MEMORY.used]: 11 }, value: 110 },
  { metric: 'memory_used_pct', row: { [MEMORY.total]: 10, [MEMORY.used]: 30 }, impossible: 300 },
  {
    metric: 'memory_used_bytes',
    impossible: -2,
    row: { [MEMORY.total]: 10, svc_vm_memory_free_bytes: 12 },
  },
  { metric: 'memory_total_bytes', row: { [MEMORY.total]: -1 }, impossible: -1 },
  { metric: 'filesystem_used_pct', row: { [USED]: 1004, [SIZE]: 1000 }, value: 100.4 },
  { metric: 'filesystem_used_pct', row: { [USED]: 11, [SIZE]: 10 }, impossible: 110 },
  { metric: 'filesystem_used_bytes', row: { [USED]: 11, [SIZE]: 10 }, impossible: 11 },
  { metric: 'filesystem_used_bytes', row: { [USED]: 11 }, value: 11 },
  { metric: 'filesystem_size_bytes', row: { [SIZE]: -10 }, impossible: -10 },
  { metric: 'load_1m', row: { svc_vm_load1: -0.1 }, impossible: -0.1 },
  { metric: 'vm_running', row: { svc_vm_running: 2 }, impossible: 2 },
  {
    metric: 'disk_read_bytes_per_second',
    before: { [VDA]: 0 },
    row: { [VDA]: 2 ** 63 },
    impossible: 2 ** 63 / 30,
  },
  {
    metric: 'disk_read_bytes_per_second',
    before: { [VDA]: 0 },
    row: { [VDA]: 3e15 },
    value: 1e14,
  },
];

test('MEAS-12: an impossible value is not a point, and is reported with its kind', async (t) => {
  for (const { metric, row, before, value, impossible } of judged) {
    const rows = [
      ...(before ? [{ at: 90, vcpus: 2, ...before }] : []),
      { at: 120, vcpus: 2, ...row },
    ];
    const range = query(metric, rows);
    const name = `${metric} of ${JSON.stringify(row)}`;
    t.same(points(range), value === undefined ? [] : [[120, value]], name);
    const [found] = range.impossible;
    t.equal(found?.value, impossible, name);
    t.equal(range.flags.includes('IMPOSSIBLE'), impossible !== undefined, name);
  }
});

test('MEAS-12: an impossible value that lasts is a gap with that reason', async (t) => {
  const rows = [0, 30, 60, 90, 120, 150, 180, 210, 240].map((at) => {
    return { at, svc_vm_cpu_utilization_pct: at >= 90 && at <= 180 ? 1_650 : 50 };
  });
  const range = query('cpu_utilization_pct', rows);
  t.match(range.gaps, [{ startMs: 60_000, endMs: 210_000, reason: 'IMPOSSIBLE' }]);
  t.equal(range.impossible.length, 4);
  const once = rows.map((row) => (row.at === 90 ? row : { ...row, svc_vm_cpu_utilization_pct: 5 }));
  t.match(query('cpu_utilization_pct', once), { gaps: { length: 0 }, flags: ['IMPOSSIBLE'] });
});

test('MEAS-11: a gap has the cause that its rows name, the newest of several', async (t) => {
  const absent = (cause: string) => `svc_vm_reading_absent{cause="${cause}",reading="memory"}`;
  const [first, second] = [absent('MEMORY_NOT_POLLED'), absent('CLOCKS_APART')];
  const rows = [30, 60, 90, 120, 150, 180, 210, 240].map((at) => {
    return { at, state: 'RUNNING' as const, [at < 120 ? first : second]: 1 };
  });
  const { gaps, absentNow } = query('memory_used_bytes', rows);
  t.match(gaps, [{ reason: 'CLOCKS_APART' }]);
  t.equal(absentNow, 'CLOCKS_APART');
  t.match(query('cpu_utilization_pct', rows).gaps, [{ reason: 'NOT_REPORTED' }], 'of memory alone');
  const back = [...rows, { at: 241, [MEMORY.total]: 4, [MEMORY.used]: 2 }];
  t.equal(query('memory_used_bytes', back, { endMs: 300_000 }).absentNow, undefined);
});

test('a coarse step of a rate is the time-weighted mean of its fine steps', async () => {
  const reads = 'svc_vm_disk_read_bytes_total{device="vda"}';
  const row = fc.record({ after: fc.integer({ min: 1, max: 90 }), more: fc.nat(1_000) });
  const property = fc.property(fc.array(row, { minLength: 2, maxLength: 40 }), (made) => {
    let at = 0;
    let total = 0;
    const rows = made.map(({ after, more }) => {
      at += after;
      total += more;
      return { at, [reads]: total };
    });
    const first = rows[0];
    const range = { startMs: at * 1000, endMs: at * 1000, stepMs: at * 1000 };
    const [point] = points(query('disk_read_bytes_per_second', rows, range));
    const increase = total - Number(first?.[reads]);
    return Math.abs((point?.[1] ?? 0) - increase / (at - (first?.at ?? 0))) < 1e-6;
  });
  fc.assert(property, { seed: 20_261_121, numRuns: tries(300) });
});
