/**
 * Metrics over a range: each point is what was observed in its step, weighted by what it was
 * observed over, and a step without an observation has none. Times are seconds.
 */
import fc from 'fast-check';
import t from 'tap';
import { EVALUATED_METRICS, metricCatalogue } from '../../streams/metrics/catalogue.ts';
import {
  type MetricQuery,
  type MetricRange,
  queryMetric,
  readFromMs,
  seriesNamesOf,
} from '../../streams/metrics/query.ts';
import type { VmColumns } from '../../streams/samples/columns.ts';

const CPU = 'svc_vm_cpu_seconds_total';

interface Row {
  readonly at: number;
  readonly vcpus?: number;
  readonly boot?: string;
  readonly [series: string]: number | string | undefined;
}

function columnsOf(rows: readonly Row[]): VmColumns {
  const boots = ['', ...new Set(rows.map(({ boot }) => boot ?? ''))];
  const keys = new Set(
    rows.flatMap((row) => Object.keys(row).filter((key) => key.startsWith('svc'))),
  );
  const column = (key: string) => Float64Array.from(rows, (row) => Number(row[key] ?? Number.NaN));
  return {
    timesMs: Float64Array.from(rows, ({ at }) => at * 1000),
    series: new Map([...keys].map((key) => [key, column(key)])),
    vcpus: Float64Array.from(rows, ({ vcpus }) => vcpus ?? Number.NaN),
    state: new Uint8Array(rows.length),
    boot: Uint32Array.from(rows, ({ boot }) => boots.indexOf(boot ?? '')),
    strings: boots,
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

t.test('the catalogue has every metric, each with its unit, series and limitation', (t) => {
  t.equal(metricCatalogue.size, 20);
  for (const [id, { metricId, promqlName, limitation, expanded, source }] of metricCatalogue) {
    t.equal(metricId, id);
    t.match(promqlName, /^svc_vm_/);
    t.match(limitation, /\.$/, `${id} says what it is not`);
    t.ok(!expanded || source === 'guest', `${id} comes from inside the guest if it is expanded`);
  }
  const timeDriven = [...metricCatalogue.keys()].filter((id) => !EVALUATED_METRICS.has(id));
  t.same(timeDriven, ['unexpected_stop', 'telemetry_age_seconds']);
  t.same(seriesNamesOf('filesystem_used_pct'), [
    'svc_vm_filesystem_used_bytes',
    'svc_vm_filesystem_size_bytes',
  ]);
  t.throws(() => seriesNamesOf('cpu'), new RangeError('Unknown metric cpu'));
  t.end();
});

t.test('a step of utilisation is cpu-seconds over interval x vCPUs observed then', (t) => {
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
  t.end();
});

t.test('a point covers the step that ends at it; a step without an observation has none', (t) => {
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
  t.equal(readFromMs({ startMs: 600_000, stepMs: 60_000 }), 450_000, 'a rate needs the row before');
  t.same(query('load_1m', []).series, [], 'no series without a point');
  t.end();
});

t.test('rows without the metric are a gap of their own kind', (t) => {
  const rows = [
    { at: 30, svc_vm_load1: 1 },
    { at: 120, svc_vm_memory_total_bytes: 8 },
    { at: 180, svc_vm_load1: 1 },
  ];
  t.same(query('load_1m', rows).gaps, [
    { startMs: 30_000, endMs: 180_000, reason: 'NOT_REPORTED' },
  ]);
  t.end();
});

t.test('memory, filesystems and running are what was reported', (t) => {
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
  const columns = { ...columnsOf([{ at: 60 }, { at: 120 }]), state: Uint8Array.from([3, 0]) };
  t.same(
    points(query('vm_running', [], { columns })),
    [[60, 0]],
    'STOPPED is 0, UNKNOWN is absent',
  );
  t.end();
});

t.test('percentages above 100 are kept and flagged, but for rounding', (t) => {
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
  const columns = { ...columnsOf(rows.slice(0, 1)), conflicts: 2 };
  t.same(query('cpu_utilization_pct', [], { columns }).flags, ['CONFLICTING_SAMPLES']);
  t.end();
});

t.test('a coarse step of a rate is the mean of what its fine steps say, weighted by time', (t) => {
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
  fc.assert(property, { seed: 20_261_121, numRuns: 300 });
  t.end();
});
