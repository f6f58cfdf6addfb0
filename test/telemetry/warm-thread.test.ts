/**
 * The cache of a query thread never changes an answer. A counter over one stored day and the head
 * is compared with values computed by hand. Random queries, with rows, flushes and merges between
 * them, are compared with a thread without a cache.
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { RecordReader } from '../../sqlite/platform/control/record-reader.ts';
import { promqlMethods } from '../../src/telemetry/query/promql/promql-evaluation.ts';
import type {
  PromqlAnswer,
  QueryOperation,
  ScheduledQueryRequest,
} from '../../src/telemetry/query/promql/query-request.ts';
import { SeriesThread } from '../../src/telemetry/query/series/series-thread.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { DAY, HOUR, START } from '../support/history-from-log.ts';
import {
  type HistoryQueries,
  openQueries,
  type ReportedRow,
} from '../support/queries-on-history.ts';

const STEP = 30_000;
const MINUTE = 60_000;

/** A counter that rises by one per second: two hours in a stored day, 15 minutes in the head. */
async function counterOverFlush(t: Test): Promise<HistoryQueries> {
  const world = openQueries({ folder: t.testdir(), isInline: true });
  t.teardown(() => world.close());
  const rows = (fromMs: number, toMs: number) => {
    for (let at = fromMs; at < toMs; at += STEP) world.append({ at, values: { x: at / 1000 } });
  };
  rows(0, 2 * HOUR);
  await world.history.flush();
  rows(2 * HOUR, 2 * HOUR + 15 * MINUTE);
  return world;
}

test('a range that reaches into the stored day is complete after one that did not', async (t) => {
  const now = 2 * HOUR + 15 * MINUTE;
  const value = now / 1000;
  const row: ReportedRow = { at: now, values: { x: value } };
  const cases: readonly (readonly [expression: string, wanted: number])[] = [
    ['increase(x[1h])', 3600],
    ['count_over_time(x[1h])', 120],
    ['x * 0 + count_over_time(x[1h])', 120],
  ];
  for (const [expression, wanted] of cases) {
    const world = await counterOverFlush(t);
    await world.instant('count_over_time(x[1h])', now - STEP);
    world.append(row);
    t.same(Object.values(await world.instant('x', now)), [value]);
    t.same(Object.values(await world.instant(expression, now)), [wanted], expression);
    t.same(Object.values(await world.instant('x', now)), [value], 'and the other way around');
  }
  const fresh = await counterOverFlush(t);
  const at = 2 * HOUR + 6 * MINUTE;
  const [quotient] = Object.values(await fresh.instant('x / rate(x[10m])', at));
  t.equal(Math.round(quotient ?? 0), at / 1000, 'within the first query of a thread');
});

const SECONDS = 'svc_vm_cpu_seconds_total';
const PERCENT = 'svc_vm_cpu_utilization_pct';
const TOTAL = 'svc_vm_memory_total_bytes';
const FREE = 'svc_vm_memory_free_bytes';
const USED = 'svc_vm_memory_used_bytes';

test('a stored day is complete after a utilization that only looked back at it', async (t) => {
  const world = openQueries({ folder: t.testdir(), isInline: true });
  t.teardown(() => world.close());
  const rows = (from: number, to: number) => {
    for (let i = from; i < to; i++) world.append({ at: i * STEP, values: { [SECONDS]: i } });
  };
  rows(0, 120);
  await world.history.flush();
  rows(120, 150);
  const now = 149 * STEP;
  t.equal(Object.keys(await world.instant(PERCENT, now)).length, 1);
  const counted = (name: string) => world.instant(`count_over_time(${name}[2h])`, now);
  t.same(Object.values(await counted(SECONDS)), [150]);
  t.same(Object.values(await counted(PERCENT)), [149]);
});

