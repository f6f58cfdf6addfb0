/**
 * The evaluation pipeline and each of its operators, by marble diagrams on virtual time. Entries
 * are written in seconds since an arbitrary start; marbles show when they arrive and pass.
 */
import { concatMap, from, map, NEVER, of, pipe, tap } from 'rxjs';
import { test } from 'tap';
import {
  catchUpRules,
  createState,
  type EvaluatedEntry,
  type EvaluationPorts,
  emitEdges,
  evaluate,
  evaluateConditions,
} from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationRule, LogEntry } from '../../streams/telemetry/entry.ts';
import {
  decodeEntries,
  decodeEntry,
  encodeEntry,
  type LoggedEntry,
} from '../../streams/telemetry/entry-codec.ts';
import { DamagedBytes } from '../../streams/telemetry/samples/byte-reader.ts';
import { batchOf, cpuRule, edgeLine, START_MS } from '../support/evaluation-scenario.ts';
import { marbles } from '../support/marbles.ts';

const HIGH = 95;
const LOW = 10;
const rule = cpuRule({ sustainedMs: 60_000 });

const batch = (at: number, cpu: number, vms = ['vm-1']): LogEntry => ({
  kind: 'batch',
  batch: batchOf(
    at,
    vms.map((vm) => ({ at, cpu, vm })),
  ),
});
const tick = (at: number): LogEntry => ({ kind: 'tick', atMs: START_MS + at * 1000 });
const marker = (at: number, ...upserts: EvaluationRule[]): LogEntry => ({
  kind: 'rules',
  atMs: START_MS + at * 1000,
  upserts,
  removals: [],
});

/** Entries of one partition in order of arrival. */
const placed = pipe(
  map((entry: LogEntry, i: number) => ({ sequence: i + 1, partition: 0, storedMs: 0, entry })),
);
const ruled = () => new Map([[0, createState({ rules: [rule], firing: [] })]]);
/** Each edge as a line; '' for an entry without edges. */
const lines = map(({ edges }: EvaluatedEntry) => edges.map(edgeLine).join());

const run = { a: batch(0, HIGH), b: batch(30, HIGH), c: batch(60, HIGH), d: batch(90, LOW) };
const edges = { x: '', f: 'fired at 60 since 0', r: 'recovered at 90' };

