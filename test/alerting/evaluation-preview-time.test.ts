/**
 * Previews of time-based rules against live evaluation with its ticks: arbitrary histories with
 * gaps, stops and late rows go through the live fold and into a real history, from which a preview
 * reads them. Both must report the same stretches. Late rows are stored as they arrive. Live
 * reports depend on their time of arrival, so the live log has them in that order.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { HistoryView } from '../../sqlite/telemetry/history/store/history-view.ts';
import { previewAlert } from '../../src/telemetry/query/preview/alert-preview.ts';
import type { EvaluationRule, LogEntry } from '../../streams/telemetry/entry.ts';
import {
  batchOf,
  cpuRule,
  EvaluationWorld,
  type ShortRow,
  START_MS,
} from '../support/evaluation-scenario.ts';
import { openStore, PARTITION } from '../support/history-from-log.ts';
import { occurrences, tries } from '../support/tries.ts';

const OPTIONS = { seed: 20_261_121, numRuns: tries(1_200) };

interface Step {
  readonly intervals: number;
  readonly jitter: number;
  readonly delay: number;
  /** Index into `VM_STATES`, and the hypervisor's reason. */
  readonly power: readonly [state: number, reason: string];
}

const step: fc.Arbitrary<Step> = fc.record({
  intervals: fc.constantFrom(1, 1, 1, 1, 2, 3, 4, 6, 12, 30),
  jitter: fc.integer({ min: 0, max: 14 }),
  delay: fc.constantFrom(0, 0, 0, 0, 0, 2, 31, 95, 200),
  power: fc.constantFrom<readonly [number, string]>(
    ...Array<readonly [number, string]>(8).fill([1, '']),
    ...([
      [0, ''],
      [2, 'user'],
      [3, 'shutdown'],
      [3, 'destroyed'],
      [4, 'crashed'],
    ] as const),
  ),
});

const rules: fc.Arbitrary<EvaluationRule> = fc.oneof(
  fc
    .record({
      operator: fc.constantFrom('GREATER_THAN' as const, 'GREATER_THAN_OR_EQUAL' as const),
      threshold: fc.constantFrom(30, 60, 90, 120, 300),
      sustainedMs: fc.constantFrom(0, 0, 60_000, 300_000),
      recoveryMs: fc.constantFrom(0, 0, 60_000),
    })
    .map((rule) => cpuRule({ metricId: 'telemetry_age_seconds', ...rule })),
  fc
    .record({ sustainedMs: fc.constantFrom(0, 0, 60_000) })
    .map((rule) =>
      cpuRule({ metricId: 'unexpected_stop', operator: 'EQUAL', threshold: 1, ...rule }),
    ),
);

interface ReceivedRow {
  readonly receivedAt: number;
  readonly row: ShortRow;
}

/** Rows in time order; `receivedAt` is later for some. Seconds since the start. */
function rowsOf(steps: readonly Step[], vm: string): ReceivedRow[] {
  let grid = 0;
  return steps.map(({ intervals, jitter, delay, power: [state, stateReason] }) => {
    grid += 30 * intervals;
    const at = grid + jitter;
    return { receivedAt: at + delay, row: { vm, at, state, stateReason } };
  });
}

/** Batches of one row, received at observation, with ticks every 15 s up to `endAt`. */
function logOf(rows: readonly ReceivedRow[], endAt: number): LogEntry[] {
  const log: LogEntry[] = [];
  let tickAt = 0;
  const tickUpTo = (at: number): void => {
    for (; tickAt <= at; tickAt += 15) log.push({ kind: 'tick', atMs: START_MS + tickAt * 1000 });
  };
  for (const { row } of rows) {
    tickUpTo(row.at);
    log.push({ kind: 'batch', batch: batchOf(row.at, [row]) });
  }
  tickUpTo(endAt);
  return log;
}

interface Reported {
  readonly startedMs: number;
  endedMs?: number;
}

/**
 * Live evaluation to the end, with the rule's marker at `fromAt` seconds. Stretches, oldest first.
 */
function live(log: readonly LogEntry[], rule: EvaluationRule, fromAt: number): Reported[] {
  const world = new EvaluationWorld();
  let applied = false;
  for (const entry of log) {
    const atMs = entry.kind === 'batch' ? entry.batch.receivedMs : entry.atMs;
    if (!applied && atMs > START_MS + fromAt * 1000) {
      world.marker(fromAt, { upserts: [rule] });
      applied = true;
    }
    world.entry(entry);
  }
  const reported: Reported[] = [];
  for (const edge of world.edges) {
    if (edge.kind === 'fired') reported.push({ startedMs: edge.startedMs });
    const last = reported.at(-1);
    if (edge.kind === 'recovered' && last && edge.observedMs !== undefined) {
      last.endedMs = edge.observedMs;
    }
  }
  return reported.toSorted((a, b) => a.startedMs - b.startedMs);
}

test('a preview of a time-based rule reports the live notifications, including those of ticks', async (t) => {
  const store = openStore({ folder: t.testdir() });
  const view = new HistoryView(store.share);
  t.teardown(async () => {
    view.close();
    await store.close();
  });
  let runs = 0;
  let sequence = 0;
  const seen = { compared: 0, firings: 0, late: 0, before: 0 };
  const history = fc.record({
    rule: rules,
    steps: fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
    fromAt: fc.constantFrom(-30, -30, 307, 1_234, 5_000),
    silentFor: fc.constantFrom(0, 30, 150, 400, 4_000),
  });
  const property = fc.property(history, ({ rule, steps, fromAt, silentFor }) => {
    const vm = `vm-${++runs}`;
    const rows = rowsOf(steps, vm);
    for (const { receivedAt, row } of rows.toSorted((a, b) => a.receivedAt - b.receivedAt)) {
      const batch = batchOf(receivedAt, [row]);
      store.append(batch, { partition: PARTITION, sequence: ++sequence });
    }
    const endAt = 15 * Math.ceil(((rows.at(-1)?.row.at ?? 0) + silentFor) / 15);
    if (endAt <= fromAt) return;
    const [fromMs, toMs] = [START_MS + fromAt * 1000, START_MS + endAt * 1000];
    const call = { rule, fromMs, toMs, retainedFromMs: 0, known: [{ id: vm, registeredMs: 0 }] };
    const { firings } = previewAlert(view, call, () => false);
    const found = firings.map(({ labels: _, vm: __, ...stretch }) => stretch);
    assert.deepEqual(found, live(logOf(rows, endAt), rule, fromAt));
    seen.compared++;
    seen.firings += found.length;
    if (rows.some(({ receivedAt, row }) => receivedAt > row.at)) seen.late++;
    if (found.some(({ startedMs }) => startedMs < fromMs)) seen.before++;
  });
  fc.assert(property, OPTIONS);
  t.ok(seen.compared > occurrences(500), `${seen.compared} histories`);
  t.ok(seen.firings > occurrences(1_000), `${seen.firings} firings`);
  t.ok(seen.late > occurrences(200), `${seen.late} histories with late rows`);
  t.ok(seen.before > occurrences(20), `${seen.before} that began before the window`);
});
