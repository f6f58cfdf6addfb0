/**
 * A query takes no more memory than its budget, for any purpose: label texts, label sets, columns
 * of one step, intermediate values of functions, messages. And it checks for cancellation wherever
 * it works on many series.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { test } from 'tap';
import { Budget } from '../../../src/telemetry/promql/budget.ts';
import { queryInstant, queryRange } from '../../../src/telemetry/promql/engine/engine.ts';
import { Annotations } from '../../../src/telemetry/promql/errors.ts';
import { LABEL_VALUE_MAX, Labels } from '../../../src/telemetry/promql/values.ts';
import { sampleOf } from '../../support/tries.ts';
import type { BudgetsWork, Outcome } from './budgets-worker.ts';
import { MemorySource } from './memory-source.ts';

const SERIES = 100;
const LIMITS = { bytesMax: 64e6, samplesMax: 1e9 };
const source = new MemorySource(50);
for (let vm = 0; vm < SERIES; vm++) {
  const labels = { vm: `vm-${vm}`, dc: `${vm % 4}` };
  const samples = Array.from({ length: 400 }, (_, i) => ({
    timeMs: i * 15_000,
    value: i % (vm + 2),
  }));
  source.add(Labels.fromRecord({ __name__: 'a', ...labels }), samples);
  source.add(Labels.fromRecord({ __name__: 'b_total', ...labels }), samples);
}

function instant(expression: string, budget = new Budget(LIMITS)) {
  return queryInstant({ expression, timeMs: 0 }, { source, budget });
}

function nested(call: (inner: string) => string, levels: number): string {
  return levels === 0 ? 'a' : call(nested(call, levels - 1));
}

const TOO_LONG = { kind: 'execution', message: /label value of more than 16384 characters/ };
const TOO_MUCH = { kind: 'execution', message: /would need more than \d+ bytes of memory/ };

test('a label value that grows tenfold at each call is refused before it is built', async (t) => {
  const join = (inner: string) => `label_join(${inner}, "vm", ""${', "vm"'.repeat(10)})`;
  const replace = (inner: string) =>
    `label_replace(${inner}, "vm", "${'$1'.repeat(10)}", "vm", "(.*)")`;
  for (const call of [join, replace]) {
    t.match(instant(nested(call, 3)), { data: { samples: { length: SERIES } } });
    t.throws(() => instant(nested(call, 4)), TOO_LONG);
  }
  const quoted = (length: number) =>
    `label_replace(a{vm="vm-1"}, "x", "${'x'.repeat(length)}", "", "")`;
  const { data } = instant(quoted(LABEL_VALUE_MAX));
  t.equal(data.type === 'vector' && data.samples[0]?.labels.get('x').length, LABEL_VALUE_MAX);
  t.throws(() => instant(quoted(LABEL_VALUE_MAX + 1)), TOO_LONG);
});

test('long labels of many series count towards the budget', async (t) => {
  const long = (vector: string) => `label_replace(${vector}, "x", "${'x'.repeat(15_000)}", "", "")`;
  const some = long('a{dc="0"}');
  t.match(instant(some), { data: { samples: { length: SERIES / 4 } } });
  for (const expression of [
    nested((inner) => long(`label_replace(${inner}, "y", "$1", "x", "(.*)")`), 8),
    `a * on() group_left(x) ${long('b_total{vm="vm-1"}')}`,
    `count_values("${'x'.repeat(15_000)}", a @ 5000 + ignoring() a @ 4000 * 1000 + ignoring() a @ 3000 / 7)`,
  ]) {
    t.throws(() => instant(expression, new Budget({ ...LIMITS, bytesMax: 4e6 })), TOO_MUCH);
  }
});

test('at one step, each expression fits a heap as large as its budget and the thread’s cache', async (t) => {
  const mib = 64;
  const all = '{__name__=~"svc_.*"}';
  const relabelled = (inner: string) => `label_replace(${inner}, "x", "$1", "vm", "(.*)")`;
  const large = [
    `topk(5, ${relabelled(all)})`,
    relabelled(relabelled(relabelled(all))),
    `count({__name__=~"svc_[abc]"} * on(vm) group_left() svc_d)`,
    `count({__name__=~"svc_[abc]"} * on(vm) group_left(vm_name) svc_d)`,
    `svc_a * on(vm, vm_name) svc_b`,
    `count by (vm, __name__, project) (${all})`,
    `count_values("v", ${all})`,
    Array.from(
      'abcdefghijklmnopqrstuvwxyz',
      (x) => `label_replace(svc_a, "x", "${x}", "", "")`,
    ).join(' or '),
    Array.from({ length: 30 }, (_, i) => `${all} offset ${i}ms`).join(' or '),
    `sum(rate(${all}[5m]) or count_over_time(${all}[5m]))`,
    `max_over_time(${all}[1m:1s])`,
    `histogram_quantile(0.5, label_replace(${all}, "le", "1", "", ""))`,
    `quantile by (vm) (0.5, ${all})`,
    `label_replace(svc_a, "x", "${'x'.repeat(10_000)}", "", "")`,
    `${all}[5m]`,
  ];
  const expressions = [...sampleOf(large, 6), 'count(svc_a)'];
  const workerData: BudgetsWork = { vms: 7000, bytesMax: mib * 1024 * 1024, expressions };
  const worker = new Worker(new URL('budgets-worker.ts', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: 1.5 * mib },
  });
  const outcomes: Outcome[] = [];
  worker.on('error', (error) => t.comment(String(error)));
  worker.on('message', (outcome: Outcome) => outcomes.push(outcome));
  await once(worker, 'exit');
  t.same(
    outcomes.map(({ expression }) => expression),
    expressions,
    'the thread is alive',
  );
  t.same(
    [...new Set(outcomes.map(({ end }) => end))].sort(),
    ['answered', 'execution'],
    'some are refused',
  );
  t.equal(outcomes.at(-1)?.end, 'answered', 'small queries are answered');
});

test('every array of numbers is taken from the budget', async (t) => {
  // The source makes its own arrays on its first selection.
  for (const name of ['a', 'b_total']) instant(`${name}[2h]`);
  for (const expression of [
    'a',
    'a * 2 > bool 3',
    'clamp(a, time() % 3, 1)',
    'clamp_max(a, 2)',
    'round(a, 2)',
    'absent(a)',
    'absent(nothing)',
    'absent_over_time(a[5m])',
    'scalar(a)',
    'vector(time())',
    'hour()',
    'timestamp(a)',
    'sort(a)',
    'a and b_total',
    'a + on(vm) b_total',
    'a + on(dc) group_left() sum by (dc) (a)',
    'avg by (dc) (a)',
    'stddev(a)',
    'quantile(0.5, a)',
    'topk(7, a)',
    'label_replace(topk(1, a) or a offset 1d, "vm", "x", "", "")',
    'histogram_quantile(0.5, label_replace(a, "le", "$1", "vm", "vm-(.*)"))',
    ...['rate', 'increase', 'irate', 'delta'].map((name) => `${name}(b_total[5m])`),
    ...['sum', 'avg', 'max', 'count', 'stddev', 'last'].map((name) => `${name}_over_time(a[20m])`),
    'sum_over_time(a[15s])',
    'max_over_time(a[15s])',
    'quantile_over_time(0.5, a[20m])',
    'rate(b_total[10m:7s])',
    'max_over_time(a[10m:7s])',
    'predict_linear(a[5m], 60)',
    'changes(a[5m] @ 3000)',
  ]) {
    const budget = new CountingBudget(LIMITS);
    const query = { expression, startMs: 0, endMs: 6_000_000, stepMs: 6000 };
    seeArrays(budget, () => queryRange(query, { source, budget }));
    const { taken, made } = budget;
    t.ok(made > 8000, `${expression}: ${made} bytes are observed`);
    t.ok(made <= taken, `${expression}: made ${made} bytes, took ${taken}`);
  }
});

class CountingBudget extends Budget {
  /** Bytes taken, and bytes of arrays, over the whole query. */
  taken = 0;
  made = 0;
  #newest = 0;

  noteArray(bytes: number): void {
    this.made += bytes;
    this.#newest = 0;
  }

  override takeBytes(count: number): void {
    this.taken += count;
    this.#newest = count;
    super.takeBytes(count);
  }

  /** Bytes that are returned at once were only a check, and nothing was made. */
  override releaseBytes(count: number): void {
    if (count === this.#newest) this.taken -= count;
    this.#newest = 0;
    super.releaseBytes(count);
  }
}

