/**
 * Memory of a query thread for a project between queries: entries of a changed record are rebuilt,
 * the rest stays, and projects without queries are dropped.
 */
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { RecordReader } from '../../sqlite/platform/control/record-reader.ts';
import { Budget } from '../../src/telemetry/promql/budget.ts';
import { createMatcher } from '../../src/telemetry/promql/matcher.ts';
import type { StoredSeries } from '../../src/telemetry/promql/series-source.ts';
import { STORED_SERIES_BYTES } from '../../src/telemetry/promql/values.ts';
import { SeriesThread } from '../../src/telemetry/query/series/series-thread.ts';
import { START } from '../support/history-from-log.ts';
import { openQueries } from '../support/queries-on-history.ts';

const STEP = 30_000;

/** `labelSetsMax` as in the thread. */
function start(t: Test, labelSetsMax?: number) {
  const folder = t.testdir();
  const world = openQueries({ folder, isInline: true });
  const records = new RecordReader(join(folder, 'control.db'));
  const thread = new SeriesThread({
    share: world.history.share,
    records,
    ...(labelSetsMax !== undefined && { labelSetsMax }),
  });
  t.teardown(async () => {
    thread.close();
    records.close();
    await world.close();
  });
  let revision = 0;
  const budget = new Budget({ bytesMax: 1e9, samplesMax: 1e9 });
  const matchers = [createMatcher('__name__', '=', 'x')];
  return {
    world,
    open: (project: string) =>
      thread.open(project, { recordsRevision: revision, retainedFromMs: 0, pendingAlerts: [] }),
    /** Series of `x` by VM; `isNew`: a record has changed. */
    select(project: string, isNew = false): Map<string, StoredSeries> {
      if (isNew) revision++;
      const source = thread.open(project, {
        recordsRevision: revision,
        retainedFromMs: 0,
        pendingAlerts: [],
      });
      const stretch = { afterMs: START - 1, throughMs: START + STEP };
      const found = source.select({ matchers, ...stretch }, budget);
      return new Map(found.map((series) => [series.labels.get('vm'), series]));
    },
  };
}

test('a changed record relabels its VM, and entries of other VMs stay', async (t) => {
  const { world, select } = start(t);
  for (const vm of ['a', 'b', 'c']) {
    world.record(vm, `name of ${vm}`);
    world.append({ at: 0, vm, values: { x: 1 } });
  }
  const before = select('demo', true);
  t.equal(before.get('a')?.labels.get('vm_name'), 'name of a');
  world.record('b', 'renamed');
  world.record('c', 'name of c', { datacenter: 'dc-2' });
  const after = select('demo', true);
  t.equal(after.get('a'), before.get('a'), 'not even searched again');
  t.equal(after.get('b')?.labels.get('vm_name'), 'renamed');
  t.equal(after.get('c')?.labels.get('datacenter'), 'dc-2');
  world.record('d', 'joins');
  world.append({ at: 0, vm: 'd', values: { x: 1 } });
  const joined = select('demo', true);
  for (const vm of ['a', 'b', 'c']) t.equal(joined.get(vm)?.labels, after.get(vm)?.labels, vm);
  t.equal(joined.get('d')?.labels.get('vm_name'), 'joins');
});

test('the least recently queried projects are dropped if there are too many series', async (t) => {
  const { world, select } = start(t, 4);
  const projects = ['one', 'two', 'three'];
  for (const project of projects) {
    for (const vm of ['a', 'b']) {
      world.record(vm, 'n', { project });
      world.append({ at: 0, vm, project, values: { x: 1 } });
    }
  }
  const labels = (project: string) => select(project).get('a')?.labels;
  const first = new Map(projects.slice(0, 2).map((project) => [project, labels(project)]));
  t.equal(labels('one'), first.get('one'), 'there is space for two');
  labels('three');
  t.equal(labels('one'), first.get('one'), 'used in the meantime');
  t.not(labels('two'), first.get('two'));
  t.same(labels('two')?.pairs, first.get('two')?.pairs, 'and the answer is the same');
});

test('each series that is found counts towards the budget, as does each label set', async (t) => {
  const { world, open } = start(t);
  for (const vm of ['a', 'b', 'c']) world.append({ at: 0, vm, values: { x: 1 } });
  const matchers = [createMatcher('__name__', '=', 'x')];
  const source = open('demo');
  for (const _ of ['read again', 'known']) {
    const budget = new Budget({ bytesMax: 1e9, samplesMax: 1e9 });
    source.select({ matchers, afterMs: START - 1, throughMs: START + STEP }, budget);
    t.ok(budget.bytes >= 3 * STORED_SERIES_BYTES, `${budget.bytes} bytes for three series`);
  }
  const sets = new Budget({ bytesMax: 1e9, samplesMax: 1e9 });
  source.labelSets(matchers, { fromMs: START, toMs: START + STEP }, sets);
  t.equal(sets.bytes, 3 * STORED_SERIES_BYTES);
});

test('VMs that do not match are checked only until the query is cancelled', async (t) => {
  const { world, open } = start(t);
  for (let vm = 0; vm < 40; vm++) world.append({ at: 0, vm: `vm-${vm}`, values: { x: 1 } });
  const matchers = [createMatcher('vm', '=', 'none of them')];
  const budget = new Budget({ bytesMax: 1e9, samplesMax: 1e9 }, () => 'timeout');
  const stretch = { afterMs: START - 1, throughMs: START + STEP };
  t.throws(() => open('demo').select({ matchers, ...stretch }, budget), {
    message: 'query timed out in expression evaluation',
  });
});
