/**
 * Recordings replay for ever: each file of test/alerting/replays goes through the pipeline under a virtual
 * clock, and its edges are compared with the text beside it. `SVC_TEST_UPDATE=replays` writes that
 * text anew, to be reviewed as a diff.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { asyncScheduler, map, pipe } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import t from 'tap';
import { foldLog, type PositionedEntry } from '../../streams/alerting/evaluation/fold-log.ts';
import { pacedByLog } from '../../streams/alerting/evaluation/paced-by-log.ts';
import { withPast } from '../../streams/alerting/evaluation/with-past.ts';
import {
  formatRecording,
  MalformedRecording,
  parseRecording,
  replay,
} from '../../streams/alerting/replay.ts';
import type { Edge, LogEntry } from '../../streams/telemetry/entry.ts';
import { batchOf, cpuRule, edgeLine, START_MS } from '../support/evaluation-world.ts';

const folder = new URL('./replays/', import.meta.url);
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.recording'))
  .map((name) => name.slice(0, -'.recording'.length));

/** Edges as text: the entry's position, the edge, and the values that decided it. */
function edgesText(entries: readonly LogEntry[]): string {
  const line = (
    sequence: number,
    { atMs, window, ...edge }: Edge & { window?: unknown },
  ): string => {
    const { kind, key, ...facts } = edge;
    return `${sequence} ${kind} ${atMs} ${JSON.stringify(facts)} ${JSON.stringify(key)}${
      window === undefined ? '' : `\n    ${JSON.stringify(window)}`
    }`;
  };
  return replay(entries)
    .flatMap(({ sequence, edges }) => edges.map((edge) => `${line(sequence, edge)}\n`))
    .join('');
}

for (const name of names) {
  t.test(`the recording ${name} leads to the edges beside it`, (t) => {
    const recording = readFileSync(new URL(`${name}.recording`, folder), 'utf8');
    const edges = new URL(`${name}.edges`, folder);
    const entries = parseRecording(recording);
    if (process.env.SVC_TEST_UPDATE === 'replays') writeFileSync(edges, edgesText(entries));
    t.equal(edgesText(entries), readFileSync(edges, 'utf8'));
    const again = parseRecording(formatRecording(entries));
    t.equal(edgesText(again), edgesText(entries), 'and so does the recording of what was read');
    t.end();
  });
}

t.test('a recording that cannot be read names the line', (t) => {
  t.ok(names.length > 2, 'there are recordings');
  t.throws(
    () => parseRecording('svc-recording 2\n'),
    new MalformedRecording('Line 1 is not "svc-recording 1" but "svc-recording 2"'),
  );
  t.throws(() => parseRecording('svc-recording 1\n\n{"tock": 1}\n'), /Line 3: An entry is one of/);
  t.throws(() => parseRecording('svc-recording 1\n{"tick": \n'), /Line 2: /);
  const nothing =
    '{"batch": {"receivedMs": 1, "rows": [{"project": "p", "vm": "v", "values": {"a": null}}]}}';
  t.throws(() => parseRecording(`svc-recording 1\n${nothing}\n`), /Line 2: .*not finite/);
  t.end();
});

type Marbles = Parameters<TestScheduler['run']>[0];

/** Runs marbles in virtual time; one frame is one ms. */
function marbles(t: { same(found: unknown, wanted: unknown): void }, test: Marbles): void {
  new TestScheduler((actual, expected) => t.same(actual, expected)).run(test);
}

const batch = (at: number, cpu: number): LogEntry => ({
  kind: 'batch',
  batch: batchOf(at, [{ at, cpu }]),
});

/** Entries with their position. */
const positioned = () =>
  map((entry: LogEntry, i: number): PositionedEntry => ({ sequence: i + 1, entry }));

t.test('foldLog emits once for each entry, and every subscription has its own state', (t) => {
  const seed = { rules: [cpuRule({ sustainedMs: 30_000 })], firing: [] };
  const entries = { a: batch(0, 95), b: batch(30, 95), c: batch(60, 10) };
  const values = { x: '', f: 'fired at 30 since 0', r: 'recovered at 60' };
  marbles(t, ({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot('-a-b-c|', entries);
    const folded = source.pipe(
      positioned(),
      foldLog(seed),
      map(({ edges }) => edges.map(edgeLine).join()),
    );
    expectObservable(folded).toBe('-x-f-r|', values);
    expectObservable(folded, '--^--!').toBe('---x', values);
    expectSubscriptions(source.subscriptions).toBe(['^-----!', '--^--!']);
  });
  t.end();
});

t.test('withPast hands a marker the batches before it, as far back as is kept', (t) => {
  const marker: LogEntry = { kind: 'rules', atMs: START_MS, upserts: [], removals: [] };
  const tick: LogEntry = { kind: 'tick', atMs: START_MS };
  const entries = { a: batch(0, 1), b: batch(60, 2), c: batch(120, 3), t: tick, m: marker };
  const secondsOf = (past: Iterable<LogEntry>): number[] =>
    [...past].map((one) => (one.kind === 'batch' ? (one.batch.receivedMs - START_MS) / 1000 : -1));
  marbles(t, ({ cold, expectObservable }) => {
    const past = cold('mabtcm|', entries).pipe(
      positioned(),
      withPast(60_000),
      map((entry) => entry.past && secondsOf(entry.past)),
    );
    expectObservable(past).toBe('xnnnny|', { x: [], n: undefined, y: [60, 120] });
  });
  t.end();
});

t.test('pacedByLog lets entries pass at the pace of their receipt', (t) => {
  const entries = { a: batch(0, 1), b: batch(0.002, 2), c: batch(0.006, 3), d: batch(0.004, 4) };
  const paced = (speed: number) =>
    pipe(
      positioned(),
      pacedByLog<PositionedEntry>(asyncScheduler, speed),
      map(({ entry }) => entry),
    );
  marbles(t, ({ cold, expectObservable }) => {
    const all = () => cold('(abcd|)', entries);
    expectObservable(all().pipe(paced(1))).toBe('a-b---(cd|)', entries);
    expectObservable(all().pipe(paced(2))).toBe('ab-(cd|)', entries);
  });
  t.end();
});
