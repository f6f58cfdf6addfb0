/**
 * Properties of the fold over arbitrary logs, against an oracle that shares no code with it, with
 * any arrival order, duplication and batching. A failure prints the seed and the shrunk log.
 *
 * Prompt firing and independence of arrival order exclude each other, so three things are shown:
 * the timeline follows from the sorted observations alone; notifications follow from the log alone;
 * the two differ only by firings that are marked corrected.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { createState } from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import type { Edge, EvaluationRule } from '../../streams/telemetry/entry.ts';
import { type Arrivals, arrivals } from '../support/evaluation-arrivals.ts';
import { fold } from '../support/evaluation-fold.ts';
import {
  OracleObservations,
  type OracleSample,
  type OracleSpan,
  oracleSpans,
} from '../support/evaluation-oracle.ts';
import { batchOf, PROJECT, START_MS } from '../support/evaluation-scenario.ts';
import { occurrences, tries } from '../support/tries.ts';

const OPTIONS = { seed: 20_261_121, numRuns: tries(2_000) };

/** Timeline of the only instance in the evaluator; undefined before its first row. */
function timelineOf(state: EvaluationState) {
  const [vm] = state.projects.get(PROJECT)?.vms.values() ?? [];
  const [buffer] = vm?.buffers.values() ?? [];
  return buffer?.instances[0]?.current;
}

function start({ rule }: Arrivals): EvaluationState {
  return createState({ rules: [rule], firing: [] });
}

function edgesOf(world: Arrivals): Edge[] {
  const state = start(world);
  return world.log.flatMap((entry) => fold(state, entry).edges);
}

/** Observations known after the first `entries` entries, sorted. */
function observed({ rows }: Arrivals, entries = rows.length): OracleSample[] {
  const observations = new OracleObservations();
  for (const row of rows.slice(0, entries).flat()) {
    observations.arrive({ observedMs: START_MS + row.at * 1000, value: row.cpu });
  }
  return observations.sorted();
}

/** Every observation of the log, sorted; of several at one time the first received. */
function everything({ rows }: Arrivals): OracleSample[] {
  const values = new Map(
    rows
      .flat()
      .toReversed()
      .map(({ at, cpu }) => [START_MS + at * 1000, cpu]),
  );
  return [...values]
    .map(([observedMs, value]) => ({ observedMs, value }))
    .sort((a, b) => a.observedMs - b.observedMs);
}

test('EVAL-05: the timeline is a function of the sorted observations', async () => {
  const property = fc.property(arrivals(), (world) => {
    const state = start(world);
    for (const [i, entry] of world.log.entries()) {
      fold(state, entry);
      const last = oracleSpans(observed(world, i + 1), world.rule).at(-1);
      const timeline = timelineOf(state);
      const open = last?.endMs === Number.POSITIVE_INFINITY ? last : undefined;
      if ((timeline?.firing ?? false) !== (open !== undefined)) return false;
      if (open && timeline?.firedMs !== open.firedMs) return false;
      if (open && timeline?.startedMs !== open.startedMs) return false;
    }
    return true;
  });
  fc.assert(property, { ...OPTIONS, numRuns: tries(600) });
});

test('EVAL-05: notifications are a function of the log, with increasing times', async () => {
  const property = fc.property(arrivals(), (world) => {
    const edges = edgesOf(world);
    const again = edgesOf(world);
    const grows = edges.every((edge, i) => i === 0 || edge.atMs > (edges[i - 1]?.atMs ?? 0));
    return grows && JSON.stringify(edges) === JSON.stringify(again);
  });
  fc.assert(property, OPTIONS);
});

interface ReportedSpan {
  firedMs: number;
  endMs: number;
  corrected: boolean;
  notified: boolean;
}

/** What was notified to people and machines, as stretches. */
function reportedSpans(edges: readonly Edge[], { sustainedMs }: EvaluationRule): ReportedSpan[] {
  const spans: ReportedSpan[] = [];
  for (const edge of edges) {
    const last = spans.at(-1);
    if (edge.kind === 'fired') {
      const decided = edge.window.find((one) => one.observedMs - edge.startedMs >= sustainedMs);
      const firedMs = decided?.observedMs ?? edge.startedMs;
      const endMs = Number.POSITIVE_INFINITY;
      spans.push({ firedMs, endMs, corrected: false, notified: edge.notify });
    } else if (last && edge.kind === 'recovered') {
      last.endMs = edge.window.at(-1)?.observedMs ?? Number.NaN;
    } else if (last && edge.kind === 'corrected') {
      last.corrected = true;
    }
  }
  return spans;
}

function contains(span: OracleSpan, timeMs: number): boolean {
  return (span.firedMs <= timeMs || span.startedMs === timeMs) && timeMs <= span.endMs;
}

