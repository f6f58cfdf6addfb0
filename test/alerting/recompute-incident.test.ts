/**
 * Recomputed decisions over stored samples: recomputing agrees with every firing of the live fold
 * over any history, and reports a difference where history has changed. The history is real, read
 * as a query thread reads it.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { HistoryError, ReadCancelled } from '../../sqlite/telemetry/history/history-error.ts';
import { HistoryView } from '../../sqlite/telemetry/history/store/history-view.ts';
import { recomputeIncident } from '../../src/telemetry/query/explain/recompute-incident.ts';
import type { Edge, EvaluationRule } from '../../streams/telemetry/entry.ts';
import {
  batchOf,
  cpuRule,
  EvaluationWorld,
  type ShortRow,
  START_MS,
} from '../support/evaluation-scenario.ts';
import { openStore, PARTITION } from '../support/history-from-log.ts';
import { occurrences, tries } from '../support/tries.ts';

const READ = 'svc_vm_disk_read_bytes_total{device="vda"}';
const mount = (name: string, part: string) =>
  `svc_vm_filesystem_${part}_bytes{fstype="ext4",mountpoint="${name}"}`;

type Fired = Extract<Edge, { kind: 'fired' }>;

function openHistoryOf(folder: string) {
  const history = openStore({ folder });
  const view = new HistoryView(history.share);
  let sequence = 0;
  return {
    view,
    append(rows: readonly ShortRow[]): void {
      for (const row of rows) {
        history.append(batchOf(row.at, [row]), { partition: PARTITION, sequence: ++sequence });
      }
    },
    async close(): Promise<void> {
      view.close();
      await history.close();
    },
  };
}

function recompute(
  view: Pick<HistoryView, 'read'>,
  rule: EvaluationRule,
  { key, startedMs, observedMs, window, atMs, held }: Fired,
  isCancelled = () => false,
) {
  const call = {
    rule,
    startedMs,
    window,
    vm: key.vm,
    labels: key.labels,
    heldVms: held?.vms ?? [],
    firedObservedMs: observedMs ?? atMs,
    firedMs: atMs,
    retainedFromMs: 0,
  };
  return recomputeIncident(view, call, isCancelled);
}

const fired = (world: EvaluationWorld): Fired[] =>
  world.edges.filter((edge) => edge.kind === 'fired');

interface Kind {
  readonly metricId: string;
  readonly threshold: number;
  readonly series: (value: number, counter: number) => Record<string, number>;
}

const kinds: readonly Kind[] = [
  {
    metricId: 'cpu_utilization_pct',
    threshold: 90,
    series: (value) => ({ svc_vm_cpu_utilization_pct: value }),
  },
  {
    metricId: 'disk_read_bytes_per_second',
    threshold: 90,
    series: (_, counter) => ({ [READ]: counter }),
  },
  {
    metricId: 'filesystem_used_pct',
    threshold: 90,
    series: (value) => ({
      [mount('/', 'used')]: value,
      [mount('/', 'size')]: 100,
      [mount('/var', 'used')]: 95,
      [mount('/var', 'size')]: 100,
    }),
  },
];

test('API-18: a recomputed decision agrees with the live one over any history', async (t) => {
  const history = openHistoryOf(t.testdir());
  const step = fc.record({
    intervals: fc.constantFrom(1, 1, 1, 1, 1, 2, 3, 4, 12),
    value: fc.constantFrom(95, 95, 95, 95, 99, 60, 10, undefined),
  });
  const counts = new Map<string, number>();
  let runs = 0;
  const property = fc.property(
    fc.record({
      kind: fc.constantFrom(...kinds),
      steps: fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }),
      sustainedMs: fc.constantFrom(0, 60_000, 300_000),
      recoveryMs: fc.constantFrom(0, 60_000),
    }),
    ({ kind, steps, ...durations }) => {
      const { metricId, threshold } = kind;
      const rule = cpuRule({ metricId, threshold, recoveryThreshold: 50, ...durations });
      const vm = `vm-${++runs}`;
      let at = 0;
      let counter = 0;
      const rows = steps.map(({ intervals, value }): ShortRow => {
        at += 30 * intervals;
        counter += (value ?? 0) * 30 * intervals;
        return { vm, at, series: value === undefined ? {} : kind.series(value, counter) };
      });
      const world = new EvaluationWorld([rule]);
      for (const row of rows) world.rows([row]);
      history.append(rows);
      for (const edge of fired(world)) {
        const found = recompute(history.view, rule, edge);
        assert.equal(found.status, 'AGREES', `${metricId}: ${found.detail}`);
        counts.set(metricId, (counts.get(metricId) ?? 0) + 1);
      }
    },
  );
  fc.assert(property, { seed: 20_261_121, numRuns: tries(600) });
  for (const { metricId } of kinds) t.ok((counts.get(metricId) ?? 0) > occurrences(100), metricId);
  await history.close();
});

test('a recomputed decision over changed history differs and says how', async (t) => {
  const rule = cpuRule({ sustainedMs: 120_000 });
  const rows = [95, 95, 95, 95, 95].map((cpu, i): ShortRow => ({ at: 300 + 30 * i, cpu }));
  const world = new EvaluationWorld([rule]);
  for (const row of rows) world.rows([row]);
  const [edge] = fired(world);
  if (!edge) throw new Error('The rule did not fire');
  const compared = async (stored: readonly ShortRow[]) => {
    const history = openHistoryOf(t.testdir());
    history.append(stored);
    const found = recompute(history.view, rule, edge);
    await history.close();
    return found;
  };
  const without = (place: number) => rows.filter((_, i) => i !== place);
  t.match(await compared(rows), { status: 'AGREES', startedMs: START_MS + 300_000 });
  t.match(await compared([]), { status: 'DIFFERS', detail: /do not lead to a firing by/ });
  t.match(await compared([{ at: 90, cpu: 99 }, ...rows]), {
    status: 'AGREES',
    before: { observedMs: START_MS + 90_000 },
  });
  t.match(await compared([...rows.slice(0, 2), { at: 360, cpu: 5 }, ...rows.slice(3)]), {
    status: 'DIFFERS',
  });
  t.match(await compared(without(0)), { status: 'DIFFERS' });
  t.match(await compared([...rows.slice(0, 2), { at: 360, cpu: 97 }, ...rows.slice(3)]), {
    status: 'DIFFERS',
    detail: /one sample has another value, the first at/,
  });
});

test('silence is recomputed from the rows stored around it', async (t) => {
  const rule = cpuRule({ metricId: 'telemetry_age_seconds', threshold: 120, sustainedMs: 60_000 });
  const world = new EvaluationWorld([rule]);
  const rows = [0, 30, 60].map((at): ShortRow => ({ at, cpu: 5 }));
  for (const row of rows) world.rows([row]);
  for (let at = 65; at <= 600; at += 5) world.tick(at);
  const [edge] = fired(world);
  if (!edge) throw new Error('The rule did not fire');
  const history = openHistoryOf(t.testdir());
  history.append(rows);
  t.match(recompute(history.view, rule, edge), { status: 'AGREES' });
  history.append([{ at: 150, cpu: 5 }]);
  t.match(recompute(history.view, rule, edge), { status: 'DIFFERS' });
  await history.close();
});

test('a decision based on a metric or operator of another version cannot be recomputed', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  world.cpu(95, [0]);
  const [fired] = world.edges.filter((edge) => edge.kind === 'fired');
  const view = { read: () => t.fail('nothing is read') };
  for (const other of [{ metricId: 'something_new' }, { operator: 'NEW' as 'EQUAL' }]) {
    const found = recompute(view as never, cpuRule({ sustainedMs: 0, ...other }), fired as Fired);
    t.match(found, { status: 'NOT_POSSIBLE', detail: /Another version/ });
  }
});

test('unreadable history is reported as such, and an abandoned query ends', async (t) => {
  const rule = cpuRule({ sustainedMs: 0 });
  const world = new EvaluationWorld([rule]);
  world.rows([{ at: 300, cpu: 95 }]);
  const [edge] = fired(world);
  if (!edge) throw new Error('The rule did not fire');
  const damaged = {
    read(): never {
      throw new HistoryError('DAMAGED', 'A chunk is damaged');
    },
  };
  t.match(recompute(damaged, rule, edge), { status: 'NOT_POSSIBLE', detail: /cannot be read/ });
  const history = openHistoryOf(t.testdir());
  history.append([{ at: 300, cpu: 95 }]);
  assert.throws(() => recompute(history.view, rule, edge, () => true), ReadCancelled);
  await history.close();
});
