/**
 * Answers over real history, compared with an oracle that visits every step and every pair of
 * observations: random rows with gaps, resets, resizes and intermittent devices, sent out of order
 * and partly twice. Also answers when only some of the metrics can be read.
 */
import * as fc from 'fast-check';
import { test } from 'tap';
import { HistoryError } from '../../sqlite/telemetry/history/history-error.ts';
import { noRows } from '../../sqlite/telemetry/history/rows.ts';
import { HistoryView } from '../../sqlite/telemetry/history/store/history-view.ts';
import {
  answerVmQuery,
  type VmAnswer,
  type VmHistory,
  type VmQuery,
} from '../../src/telemetry/query/vm/answer.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { BatchBuilder } from '../../streams/telemetry/samples/batch.ts';
import { openStore, PARTITION } from '../support/history-from-log.ts';
import { tries } from '../support/tries.ts';

const NOW = Date.UTC(2026, 0, 5, 12);
const CPU = 'svc_vm_cpu_seconds_total';
const VDA = 'svc_vm_disk_read_bytes_total{device="vda"}';
const VDB = 'svc_vm_disk_read_bytes_total{device="vdb"}';
const LOAD = 'svc_vm_load1';
const TOLERANCE = 90;

/** Times are seconds. */
interface Seen {
  readonly at: number;
  readonly boot: string;
  readonly vcpus: number;
  readonly values: Readonly<Record<string, number>>;
}

/** One step of the synthetic machine. */
const step = fc.record({
  after: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 60 }) },
    fc.integer({ min: 80, max: 400 }),
  ),
  busy: fc.double({ min: 0, max: 1, noNaN: true }),
  reset: fc.constantFrom('no', 'no', 'no', 'no', 'boot', 'silent'),
  vcpus: fc.constantFrom(0, 0, 0, 0, 1, 2, 4),
  bytes: fc.nat(100_000),
  vdb: fc.boolean(),
  hasCpu: fc.boolean(),
  load: fc.option(fc.double({ min: 0, max: 64, noNaN: true }), { nil: undefined }),
  resent: fc.boolean(),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const history = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 60 }),
  order: fc.infiniteStream(fc.nat()),
  range: fc.record({
    from: fc.integer({ min: 0, max: 6000 }),
    length: fc.integer({ min: 0, max: 6000 }),
    step: fc.integer({ min: 30, max: 900 }),
  }),
  flushed: fc.boolean(),
});

/** Rows of the machine, oldest first, beginning `BACK` seconds ago. */
function rowsOf(steps: readonly Step[]): Seen[] {
  let [at, vcpus, boot, cpu, vda, vdb] = [0, 2, 0, 1000, 0, 0];
  return steps.map((one) => {
    at += one.after;
    cpu += one.after * vcpus * one.busy;
    vda += one.bytes;
    vdb += one.bytes / 2;
    if (one.vcpus > 0) vcpus = one.vcpus;
    if (one.reset === 'boot') boot++;
    if (one.reset !== 'no') [cpu, vda, vdb] = [one.busy, one.bytes % 100, 0];
    const values = {
      ...(one.hasCpu ? { [CPU]: cpu } : {}),
      [VDA]: vda,
      ...(one.vdb ? { [VDB]: vdb } : {}),
      ...(one.load === undefined ? {} : { [LOAD]: one.load }),
    };
    return { at, boot: `boot-${boot}`, vcpus, values };
  });
}

type Points = [seconds: number, value: number][];
/** Contribution of an observation to its step. */
interface Share {
  readonly at: number;
  readonly numerator: number;
  readonly denominator: number;
}

/** Pairs of observations of the series with the counter's increase; none where it is unknown. */
function increases(rows: readonly Seen[], key: string): { a: Seen; b: Seen; rise: number }[] {
  const observed = rows.filter(({ values }) => key in values);
  return observed.slice(1).flatMap((b, i) => {
    const a = observed[i] as Seen;
    const [before = 0, after = 0] = [a.values[key], b.values[key]];
    if (b.at - a.at > TOLERANCE) return [];
    if (a.boot === b.boot) return after < before ? [] : [{ a, b, rise: after - before }];
    return after < before ? [{ a, b, rise: after }] : [];
  });
}

const cpuShares = (rows: readonly Seen[]): Share[] =>
  increases(rows, CPU)
    .filter(({ a, b }) => a.vcpus === b.vcpus)
    .map(({ a, b, rise }) => ({
      at: b.at,
      numerator: 100 * rise,
      denominator: (b.at - a.at) * b.vcpus,
    }));

