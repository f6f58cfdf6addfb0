/**
 * Previews against live evaluation: the same samples go row by row through the live fold and into a
 * real history, from which a preview reads them. Both must report the same firings, for every kind
 * of metric and over arbitrary histories: gaps, reboots, resizes, devices and mounts that appear
 * and disappear. The few cases after the property define where a window begins.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { HistoryView } from '../../sqlite/telemetry/history/store/history-view.ts';
import type { History } from '../../sqlite/telemetry/history/store/store.ts';
import {
  type PreviewedFiring,
  previewFromMs,
  previewVm,
  type VmPreview,
} from '../../streams/alerting/evaluation/preview.ts';
import type { EvaluationRule } from '../../streams/telemetry/entry.ts';
import { seriesNamesOf } from '../../streams/telemetry/metrics/query.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import { rowBatches } from '../../streams/telemetry/samples/row-batches.ts';
import {
  batchOf,
  cpuRule,
  EvaluationWorld,
  PROJECT,
  type ShortRow,
  START_MS,
  seconds,
} from '../support/evaluation-scenario.ts';
import { openStore, PARTITION } from '../support/history-from-log.ts';
import { occurrences, tries } from '../support/tries.ts';

const OPTIONS = { seed: 20_261_121, numRuns: tries(1_500) };
const CPU_SECONDS = 'svc_vm_cpu_seconds_total';

/** Level of a sampling interval; `absent` if the row has no such reading. */
type Level = 'high' | 'middle' | 'low' | 'absent';

interface Step {
  readonly intervals: number;
  readonly jitter: number;
  /** Levels of two devices or mounts; a metric of the VM uses the first. */
  readonly levels: readonly [Level, Level];
  readonly boots: boolean;
  /** Whether a counter restarts. */
  readonly resets: boolean;
  readonly vcpus: number;
  /** Power state that the hypervisor reports; index into `VM_STATES`. */
  readonly power: number;
}

const level = fc.constantFrom<Level>('high', 'high', 'high', 'high', 'middle', 'low', 'absent');
const rarely = fc.nat(15).map((n) => n === 0);
const step: fc.Arbitrary<Step> = fc.record({
  intervals: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 12),
  jitter: fc.integer({ min: 0, max: 3 }),
  levels: fc.tuple(level, level),
  boots: rarely,
  resets: rarely,
  vcpus: fc.constantFrom(2, 2, 2, 2, 2, 2, 2, 4),
  power: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2, 3, 4),
});

const durations = fc.record({
  sustainedMs: fc.constantFrom(0, 60_000, 120_000, 300_000),
  recoveryMs: fc.constantFrom(0, 0, 60_000),
  hasRecoveryThreshold: fc.boolean(),
});

/** Readings of a metric, and a rule over them: above 90 is high, above 40 middle. */
interface Kind {
  readonly metricId: string;
  readonly threshold?: number;
  readonly operator?: EvaluationRule['operator'];
  /** Set if the metric is the VM state that the hypervisor reports. */
  readonly reportsState?: true;
  readonly series: (step: Step, counters: Counters) => Record<string, number>;
}

const PERCENT = { high: 95, middle: 70, low: 10 } as const;

/** Counters of two devices and of the CPU, increased by each interval. */
class Counters {
  readonly #values = new Map<string, number>();