test('EVAL-05: notifications and timeline differ only in firings marked as corrected', async (t) => {
  let corrected = 0;
  const property = fc.property(arrivals(), (world) => {
    const state = start(world);
    const edges = world.log.flatMap((entry) => fold(state, entry).edges);
    if (state.counters.unrecorded > 0) return true;
    const spans = oracleSpans(observed(world), world.rule);
    const reported = reportedSpans(edges, world.rule);
    corrected += reported.filter((span) => span.corrected).length;
    const justified = reported.every(
      ({ firedMs, corrected }) => corrected || spans.some((span) => contains(span, firedMs)),
    );
    const recorded = spans.every(
      (span) =>
        span.endMs === Number.POSITIVE_INFINITY ||
        reported.some(({ firedMs, endMs }) => firedMs <= span.endMs && span.firedMs <= endMs),
    );
    return justified && recorded;
  });
  fc.assert(property, { ...OPTIONS, numRuns: tries(5_000) });
  t.ok(corrected > occurrences(100), `${corrected} firings were corrected`);
});

test('a recovery consists of observed good samples that span its duration', async (t) => {
  let recovered = 0;
  const property = fc.property(arrivals(), (world) => {
    const values = new Map(observed(world).map(({ observedMs, value }) => [observedMs, value]));
    const { threshold, recoveryThreshold = threshold, recoveryMs } = world.rule;
    return edgesOf(world).every((edge) => {
      if (edge.kind !== 'recovered') return true;
      recovered++;
      const [first, last] = [edge.window.at(0), edge.window.at(-1)];
      const spans = first && last && last.observedMs - first.observedMs >= recoveryMs;
      return (
        spans &&
        edge.window.every(({ observedMs, value }, i) => {
          const sinceMs = observedMs - (edge.window[i - 1]?.observedMs ?? observedMs);
          return (
            values.get(observedMs) === value && value <= recoveryThreshold && sinceMs <= 90_000
          );
        })
      );
    });
  });
  fc.assert(property, OPTIONS);
  t.ok(recovered > occurrences(1_000), `${recovered} recoveries`);
});

test('every output value was an input value at the same time', async (t) => {
  let values = 0;
  const property = fc.property(arrivals(), (world) => {
    const input = new Set(world.rows.flat().map(({ at, cpu }) => `${START_MS + at * 1000} ${cpu}`));
    return edgesOf(world).every((edge) => {
      if (!('window' in edge)) return edge.value === undefined;
      values += edge.window.length;
      const known = edge.window.at(-1)?.value === edge.value;
      const sorted = edge.window.every(
        ({ observedMs }, i) => i === 0 || observedMs > (edge.window[i - 1]?.observedMs ?? 0),
      );
      const came = edge.window.every(({ observedMs, value }) =>
        input.has(`${observedMs} ${value}`),
      );
      return known && sorted && came;
    });
  });
  fc.assert(property, OPTIONS);
  t.ok(values > occurrences(5_000), `${values} values`);
});

test('MEAS-06: removed samples never produce a recovery', async (t) => {
  const removal = fc.record({ world: arrivals(), removed: fc.func(fc.boolean()) });
  let compared = 0;
  const property = fc.property(removal, ({ world, removed }) => {
    const rule = { ...world.rule, recoveryMs: 0 };
    const rows = world.rows.map((batch) => batch.filter(({ at }) => !removed(at)));
    // All samples, however late: without some of them, others may no longer be late.
    const whole = oracleSpans(everything(world), rule);
    const state = createState({ rules: [rule], firing: [] });
    const edges = world.log.flatMap((entry, i) => {
      const batch = rows[i] ?? [];
      if (entry.kind !== 'batch') return fold(state, entry).edges;
      if (batch.length === 0) return [];
      const receivedAt = (entry.batch.receivedMs - START_MS) / 1000;
      return fold(state, { kind: 'batch', batch: batchOf(receivedAt, batch) }).edges;
    });
    return edges.every((edge) => {
      if (edge.kind !== 'recovered') return true;
      compared++;
      const atMs = edge.window.at(-1)?.observedMs ?? 0;
      return whole.every((span) => atMs <= span.firedMs || span.endMs <= atMs);
    });
  });
  fc.assert(property, OPTIONS);
  t.ok(compared > occurrences(500), `${compared} recoveries compared`);
});

test('silence from any position on reports only missing data', async () => {
  const cut = fc.record({ world: arrivals(), at: fc.nat(60) });
  const property = fc.property(cut, ({ world, at }) => {
    const state = start(world);
    for (const entry of world.log.slice(0, at)) fold(state, entry);
    const silence = Array.from({ length: 300 }, (_, i) => START_MS + 86_400_000 + i * 30_000);
    const edges = silence.flatMap((atMs) => fold(state, { kind: 'tick', atMs }).edges);
    return edges.length <= 1 && edges.every(({ kind }) => kind === 'dataMissing');
  });
  fc.assert(property, OPTIONS);
});