const ARRAYS = ['Float64Array', 'Uint8Array', 'Int32Array'] as const;

/** Registers all arrays of numbers that `work` makes with `budget`. */
function seeArrays(budget: CountingBudget, work: () => unknown): void {
  const originals = ARRAYS.map((name) => globalThis[name]);
  const put = (index: number, type: unknown, prototype: { constructor: unknown }) => {
    Object.assign(globalThis, { [ARRAYS[index] as string]: type });
    prototype.constructor = type;
  };
  for (const [i, original] of originals.entries()) {
    const counting = new Proxy(original, {
      construct(target, args, newTarget) {
        const array = Reflect.construct(target, args, newTarget);
        // Views of a buffer are not arrays of their own.
        if (!(args[0] instanceof ArrayBuffer)) budget.noteArray(array.byteLength);
        return array;
      },
    });
    put(i, counting, original.prototype);
  }
  try {
    work();
  } finally {
    for (const [i, original] of originals.entries()) put(i, original, original.prototype);
  }
}

test('sorting and grouping check whether the query was cancelled', async (t) => {
  const wide = new MemorySource();
  for (let vm = 0; vm < 6000; vm++) {
    for (const __name__ of ['a', 'b']) {
      const labels = Labels.fromRecord({ __name__, vm: `${(vm * 7919) % 6000}` });
      wide.add(labels, [{ timeMs: 0, value: (vm * 31) % 6000 }]);
    }
  }
  const cases = {
    'selection.ts': 'a',
    'engine.ts': 'a',
    'conversions.ts': 'sort(a)',
    'ranking.ts': 'topk(6000, a)',
    'accumulators.ts': 'sum by (vm) (a)',
    'aggregate.ts': 'quantile by (vm) (0.5, a)',
    'vector-matching.ts': 'a and b',
    'merge-series.ts': '-a',
    'binary.ts': 'a * on() group_left(c) (b{vm="1"})',
    'histogram.ts': 'histogram_quantile(0.5, label_replace(a, "le", "$1", "vm", "(.*)"))',
  };
  for (const [file, expression] of Object.entries(cases)) {
    const budget = new PlacesBudget(LIMITS);
    const query = { expression, startMs: 0, endMs: 0, stepMs: 1 };
    if (file === 'engine.ts') queryRange(query, { source: wide, budget });
    else queryInstant({ expression, timeMs: 0 }, { source: wide, budget });
    t.ok(budget.places.has(file), `${expression}: ${[...budget.places]}`);
  }
  let looks = 0;
  const budget = new Budget(LIMITS, () => {
    looks++;
    return undefined;
  });
  for (let i = 0; i < 50_000; i++) budget.takeWork();
  t.equal(looks, 10, 'once in 5000');
});