  add(name: string, amount: number, resets: boolean): number {
    const next = (resets ? 0 : (this.#values.get(name) ?? 1_000)) + amount;
    this.#values.set(name, next);
    return next;
  }
}

/** One entry per label set that has a reading. */
function each(
  { levels }: Step,
  entry: (index: number, percent: number) => Record<string, number>,
): Record<string, number> {
  const present = levels.map((one, i) => (one === 'absent' ? {} : entry(i, PERCENT[one])));
  return Object.assign({}, ...present);
}

function only(step: Step, entry: (percent: number) => Record<string, number>) {
  return each({ ...step, levels: [step.levels[0], 'absent'] }, (_, percent) => entry(percent));
}

const kinds: readonly Kind[] = [
  {
    metricId: 'cpu_utilization_pct',
    series: (one) => only(one, (percent) => ({ svc_vm_cpu_utilization_pct: percent })),
  },
  {
    metricId: 'cpu_utilization_pct',
    series: (one, counters) =>
      only(one, (percent) => {
        const amount = (percent / 100) * one.vcpus * 30 * one.intervals;
        return { [CPU_SECONDS]: counters.add('cpu', amount, one.resets || one.boots) };
      }),
  },
  {
    metricId: 'disk_read_bytes_per_second',
    threshold: 100,
    series: (one, counters) =>
      each(one, (i, percent) => ({
        [`svc_vm_disk_read_bytes_total{device="vd${i}"}`]: counters.add(
          `vd${i}`,
          percent * 30 * one.intervals,
          one.resets || one.boots,
        ),
      })),
  },
  {
    metricId: 'filesystem_used_pct',
    series: (one) =>
      each(one, (i, percent) => ({
        [`svc_vm_filesystem_used_bytes{mountpoint="/${i}"}`]: percent * 1e6,
        ...(one.resets ? {} : { [`svc_vm_filesystem_size_bytes{mountpoint="/${i}"}`]: 1e8 }),
      })),
  },
  {
    metricId: 'memory_used_pct',
    series: (one) =>
      only(one, (percent) =>
        one.resets
          ? { svc_vm_memory_free_bytes: 1e9 }
          : { svc_vm_memory_total_bytes: 1e9, svc_vm_memory_free_bytes: (100 - percent) * 1e7 },
      ),
  },
  {
    metricId: 'vm_running',
    operator: 'LESS_THAN',
    threshold: 1,
    reportsState: true,
    series: () => ({}),
  },
];

function rowsOf(steps: readonly Step[], { series, reportsState }: Kind, vm: string): ShortRow[] {
  const counters = new Counters();
  let grid = 0;
  let boot = 1;
  return steps.map((one) => {
    grid += 30 * one.intervals;
    if (one.boots) boot++;
    // A metric of a stopped VM has no meaning, except its state.
    const reported = { high: 3, middle: 2, low: 1, absent: 0 }[one.levels[0]];
    const state = reportsState ? reported : one.power;
    const { vcpus } = one;
    return {
      vm,
      at: grid + one.jitter,
      boot: `boot-${boot}`,
      vcpus,
      state,
      series: series(one, counters),
    };
  });
}

interface Reported {
  readonly firings: readonly PreviewedFiring[];
  readonly evaluatedSamples: number;
}

/** Live evaluation batch by batch, with the rule's marker where the window begins. */
function live(batches: readonly SampleBatch[], rule: EvaluationRule, fromMs: number): Reported {
  const world = new EvaluationWorld();
  const marker = () => world.marker((fromMs - START_MS) / 1000, { upserts: [rule] });
  let applied = false;
  let evaluatedSamples = 0;
  for (const batch of batches) {
    if (!applied && batch.receivedMs > fromMs) marker();
    applied ||= batch.receivedMs > fromMs;
    world.entry({ kind: 'batch', batch });
    const hasValue = world.instances().some((one) => one.lastObservedMs === batch.receivedMs);
    if (applied && hasValue) evaluatedSamples++;
  }
  if (!applied) marker();
  const firings: { labels: string; startedMs: number; endedMs?: number }[] = [];
  for (const edge of world.edges) {
    const { labels } = edge.key;
    if (edge.kind === 'fired') firings.push({ labels, startedMs: edge.startedMs });
    const last = firings.findLast((one) => one.labels === labels);
    if (edge.kind === 'recovered' && last && edge.observedMs !== undefined) {
      last.endedMs = edge.observedMs;
    }
  }
  return { firings, evaluatedSamples };
}

class StoredWorld {
  readonly #history: History;
  readonly #view: HistoryView;
  #sequence = 0;

  constructor(history: History) {
    this.#history = history;
    this.#view = new HistoryView(history.share);
  }

  append(batches: readonly SampleBatch[]): void {
    for (const batch of batches) {
      this.#history.append(batch, { partition: PARTITION, sequence: ++this.#sequence });
    }
  }

  async flush(): Promise<void> {
    await this.#history.flush();
  }

  preview(rule: EvaluationRule, vm: string, fromMs: number, checkpoint = () => {}): VmPreview {
    const columns = this.#view.read({
      project: PROJECT,
      vm,
      names: seriesNamesOf(rule.metricId),
      fromMs: previewFromMs(rule, fromMs),
      toMs: Number.MAX_SAFE_INTEGER,
    });
    const toMs = columns.timesMs.at(-1) ?? fromMs;
    return previewVm({ rule, vm, columns, fromMs, toMs, checkpoint });
  }