test('late rows are complete after a series that has only a part of them', async (t) => {
  const folder = t.testdir();
  const before = openQueries({ folder, isInline: true });
  const row = (i: number, values: Readonly<Record<string, number>>) => ({ at: i * STEP, values });
  const stored = Array.from({ length: 60 }, (_, i) => row(i, { [TOTAL]: 5, [FREE]: 1 }));
  before.append(...stored, row(120, { [SECONDS]: 1 }));
  await before.history.flush();
  await before.close();
  // A head that has never had the other columns, as after a restart of the service.
  const world = openQueries({ folder, isInline: true });
  t.teardown(() => world.close());
  world.append({ at: 0, vm: 'b' });
  world.append(...Array.from({ length: 30 }, (_, i) => row(60 + i, { [TOTAL]: 5 })));
  const counts: readonly (readonly [name: string, wanted: number])[] = [
    [USED, 60],
    [TOTAL, 90],
    [PERCENT, 0],
    ['svc_vm_vcpus', 91],
  ];
  for (const [name, wanted] of counts) {
    const found = await world.instant(`count_over_time(${name}{vm="a"}[2h])`, 121 * STEP);
    t.equal(Object.values(found)[0] ?? 0, wanted, name);
  }
});

/** Memory for all columns between queries, and for few. */
const CACHE_BYTES = [2 ** 28, 4000];

/** Runs the work and memory of a query thread over the world's history here. */
function openThread({ history }: HistoryQueries, records: RecordReader, cacheBytesMax: number) {
  const thread = new SeriesThread({ share: history.share, records, cacheBytesMax });
  const { promql } = promqlMethods(thread, systemClock);
  if (promql === undefined) throw new Error('A query thread answers promql');
  return {
    ask(scheduled: ScheduledQueryRequest): string {
      // Answer of this method to this argument.
      const { body } = promql(scheduled as never, () => false).result as PromqlAnswer;
      return Buffer.from(body).toString();
    },
    close: () => thread.close(),
  };
}

/** Series with common inputs, so that queries of the same few use the cache. */
const NAMES = [
  [SECONDS, PERCENT],
  [TOTAL, USED],
  ['svc_vm_vcpus', PERCENT],
  ['x', 'svc_vm_running'],
] as const;

/** Series of rows in turn: sources come and go, and leave some inputs of derived series. */
const REPORTED: readonly (readonly string[])[] = [
  ['x', SECONDS, TOTAL, FREE],
  ['x', TOTAL],
  [PERCENT, FREE, 'y'],
  ['x', SECONDS, USED, TOTAL],
];

const REPORTED_ROWS = 40;

/** Rows a minute apart from the morning of the first day to the next; midnight is in the middle. */
function rowAt(i: number, project: string): ReportedRow {
  const reported = REPORTED[Math.floor(i / REPORTED_ROWS) % REPORTED.length] ?? [];
  const values = Object.fromEntries(reported.map((name, n) => [name, i * (n + 1)]));
  const boot = i < MIDNIGHT_ROW ? 'b1' : 'b2';
  return { at: timeOf(i), project, values, boot, state: 1 + (i % 3), vcpus: i < 200 ? 2 : 4 };
}

const MIDNIGHT_ROW = 360;
const timeOf = (i: number) => 12 * HOUR + (i - MIDNIGHT_ROW) * MINUTE;

/** Times are in rows, which are minutes before the newest one. */
interface Requested {
  readonly form: keyof typeof FORMS;
  /** Index of one of the two queried names. */
  readonly name: number;
  readonly untilBack: number;
  readonly minutes: number;
  /** Rows before this one are not retained. */
  readonly retainedRow: number;
}

const FORMS = {
  newest: (name: string) => name,
  range: (name: string, minutes: number) => `${name}[${minutes}m]`,
  rate: (name: string, minutes: number) => `rate(${name}[${minutes}m])`,
  both: (name: string, minutes: number) => `${name} * 0 + count_over_time(${name}[${minutes}m])`,
  all: (_: string, minutes: number) => `count_over_time({vm="a"}[${minutes}m]) or absent({vm="b"})`,
} as const;

