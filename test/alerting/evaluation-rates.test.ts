/**
 * Evaluation of counters and capacities, case by case: the value of an interval between two
 * observations, and when it has none. Times are seconds since the start of the scenario.
 */
import { test } from 'tap';
import { derive, inputsOf, newDerived } from '../../streams/telemetry/metrics/derive.ts';
import {
  cpuRule,
  EvaluationWorld,
  type ShortRow,
  START_MS,
  seconds,
} from '../support/evaluation-scenario.ts';

const VDA = 'svc_vm_disk_read_bytes_total{device="vda"}';
const VDB = 'svc_vm_disk_read_bytes_total{device="vdb"}';
const CPU_SECONDS = 'svc_vm_cpu_seconds_total';

const diskRule = cpuRule({
  sustainedMs: 0,
  metricId: 'disk_read_bytes_per_second',
  threshold: 100,
});

/** Value of the rule's metric at each row, as the evaluator sees it; null if there is none. */
function valuesAt(world: EvaluationWorld, rows: readonly ShortRow[]): (number | null)[] {
  return rows.map((row) => {
    world.rows([row]);
    const { lastObservedMs, lastValue } = world.instance();
    return lastObservedMs === START_MS + row.at * 1000 ? (lastValue ?? null) : null;
  });
}

function reads(at: number, vda: number, more: Partial<ShortRow> = {}): ShortRow {
  return { at, series: { [VDA]: vda }, ...more };
}

test('EVAL-10: a counter drop is a reset, never a negative rate or a spike', async (t) => {
  const unknown = new EvaluationWorld([diskRule]);
  const rows = [reads(0, 9000), reads(30, 9030), reads(60, 600), reads(90, 660)];
  const withoutBoot = rows.map((row) => ({ ...row, boot: '' }));
  t.same(valuesAt(unknown, withoutBoot), [null, 1, null, 2], 'unknown for that interval');
  t.same(unknown.edges, []);

  const booted = new EvaluationWorld([diskRule]);
  const after = [reads(60, 600, { boot: 'boot-2' }), reads(90, 660, { boot: 'boot-2' })];
  t.same(valuesAt(booted, [reads(0, 9000), reads(30, 9030), ...after]), [null, 1, 20, 2]);

  const grown = new EvaluationWorld([diskRule]);
  const ambiguous = [reads(0, 9000), reads(30, 90_000_000, { boot: 'boot-2' })];
  t.same(valuesAt(grown, ambiguous), [null, null], 'a boot without a drop may be either');
});

test('MEAS-12: an impossible reading neither breaches nor recovers, and is a gap when it lasts', async (t) => {
  const rule = cpuRule({ sustainedMs: 0, threshold: 90 });
  const cpu = (at: number, used: number): ShortRow => ({
    at,
    series: { [CPU_SECONDS]: used },
    vcpus: 2,
  });
  const dip = new EvaluationWorld([rule]);
  const rows = [cpu(0, 990), cpu(30, 996), cpu(60, 10), cpu(90, 1_000), cpu(120, 1_006)];
  t.same(valuesAt(dip, rows), [null, 10, null, null, 10], 'the dip and the return from it');
  t.same(dip.edges, [], '1650 % does not fire');

  const gauge = (at: number, pct: number): ShortRow => {
    return { at, series: { svc_vm_cpu_utilization_pct: pct } };
  };
  const kept = new EvaluationWorld([rule]);
  kept.tick(0);
  t.same(kept.rows([gauge(0, 113), gauge(30, -5)]), ['fired at 0 since 0'], '-5 does not recover');
  t.same(kept.rows([gauge(60, 126)]), []);
  const lasting = [90, 120, 150, 180].map((at) => gauge(at, 400));
  t.same(kept.rows(lasting), []);
  const ticked = [30, 60, 90, 120, 150, 180].flatMap((at) => kept.tick(at));
  t.same(ticked, ['dataMissing since 60'], 'it is missing data after 90 s');
  t.same(
    kept
      .rows([gauge(210, 5)])
      .at(-1)
      ?.split(' ')[0],
    'recovered',
    'a real reading recovers',
  );
});

test('EVAL-11: the first sample of a counter has no rate, which is not 0', async (t) => {
  const low = new EvaluationWorld([{ ...diskRule, operator: 'LESS_THAN' }]);
  t.same(low.rows([reads(0, 1e9)]), [], 'a rate of 0 would fire');
  t.match(low.instance(), { state: 'IDLE', dataState: 'MISSING' });
  t.same(low.rows([reads(30, 1e9)]), ['fired at 30 since 30'], 'an observed 0 is a rate');
});

test('EVAL-12: no rate is computed across a gap longer than the tolerance', async (t) => {
  const world = new EvaluationWorld([diskRule]);
  const rows = [reads(0, 0), reads(90, 90), reads(181, 1e9), reads(211, 1e9 + 30)];
  t.same(valuesAt(world, rows), [null, 1, null, 1], 'averaging would fake a breach');
  t.same(world.edges, []);
});