  async close(): Promise<void> {
    this.#view.close();
    await this.#history.close();
  }
}

function stored(folder: string): StoredWorld {
  return new StoredWorld(openStore({ folder }));
}

const byStart = (a: PreviewedFiring, b: PreviewedFiring) =>
  a.startedMs - b.startedMs || (a.labels < b.labels ? -1 : 1);

test('a preview fires when the live fold does, over any history of any metric', async (t) => {
  const world = stored(t.testdir());
  const seen = new Map<string, number>();
  let runs = 0;
  const history = fc.record({
    kind: fc.constantFrom(...kinds),
    steps: fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }),
    durations,
    /** Start of the window: between two rows, or before all of them. */
    windowAt: fc.nat(40),
    isFlushed: rarely,
  });
  const property = fc.asyncProperty(history, async ({ kind, steps, windowAt, ...how }) => {
    const vm = `vm-${++runs}`;
    const { metricId, threshold = 90, operator = 'GREATER_THAN' } = kind;
    const { sustainedMs, recoveryMs, hasRecoveryThreshold } = how.durations;
    const better = operator === 'GREATER_THAN' ? threshold * 0.6 : threshold;
    const rule = cpuRule({
      metricId,
      threshold,
      operator,
      sustainedMs,
      recoveryMs,
      ...(hasRecoveryThreshold ? { recoveryThreshold: better } : {}),
    });
    const rows = rowsOf(steps, kind, vm);
    const batches = rows.map((row) => batchOf(row.at, [row]));
    const fromMs = START_MS + (rows[windowAt]?.at ?? 0) * 1000;
    world.append(batches);
    if (how.isFlushed) await world.flush();
    const wanted = live(batches, rule, fromMs);
    const { firings, evaluated } = world.preview(rule, vm, fromMs);
    const name = `${metricId} ${kinds.indexOf(kind)}`;
    seen.set(name, (seen.get(name) ?? 0) + firings.length);
    assert.deepEqual(firings.toSorted(byStart), wanted.firings.toSorted(byStart), metricId);
    assert.equal(evaluated.count, wanted.evaluatedSamples, metricId);
  });
  await fc.assert(property, OPTIONS);
  t.equal(seen.size, kinds.length);
  for (const [name, count] of seen) t.ok(count > occurrences(20), `${name}: ${count} firings`);
  await world.close();
});

/** A preview of CPU readings, in seconds since the start; the window begins at `from`. */
async function previewOf(
  folder: string,
  readings: readonly (readonly [at: number, cpu: number])[],
  { from, ...overrides }: Partial<EvaluationRule> & { readonly from: number },
) {
  const world = stored(folder);
  world.append(readings.map(([at, cpu]) => batchOf(at, [{ at, cpu }])));
  const preview = world.preview(cpuRule(overrides), 'vm-1', START_MS + from * 1000);
  await world.close();
  const spans = preview.firings.map(({ startedMs, endedMs }) => [
    (startedMs - START_MS) / 1000,
    endedMs === undefined ? 'still' : (endedMs - START_MS) / 1000,
  ]);
  return { ...preview, spans };
}

const readings = (cpu: number, from: number, to: number) =>
  seconds(from, to).map((at) => [at, cpu] as const);