const deviceShares = (rows: readonly Seen[], key: string): Share[] =>
  increases(rows, key).map(({ a, b, rise }) => ({
    at: b.at,
    numerator: rise,
    denominator: b.at - a.at,
  }));

/** The sum, only where each device in either row is known in both. vda is in every row. */
function sumShares(rows: readonly Seen[]): Share[] {
  const of = (key: string) => new Map(increases(rows, key).map((pair) => [pair.b, pair]));
  const [vda, vdb] = [of(VDA), of(VDB)];
  return [...vda.values()].flatMap(({ a, b, rise }) => {
    const share = { at: b.at, denominator: b.at - a.at };
    if (!(VDB in a.values) && !(VDB in b.values)) return [{ ...share, numerator: rise }];
    const other = vdb.get(b);
    return other?.a === a ? [{ ...share, numerator: rise + other.rise }] : [];
  });
}

const loadShares = (rows: readonly Seen[]): Share[] =>
  rows
    .filter(({ values }) => LOAD in values)
    .map(({ at, values }) => ({ at, numerator: values[LOAD] ?? 0, denominator: 1 }));

interface Grid {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

function points(shares: readonly Share[], { start, end, step: by }: Grid): Points {
  const reported: Points = [];
  for (let time = start; time <= end; time += by) {
    const inside = shares.filter(({ at }) => at > time - by && at <= time);
    const total = (of: 'numerator' | 'denominator') =>
      inside.reduce((sum, share) => sum + share[of], 0);
    if (total('denominator') > 0) reported.push([time, total('numerator') / total('denominator')]);
  }
  return reported;
}

/** Seconds since the newest row at or before each step, if there is one. */
function ages(rows: readonly Seen[], { start, end, step: by }: Grid): Points {
  const reported: Points = [];
  for (let time = start; time <= end; time += by) {
    const last = rows.findLast(({ at }) => at <= time);
    if (last) reported.push([time, time - last.at]);
  }
  return reported;
}

/** Parts of the range without a reading for longer than the tolerance. */
function gaps(shares: readonly Share[], { start, end, step: by }: Grid): [number, number][] {
  const inside = shares.map(({ at }) => at).filter((at) => at > start - by && at <= end);
  const edges = [start - by, ...inside, end];
  return edges
    .slice(1)
    .map((edge, i): [number, number] => [edges[i] ?? 0, edge])
    .filter(([from, to]) => to - from > TOLERANCE);
}

const ORIGIN = NOW - 86_400_000;
const ms = (seconds: number) => ORIGIN + seconds * 1000;
const seconds = (timeMs: number) => (timeMs - ORIGIN) / 1000;

function answerPoints(answer: VmAnswer, metricId: string, labels = ''): Points {
  const metric = answer.metrics.find((each) => each.metricId === metricId);
  const series = metric && 'series' in metric ? metric.series : [];
  const found = series.find((each) => each.labels === labels)?.points ?? [];
  return found.map(({ timeMs, value }) => [seconds(timeMs), value]);
}

/** Throws if they differ by more than rounding. */
function same(what: string, reported: Points, wanted: Points): void {
  if (isClose(reported, wanted)) return;
  throw new Error(`${what}: ${JSON.stringify(reported)} instead of ${JSON.stringify(wanted)}`);
}

function isClose(a: Points, b: Points): boolean {
  return (
    a.length === b.length &&
    a.every(([time, value], i) => {
      const [otherTime = 0, other = 0] = b[i] ?? [];
      return time === otherTime && Math.abs(value - other) <= 1e-9 * Math.max(1, Math.abs(other));
    })
  );
}

/** Slightly above 100 is a rounding error, and becomes 100. */
const rounded = (reported: Points): Points =>
  reported.map(([time, value]) => [time, value > 100 && value <= 100.5 ? 100 : value]);

const METRICS = [
  'cpu_utilization_pct',
  'disk_read_bytes_per_second',
  'load_1m',
  'telemetry_age_seconds',
];

function queryOf(vm: string, { start, end, step: by }: Grid): VmQuery {
  const range = { startMs: ms(start), endMs: ms(end), stepMs: by * 1000, retainedFromMs: 0 };
  const facts = { datacenter: 'live', expandedMonitoring: true, notedReasons: [] } as const;
  const withExtremes = false;
  return { project: 'demo', vm, metricIds: METRICS, withExtremes, range, nowMs: NOW, ...facts };
}

test('any history is answered step by step as the oracle computes it', async (t) => {
  const store = openStore({ folder: t.testdir(), clock: new VirtualClock(NOW) });
  const view = new HistoryView(store.share);
  const builder = new BatchBuilder();
  let vms = 0;
  let sequence = 0;
  const send = (vm: string, row: Seen): void => {
    builder.add({
      project: 'demo',
      vm,
      observedMs: ms(row.at),
      sequence: 0,
      boot: row.boot,
      vcpus: row.vcpus,
      state: 1,
      stateReason: '',
      series: Object.keys(row.values),
      values: Object.values(row.values),
    });
    store.append(builder.build(NOW), { partition: PARTITION, sequence: ++sequence });
  };
  await fc.assert(
    fc.asyncProperty(history, async ({ steps, order, range, flushed }) => {
      const vm = `vm-${vms++}`;
      const rows = rowsOf(steps);
      const shuffled = rows
        .map((row) => ({ row, place: order.next().value ?? 0 }))
        .sort((a, b) => a.place - b.place);
      for (const { row } of shuffled) send(vm, row);
      if (flushed) await store.flush();
      for (const [i, row] of rows.entries()) {
        // Resent with other values: the first ones stay.
        const values = Object.fromEntries(Object.entries(row.values).map(([key]) => [key, 7]));
        if (steps[i]?.resent) send(vm, { ...row, values });
      }
      const last = Math.floor(range.length / range.step) * range.step;
      const grid = { start: range.from, end: range.from + last, step: range.step };
      const answer = answerVmQuery(view, queryOf(vm, grid), () => false);
      const reported = (metricId: string, labels?: string) =>
        answerPoints(answer, metricId, labels);
      const rate = 'disk_read_bytes_per_second';
      same('cpu', reported('cpu_utilization_pct'), rounded(points(cpuShares(rows), grid)));
      same('sum', reported(rate), points(sumShares(rows), grid));
      for (const [labels, key] of [
        ['{device="vda"}', VDA],
        ['{device="vdb"}', VDB],
      ] as const) {
        same(labels, reported(rate, labels), points(deviceShares(rows, key), grid));
      }
      same('load', reported('load_1m'), points(loadShares(rows), grid));
      same('age', reported('telemetry_age_seconds'), ages(rows, grid));
      const load = answer.metrics[2];
      const reportedGaps = load && 'gaps' in load ? load.gaps : [];
      const gapPoints = reportedGaps.map(({ startMs, endMs }): [number, number] => [
        ...([seconds(startMs), seconds(endMs)] as const),
      ]);
      same('gaps', gapPoints, gaps(loadShares(rows), grid));
    }),
    {
      numRuns: tries(80),
      seed: 20_260_105,
      interruptAfterTimeLimit: 25_000,
      markInterruptAsFailure: true,
    },
  );
  t.equal(vms, tries(80), 'each history was answered');
  view.close();
  await store.close();
});

test('a metric that cannot be read is an ERROR beside the others, and named', async (t) => {
  const timesMs = Float64Array.from([NOW - 60_000, NOW - 30_000, NOW]);
  const zeros = { state: new Uint8Array(3), boot: new Uint32Array(3) };
  const columns = {
    ...noRows(),
    ...zeros,
    timesMs,
    vcpus: new Float64Array(3).fill(Number.NaN),
    stateReason: new Uint32Array(3),
    conflicted: new Uint8Array(3),
    series: new Map([[LOAD, Float64Array.from([1, 2, 3])]]),
  };
  const fails = (names: readonly string[] = []) => names.includes(CPU);
  const damaged: VmHistory = {
    read({ names }) {
      if (fails(names)) throw new HistoryError('DAMAGED', 'Chunk 7: malformed');
      return columns;
    },
    newestTime: () => NOW,
  };
  const range = { start: seconds(NOW) - 60, end: seconds(NOW), step: 30 };
  const answer = answerVmQuery(damaged, queryOf('vm-1', range), () => false);
  t.equal(answer.quality.state, 'ERROR');
  t.match(answer.quality.metrics, [
    { metricId: 'cpu_utilization_pct', state: 'ERROR', reason: 'READ_FAILED' },
    { metricId: 'disk_read_bytes_per_second', state: 'NO_DATA' },
    { metricId: 'load_1m', state: 'LIVE', reason: '' },
    { metricId: 'telemetry_age_seconds', state: 'LIVE' },
  ]);
  t.same(answer.failures, [{ metricId: 'cpu_utilization_pct', message: 'Chunk 7: malformed' }]);
  t.equal(answerPoints(answer, 'load_1m').length, 3);
  t.same(answerPoints(answer, 'cpu_utilization_pct'), [], 'not a point, least of all 0');
  const alone = { ...queryOf('vm-1', range), metricIds: ['cpu_utilization_pct'] };
  t.throws(() => answerVmQuery(damaged, alone, () => false), /Chunk 7/, 'none is left');
});