function operationOf(
  requested: Requested,
  names: readonly string[],
  newest: number,
): QueryOperation {
  const { form, untilBack, minutes } = requested;
  const endMs = START + timeOf(newest - untilBack);
  const expression = FORMS[form](names[requested.name] ?? '', minutes);
  if (form !== 'rate') return { kind: 'instant', expression, timeMs: endMs };
  return { kind: 'range', expression, startMs: endMs - 10 * MINUTE, endMs, stepMs: 2 * MINUTE };
}

type Move =
  /** Rows after the newest one, or from `back` before it: late rows. */
  | { readonly kind: 'append'; readonly count: number; readonly back: number }
  | { readonly kind: 'flush' | 'merge' }
  | ({ readonly kind: 'query' } & Requested);

const append = fc.record({
  kind: fc.constant('append' as const),
  count: fc.integer({ min: 1, max: 60 }),
  back: fc.constantFrom(0, 0, 0, 5, 50, 200),
});
const store = fc.record({ kind: fc.constantFrom('flush' as const, 'flush', 'merge' as const) });
const query = fc.record({
  kind: fc.constant('query' as const),
  form: fc.constantFrom(...(Object.keys(FORMS) as (keyof typeof FORMS)[])),
  name: fc.constantFrom(0, 1),
  untilBack: fc.constantFrom(0, 0, 0, 1, 60),
  minutes: fc.constantFrom(1, 1, 5, 20, 100, 700),
  retainedRow: fc.constantFrom(0, 0, 0, 100, 300, 400),
});
const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(append, store, { weight: 4, arbitrary: query }),
  { minLength: 15, maxLength: 30, size: 'max' },
);

/** Seeds that found faults: a range of other segments, and a day that a look-back had read. */
const SEEDS = [8, 18];
const RUNS_A_SEED = 4;

test('a warm thread answers like one without a cache', async (t) => {
  const folder = t.testdir();
  const world = openQueries({ folder, isInline: true });
  const records = new RecordReader(join(folder, 'control.db'));
  const warm = CACHE_BYTES.map((bytes) => openThread(world, records, bytes));
  t.teardown(async () => {
    for (const thread of warm) thread.close();
    records.close();
    await world.close();
  });
  let requested = 0;
  const isAlike = (scheduled: ScheduledQueryRequest, after: readonly Move[]): boolean => {
    requested++;
    const fresh = openThread(world, records, 0);
    const wanted = fresh.ask(scheduled);
    fresh.close();
    const wrong = warm.map((thread) => thread.ask(scheduled)).find((one) => one !== wanted);
    if (wrong === undefined) return true;
    t.same(JSON.parse(wrong), JSON.parse(wanted), JSON.stringify(after));
    return false;
  };
  let projects = 0;
  const property = fc.asyncProperty(fc.constantFrom(...NAMES), moves, async (names, list) => {
    const project = `project-${projects++}`;
    let next = 0;
    for (const [i, move] of list.entries()) {
      if (move.kind === 'append') {
        const from = Math.max(0, next - move.back);
        world.append(...Array.from({ length: move.count }, (_, n) => rowAt(from + n, project)));
        next = Math.max(next, from + move.count);
      } else if (move.kind === 'query') {
        const operation = operationOf(move, names, Math.max(0, next - 1));
        const scheduled: ScheduledQueryRequest = {
          request: { project, limit: 0, encoding: 'identity', operation },
          remainingMs: 60_000,
          recordsRevision: 0,
          staleDatacenters: [],
          pendingAlerts: [],
          retainedFromMs: START + timeOf(move.retainedRow),
        };
        if (!isAlike(scheduled, list.slice(0, i + 1))) return false;
      } else if (move.kind === 'flush') await world.history.flush();
      else await world.history.retain(START + 3 * DAY);
    }
    return true;
  });
  for (const seed of SEEDS) {
    await fc.assert(property, { numRuns: RUNS_A_SEED, seed, endOnFailure: true });
  }
  t.ok(requested > 50, `${requested} queries`);
});