test('a condition that holds at the start of the window fires with its true start', async (t) => {
  const samples = [...readings(95, 0, 1200), ...readings(10, 1230, 1500)];
  const { spans, evaluated } = await previewOf(t.testdir(), samples, { from: 300 });
  t.same(spans, [[0, 1230]]);
  t.equal(evaluated.count, 40, 'samples in the window, without those caught up');
});

test('a firing that ended before the window is not in the preview', async (t) => {
  const samples = [...readings(95, 0, 600), ...readings(10, 630, 900)];
  t.same((await previewOf(t.testdir(), samples, { from: 700 })).spans, []);
});

test('gaps restart the clock before firing, and do not recover a firing', async (t) => {
  const before = [...readings(95, 0, 270), ...readings(95, 390, 600)];
  t.same((await previewOf(t.testdir({ a: {} }), before, { from: -30 })).spans, []);
  const after = [...readings(95, 0, 300), ...readings(95, 4000, 4030)];
  t.same((await previewOf(t.testdir({ b: {} }), after, { from: -30 })).spans, [[0, 'still']]);
  const recovered = [...after, ...readings(10, 4060, 4060)];
  t.same((await previewOf(t.testdir({ c: {} }), recovered, { from: -30 })).spans, [[0, 4060]]);
});

test('history covers the start of the window if the metric has a value there', async (t) => {
  const reaches = async (from: number, first: number) =>
    (await previewOf(t.testdir(), readings(10, first, 900), { from })).reachesBack;
  t.equal(await reaches(0, 90), true, 'within the tolerance');
  t.equal(await reaches(0, 120), false);
  t.equal(await reaches(600, 90), true, 'before it');
  t.equal(await reaches(1000, 990), false, 'the metric has no value there');
});

test('a preview ends within some hundred rows after its client disconnects', async (t) => {
  const world = stored(t.testdir());
  world.append(seconds(0, 30 * 1200).map((at) => batchOf(at, [{ at, cpu: 10 }])));
  t.teardown(() => world.close());
  const gone = new Error('gone');
  let checks = 0;
  const checkpoint = () => {
    if (++checks === 3) throw gone;
  };
  t.throws(() => world.preview(cpuRule(), 'vm-1', START_MS, checkpoint), gone);
  t.equal(checks, 3);
});

test('rows read from history equal the original rows, with no other series', async (t) => {
  const history = openStore({ folder: t.testdir() });
  t.teardown(() => history.close());
  const rows: ShortRow[] = [
    { at: 0, cpu: 1, series: { svc_vm_load1: 0 }, boot: 'a', vcpus: 2 },
    { at: 30, series: { svc_vm_load1: 5 }, boot: 'b', state: 3 },
    { at: 61, cpu: 2, series: { svc_vm_load1: 7 }, boot: 'b', vcpus: 4 },
    { at: 90, boot: 'b' },
  ];
  for (const [i, row] of rows.entries()) {
    history.append(batchOf(row.at, [row]), { partition: PARTITION, sequence: i + 1 });
  }
  const view = new HistoryView(history.share);
  t.teardown(() => view.close());
  const columns = view.read({ project: PROJECT, vm: 'vm-1', fromMs: 0, toMs: 9e12 });
  const read = [...rowBatches(columns, { project: PROJECT, vm: 'vm-1' })].length;
  t.equal(read, rows.length);
  let i = 0;
  for (const batch of rowBatches(columns, { project: PROJECT, vm: 'vm-1' })) {
    const { at, cpu, series, boot, vcpus = Number.NaN, state = 1 } = rows[i++] as ShortRow;
    const values = { ...(cpu !== undefined && { svc_vm_cpu_utilization_pct: cpu }), ...series };
    const names = batch.layouts[batch.layout[0] ?? -1]?.series ?? [];
    t.same(Object.fromEntries(names.map((name, k) => [name, batch.values[k]])), values);
    t.same([batch.observedMs[0], batch.receivedMs], Array(2).fill(START_MS + at * 1000));
    t.same([batch.strings[batch.boot[0] ?? -1], batch.state[0]], [boot, state]);
    t.ok(Object.is(batch.vcpus[0], vcpus));
  }
});