/** Records the files that register their work. */
class PlacesBudget extends Budget {
  readonly places = new Set<string>();
  #calls = 0;

  override takeWork(count = 1): void {
    super.takeWork(count);
    if (this.#calls++ % 251 !== 0) return;
    const caller = new Error().stack?.split('\n')[2] ?? '';
    this.places.add(/[\w-]+\.ts/.exec(caller)?.[0] ?? caller);
  }
}

test('messages show only as many label sets as fit', async (t) => {
  const long = `label_replace(a, "x", "${'\\"'.repeat(7000)}", "", "")`;
  const clash = `a * on(dc) group_left() ${long}`;
  t.throws(() => instant(clash), { kind: 'execution', message: /^.{100,5000}$/s });
  t.throws(() => instant(clash), { message: /\(many|many-to-many matching not allowed/ });
  const many = nested((inner) => `label_replace(${inner}, "x${inner.length}", "1", "", "")`, 60);
  t.throws(() => instant(`a * on(dc) group_left() ${many}`), { message: /, \.\.\.}/ });
  const bounds = instant(
    `histogram_quantile(0.5, label_replace(a, "le", "${'😀'.repeat(3000)}", "", ""))`,
  );
  const [warning = ''] = bounds.warnings;
  t.match(warning, /malformed value of "(😀){128}"\.\.\. for metric name "a"/u);
});

test('a thousand warnings are kept, and one reports that there were more', async (t) => {
  const annotations = new Annotations('x');
  for (let i = 0; i < 5000; i++) annotations.warn(`${i}`, { from: 0, to: 1 });
  t.equal(annotations.warnings.length, 1001);
  t.equal(annotations.warnings[0], 'PromQL warning: 0 (1:1)');
  t.match(annotations.warnings.at(-1), /more than 1000 different ones/);
  const few = new Annotations('x');
  for (let i = 0; i < 3000; i++) few.info(`${i % 1000}`, { from: 0, to: 1 });
  t.equal(few.infos.length, 1000, 'each text counts once');
});