test('decodeEntries decodes bytes, and passes on entries that are already decoded', async (t) => {
  const entry = tick(30);
  const place = { sequence: 7, partition: 3, storedMs: START_MS };
  const decoded = { ...place, entry };
  const entries = { b: { ...place, entry: encodeEntry(entry) }, d: decoded };
  const damaged = { ...place, entry: Uint8Array.of(2, 0, 0) };
  marbles(t, ({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot<LoggedEntry>('-b-d-|', entries);
    expectObservable(source.pipe(decodeEntries())).toBe('-x-x-|', { x: decoded });
    expectSubscriptions(source.subscriptions).toBe('^----!');
  });
  t.throws(() => {
    let failure: unknown;
    of(damaged)
      .pipe(decodeEntries())
      .subscribe({ error: (error) => (failure = error) });
    throw failure;
  }, DamagedBytes);
});

test('catchUpRules delays only the entries behind a marker whose past is being read', async (t) => {
  marbles(t, ({ hot, cold, expectObservable, expectSubscriptions }) => {
    const stored = cold('--a--b-|', { a: run.a, b: run.b });
    const entries = { t: tick(59), m: marker(60, rule), c: run.c };
    const source = hot('-tmc--|', entries);
    const caughtUp = source.pipe(
      placed,
      catchUpRules({ states: new Map(), past: { entries: () => stored } }),
      map(({ entry }) => entry),
    );
    expectObservable(caughtUp).toBe('-t-------(mc|)', entries);
    expectSubscriptions(stored.subscriptions).toBe('--^------!');
    expectSubscriptions(source.subscriptions).toBe('^-----!');
  });
});

test('catchUpRules emits the instances that fired in the past', async (t) => {
  const source = { m: marker(60, rule), n: marker(61, rule) };
  const past = { entries: () => from([run.a, run.b, run.c]) };
  marbles(t, ({ cold, expectObservable }) => {
    const fired = cold('-m-n|', source).pipe(
      placed,
      catchUpRules({ states: new Map(), past }),
      map(({ joined }) => joined.map(({ current }) => (current.firedMs - START_MS) / 1000)),
    );
    // The second marker has no new rule: it reads no past, and no instance joins.
    expectObservable(fired).toBe('-x-y|', { x: [60], y: [] });
  });
});

test('catchUpRules stops reading the past when it is unsubscribed or fails', async (t) => {
  marbles(t, ({ hot, cold, expectObservable, expectSubscriptions }) => {
    const stored = cold('--a--b-#', { a: run.a, b: run.b });
    const entries = { m: marker(60, rule) };
    const ports = () => ({ states: new Map(), past: { entries: () => stored } });
    const source = hot('-m---', entries);
    const caughtUp = source.pipe(placed, catchUpRules(ports()));
    expectObservable(caughtUp, '^---!').toBe('-----');
    expectObservable(source.pipe(placed, catchUpRules(ports()))).toBe('--------#');
    expectSubscriptions(stored.subscriptions).toBe(['-^--!', '-^------!']);
  });
});

test('catchUpRules uses the known state of VMs without a row in the log', async (t) => {
  const silent = cpuRule({ metricId: 'telemetry_age_seconds', threshold: 60, sustainedMs: 0 });
  const known = { project: rule.project, vm: 'vm-1', observedMs: START_MS };
  const past = { entries: () => from([]), observed: () => [known] };
  const ticks = Array.from({ length: 11 }, (_, i) => tick(i * 15));
  marbles(t, ({ cold, expectObservable }) => {
    const output = cold('(mt)|', { m: marker(0, silent), t: tick(0) }).pipe(
      map((entry) => [entry, ...ticks][0] ?? entry),
      placed,
      evaluate({ states: new Map(), past }),
      lines,
    );
    expectObservable(output).toBe('(xx)|', { x: '' });
  });
  const states = new Map();
  const fired: string[] = [];
  from([marker(0, silent), ...ticks])
    .pipe(placed, evaluate({ states, past }), lines)
    .subscribe((line) => line && fired.push(line));
  t.same(fired, ['fired at 60 since 60'], 'it was silent since its last observation');
});

test('DUR-13: entries of an owner with an expired lease are ignored', async (t) => {
  const other = cpuRule({ rule: 'other', sustainedMs: 0 });
  const under = (epoch: number, entry: LogEntry) => ({ ...entry, epoch });
  const log = {
    a: run.a,
    n: under(7, tick(15)),
    // Hours ahead by a wrong clock: it would end the run.
    s: under(6, tick(9_000)),
    m: under(6, marker(20, other)),
    o: tick(9_000),
    b: run.b,
    c: run.c,
  };
  marbles(t, ({ cold, expectObservable }) => {
    const fired = cold('ansmobc|', log).pipe(placed, evaluate({ states: ruled() }), lines);
    expectObservable(fired).toBe('xxxxxxf|', edges);
  });
  t.same(decodeEntry(encodeEntry(log.n)), log.n, 'an epoch is restored from the log');
  const reported = { ...log.n, livenessReport: { outages: [], placed: [], clockAhead: [] } };
  t.same(decodeEntry(encodeEntry(reported)), reported);
});

test('evaluateConditions reports the instances that an entry changed, and decisions made by time alone', async (t) => {
  marbles(t, ({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot('-a-b-c-t|', { ...run, t: tick(60) });
    const moved = source.pipe(
      placed,
      catchUpRules({ states: ruled() }),
      evaluateConditions(),
      map(({ changes }) => changes.touched.map(({ current }) => current.firing)),
    );
    // A run shorter than the duration has nothing to report.
    expectObservable(moved).toBe('-x-x-f-x|', { x: [], f: [true] });
    expectSubscriptions(source.subscriptions).toBe('^-------!');
  });
});

test('absent data neither fires nor recovers an instance', async (t) => {
  const silence = { a: run.a, b: run.b, c: batch(151, HIGH), d: batch(181, HIGH), e: run.c };
  marbles(t, ({ cold, expectObservable }) => {
    const output = cold('abcd|', silence).pipe(placed, evaluate({ states: ruled() }), lines);
    expectObservable(output).toBe('xxxx|', { x: '' });
    const firing = { a: run.a, b: run.c, t: tick(90), u: tick(151), v: tick(200) };
    const kept = cold('abtuv|', firing).pipe(placed, evaluate({ states: ruled() }), lines);
    const missing = 'dataMissing since 60';
    expectObservable(kept).toBe('xfxxm|', { ...edges, f: edges.f, m: missing });
  });
});

test("emitEdges spreads an entry's instances over the turns of its pacer", async (t) => {
  const vms = ['vm-1', 'vm-2', 'vm-3'];
  const entries = { a: batch(0, HIGH, vms), c: batch(60, HIGH, vms), d: batch(90, LOW, vms) };
  marbles(t, ({ hot, expectObservable, expectSubscriptions }, pacer) => {
    const source = hot('-a-c--d---|', entries);
    const counted = source.pipe(
      placed,
      catchUpRules({ states: ruled() }),
      evaluateConditions(),
      emitEdges(pacer),
      map((evaluated) => evaluated.edges.length),
    );
    // The fourth step of three instances has their edges, three turns later.
    expectObservable(counted).toBe('-x----y--y|', { x: 0, y: 3 });
    expectSubscriptions(source.subscriptions).toBe('^---------!');
  });
});

test('evaluate emits once per entry, in log order', async (t) => {
  marbles(t, ({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot('-a-b-(cd)|', run);
    const evaluated = source.pipe(placed, evaluate({ states: ruled() }), lines);
    expectObservable(evaluated).toBe('-x-x-(fr)|', edges);
    expectSubscriptions(source.subscriptions).toBe('^--------!');
  });
});

test('evaluate produces the same edges later with a pacer', async (t) => {
  const vms = ['vm-1', 'vm-2', 'vm-3'];
  const batches = [batch(0, HIGH, vms), batch(60, HIGH, vms), batch(90, LOW, vms)];
  const [a, b, c] = batches as [LogEntry, LogEntry, LogEntry];
  const entries = { m: marker(0, rule), a, b, c };
  const through = (ports: Partial<EvaluationPorts>) =>
    pipe(placed, evaluate({ states: new Map(), ...ports }), lines);
  const each = (line: string) => ['', ' on vm-2', ' on vm-3'].map((vm) => line + vm).join();
  const expected = { x: '', f: each('fired at 60 since 0'), r: each('recovered at 90') };
  marbles(t, ({ hot, expectObservable, expectSubscriptions }, pacer) => {
    const source = hot('-mabc-|', entries);
    expectObservable(source.pipe(through({}))).toBe('-xxfr-|', expected);
    // The last batch waits until its predecessor has passed all stages.
    expectObservable(source.pipe(through({ pacer }))).toBe('-xx---f--(r|)', expected);
    expectSubscriptions(source.subscriptions).toBe(['^-----!', '^-----!']);
  });
});

test('evaluate accepts the next entry once the previous one is handled', async (t) => {
  marbles(t, ({ hot, cold, expectObservable, expectSubscriptions }) => {
    const source = hot('-abc---|', run);
    const commit = cold('--d|');
    const prepared: string[] = [];
    const handled = source.pipe(
      placed,
      evaluate({
        states: ruled(),
        prepare: tap(({ sequence }) => prepared.push(`prepared ${sequence}`)),
        handle: concatMap((evaluated) => commit.pipe(map(() => evaluated))),
      }),
      map(({ sequence, edges: found }) => [...prepared.splice(0), sequence, found.length].join()),
    );
    const seen = { x: 'prepared 1,1,0', y: 'prepared 2,2,0', f: 'prepared 3,3,1' };
    expectObservable(handled).toBe('---x--y--f|', seen);
    expectSubscriptions(commit.subscriptions).toBe(['-^--!', '----^--!', '-------^--!']);
    expectSubscriptions(source.subscriptions).toBe('^------!');
  });
});

test('evaluate passes each decoded entry through `arrive` first, and keeps states apart', async (t) => {
  const arrived: number[] = [];
  const arrive = map((entry: LoggedEntry & { entry: LogEntry }) => {
    arrived.push(entry.sequence);
    return { ...entry, partition: entry.sequence % 2 };
  });
  const states = new Map([1, 0].map((at) => [at, createState({ rules: [rule], firing: [] })]));
  marbles(t, ({ cold, expectObservable }) => {
    const log = { a: run.a, b: run.a, c: run.c, d: run.b };
    const output = cold('abcd|', log).pipe(placed, evaluate({ states, arrive }), lines);
    expectObservable(output).toBe('xxfx|', edges);
  });
  t.same(arrived, [1, 2, 3, 4]);
  marbles(t, ({ cold, expectObservable }) => {
    const held = cold('ab|', run).pipe(placed, evaluate({ states, arrive: () => NEVER }));
    expectObservable(held).toBe('---');
  });
});