function bothRead(at: number, vda: number, vdb: number, more: Partial<ShortRow> = {}): ShortRow {
  return { at, series: { [VDA]: vda, [VDB]: vdb }, ...more };
}

test('EVAL-12: rates are computed per device and summed, and a detach or attach costs one interval', async (t) => {
  const world = new EvaluationWorld([diskRule]);
  const rows = [bothRead(0, 0, 5000), bothRead(30, 30, 5060), reads(60, 60), reads(90, 90)];
  t.same(
    valuesAt(world, rows),
    [null, 3, null, 1],
    'its rate since the last reading before the detach is unknown',
  );
  const attached = [bothRead(120, 120, 9000), bothRead(150, 150, 9030)];
  t.same(valuesAt(world, attached), [null, 2], 'after a new attach it has no rate yet');
  const only = (at: number, vdb: number): ShortRow => ({ at, series: { [VDB]: vdb } });
  t.same(valuesAt(world, [only(180, 9060), only(210, 9090)]), [null, 1]);
});

/** Rates of rows of one layout, as queries over columns see them; NaN for a missing value. */
function derivedRates(...rows: readonly (readonly number[])[]): (number | null)[] {
  const derivation = { from: 'rate', series: 'svc_vm_disk_read_bytes_total' } as const;
  const [input] = inputsOf(derivation, [VDA, VDB]);
  if (!input) throw new Error('The layout lacks the metric');
  const out = newDerived();
  const observed = rows.map((values, i) => ({
    row: { observedMs: START_MS + i * 30_000, boot: 'boot-1', vcpus: 1, state: 1, values },
    input,
  }));
  return observed.map((after, i) => {
    const value = derive(derivation, observed[i - 1], after, out);
    return Number.isNaN(value) ? null : value;
  });
}

test('EVAL-12: an unknown increase of one device is not zero and recovers nothing', async (t) => {
  const busy = [bothRead(0, 0, 7), bothRead(30, 300_000, 7)];
  const reset = new EvaluationWorld([diskRule]);
  t.same(reset.rows(busy), ['fired at 30 since 30']);
  t.same(reset.rows([bothRead(60, 50, 7)]), [], 'vda dropped under the same boot id, vdb idles');
  t.same(reset.rows([bothRead(90, 80, 7)]), ['recovered at 90'], 'an observed low rate recovers');
  const absent = new EvaluationWorld([diskRule]);
  absent.rows(busy);
  const without = { at: 60, series: { [VDB]: 7 } };
  t.same(absent.rows([without, bothRead(90, 900_000, 7)]), [], 'vda is missing in one row');
  t.same(absent.rows([bothRead(120, 900_030, 7)]), ['recovered at 120']);
  t.same(derivedRates([0, 7], [Number.NaN, 7], [30, 7], [60, 7]), [null, null, null, 1]);
});

test('EVAL-13: non-finite values are missing, and only rounding is clamped', async (t) => {
  const memory = new EvaluationWorld([
    cpuRule({ sustainedMs: 0, metricId: 'memory_used_pct', operator: 'NOT_EQUAL', threshold: 50 }),
  ]);
  const pair = (at: number, total: number, free: number): ShortRow => ({
    at,
    series: { svc_vm_memory_total_bytes: total, svc_vm_memory_free_bytes: free },
  });
  t.same(valuesAt(memory, [pair(0, 0, 0), pair(30, 8, 9), pair(60, 8, 4)]), [null, null, 50]);
  t.same(memory.edges, [], '0/0 and more free than total are not values');

  const cpu = new EvaluationWorld([cpuRule({ sustainedMs: 0, threshold: 100 })]);
  const used = (at: number, total: number): ShortRow => ({
    at,
    vcpus: 2,
    series: { [CPU_SECONDS]: total },
  });
  const rows = [used(0, 0), used(30, 60.2), used(60, 60.2 + 60.4), used(90, 60.2 + 60.4 + 67.8)];
  const percents = valuesAt(cpu, rows).map((value) => value && Math.round(value * 10) / 10);
  t.same(percents, [null, 100, 100.7, 113], '100.3 becomes 100; larger values are unchanged');
  t.equal(cpu.edges.length, 1, '100 is not above 100');
});

test('EVAL-14: the interval of a vCPU change has no utilisation', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 120_000 })]);
  let total = 0;
  const lines = seconds(0, 180).flatMap((at) => {
    const vcpus = at < 90 ? 1 : 2;
    total += 0.95 * 30 * (at === 90 ? 1 : vcpus);
    return world.rows([{ at, vcpus, series: { [CPU_SECONDS]: total } }]);
  });
  t.same(lines, ['fired at 150 since 30'], 'the run continues: it breaches under both');
  const idle = world.rows([{ at: 210, vcpus: 4, series: { [CPU_SECONDS]: total } }]);
  t.same(idle, [], 'the unknown interval is not a good sample');
  const good = world.rows([{ at: 240, vcpus: 4, series: { [CPU_SECONDS]: total + 1 } }]);
  t.same(good, ['recovered at 240']);
});
