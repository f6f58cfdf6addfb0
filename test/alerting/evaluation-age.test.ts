/**
 * Properties of rules on the age of telemetry, against the oracle: over arbitrary logs of one VM
 * that falls silent, stops and returns, in any order of arrival. Notifications follow the log, and
 * differ from the sorted observations only by firings marked corrected.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { inspect } from '../../streams/alerting/evaluation/inspect.ts';
import { createState } from '../../streams/alerting/evaluation/pipeline.ts';
import type { LastObservation } from '../../streams/alerting/evaluation/state.ts';
import type { Edge, EvaluationRule, LogEntry } from '../../streams/telemetry/entry.ts';
import { agree, Decisions, decideAll } from '../support/evaluation-decisions.ts';
import { fold } from '../support/evaluation-fold.ts';
import { type OracleSign, oracleSilence } from '../support/evaluation-oracle.ts';
import { batchOf, cpuRule, PROJECT, START_MS } from '../support/evaluation-scenario.ts';
import { occurrences, tries } from '../support/tries.ts';

const OPTIONS = { seed: 20_261_121, numRuns: tries(1_500) };
const LATENESS_MS = 300_000;

interface Sign {
  readonly intervals: number;
  readonly jitter: number;
  readonly delay: number;
  readonly isStopped: boolean;
}

interface World {
  readonly rule: EvaluationRule;
  readonly signs: readonly Sign[];
  /** Offset of ticks from each quarter of a minute, s. */
  readonly phase: number;
}

const sign = (delays: readonly number[]): fc.Arbitrary<Sign> =>
  fc.record({
    intervals: fc.constantFrom(1, 1, 1, 1, 2, 3, 4, 6, 12, 20),
    jitter: fc.integer({ min: 0, max: 14 }),
    delay: fc.constantFrom(...delays),
    isStopped: fc.nat(11).map((n) => n === 0),
  });

const world = (delays: readonly number[] = [0, 0, 0, 0, 2, 31, 95, 290, 900]) =>
  fc.record<World>({
    rule: fc
      .record({
        threshold: fc.constantFrom(60, 120, 150, 300),
        sustainedMs: fc.constantFrom(0, 0, 60_000, 300_000),
        recoveryMs: fc.constantFrom(0, 0, 60_000),
      })
      .map((rule) => cpuRule({ metricId: 'telemetry_age_seconds', ...rule })),
    signs: fc.array(sign(delays), { minLength: 1, maxLength: 30, size: 'max' }),
    phase: fc.integer({ min: 0, max: 14 }),
  });

interface Placed extends OracleSign {
  readonly receivedMs: number;
}

/** In order of arrival; ten quiet minutes follow the last sign. */
function placed({ signs }: World): Placed[] {
  let grid = 0;
  const all = signs.map(({ intervals, jitter, delay, isStopped }) => {
    grid += 30 * intervals;
    const observedMs = START_MS + 1000 * (grid + jitter);
    return { observedMs, receivedMs: observedMs + 1000 * delay, isStopped };
  });
  return all.sort((a, b) => a.receivedMs - b.receivedMs);
}

function endOf(all: readonly Placed[]): number {
  return (all.at(-1)?.receivedMs ?? 0) + 600_000;
}

function logOf(it: World): LogEntry[] {
  const all = placed(it);
  const log: LogEntry[] = [];
  let tickMs = START_MS + 1000 * it.phase;
  const tickUpTo = (untilMs: number): void => {
    for (; tickMs <= untilMs; tickMs += 15_000) log.push({ kind: 'tick', atMs: tickMs });
  };
  for (const { observedMs, receivedMs, isStopped } of all) {
    tickUpTo(receivedMs);
    const stop = isStopped ? { state: 3, stateReason: 'shutdown' } : {};
    const row = { at: (observedMs - START_MS) / 1000, ...stop };
    const receivedAt = (receivedMs - START_MS) / 1000;
    log.push({ kind: 'batch', batch: batchOf(receivedAt, [row]) });
  }
  tickUpTo(endOf(all));
  return log;
}

/** Signs that the evaluator may know, sorted: those within the lateness bound on arrival. */
function known(it: World): OracleSign[] {
  const signs: OracleSign[] = [];
  let newestMs = Number.NEGATIVE_INFINITY;
  for (const one of placed(it)) {
    if (one.observedMs < newestMs - LATENESS_MS) continue;
    if (signs.some(({ observedMs }) => observedMs === one.observedMs)) continue;
    signs.push(one);
    newestMs = Math.max(newestMs, one.observedMs);
  }
  return signs.sort((a, b) => a.observedMs - b.observedMs);
}

function spansOf(it: World) {
  const { threshold, sustainedMs, recoveryMs } = it.rule;
  const rule = { thresholdMs: threshold * 1000, sustainedMs, recoveryMs };
  const lastTick = logOf(it).findLast(({ kind }) => kind === 'tick');
  const nowMs = lastTick?.kind === 'tick' ? lastTick.atMs : 0;
  return oracleSilence(known(it), rule, nowMs);
}

interface Reported {
  readonly startedMs: number;
  readonly firedMs: number;
  endMs: number;
  corrected: boolean;
}

function reportedOf(edges: readonly Edge[]): Reported[] {
  const reported: Reported[] = [];
  for (const edge of edges) {
    const last = reported.at(-1);
    if (edge.kind === 'fired') {
      const { startedMs, observedMs: firedMs = 0 } = edge;
      reported.push({ startedMs, firedMs, endMs: Number.POSITIVE_INFINITY, corrected: false });
    } else if (last && edge.kind === 'recovered') last.endMs = edge.observedMs ?? Number.NaN;
    else if (last && edge.kind === 'corrected') last.corrected = true;
  }
  return reported;
}

function run(it: World) {
  const state = createState({ rules: [it.rule], firing: [] });
  const edges = logOf(it).flatMap((entry) => fold(state, entry).edges);
  return { state, edges };
}

test('EVAL-04: rows in order produce the oracle’s notifications at any tick times', async (t) => {
  let compared = 0;
  const property = fc.property(world([0]), (it) => {
    const wanted = spansOf(it).map(({ startedMs, firedMs, endMs }) => [startedMs, firedMs, endMs]);
    const reported = reportedOf(run(it).edges).map((one) => [
      one.startedMs,
      one.firedMs,
      one.endMs,
    ]);
    compared += reported.length;
    return JSON.stringify(reported) === JSON.stringify(wanted);
  });
  fc.assert(property, OPTIONS);
  t.ok(compared > occurrences(1_000), `${compared} firings`);
});

test('EVAL-05: notifications and timeline differ only in firings marked as corrected', async (t) => {
  const seen = { reported: 0, corrected: 0 };
  const property = fc.property(world(), (it) => {
    const { state, edges } = run(it);
    const spans = spansOf(it);
    const reported = reportedOf(edges);
    seen.reported += reported.length;
    seen.corrected += reported.filter(({ corrected }) => corrected).length;
    if (state.counters.unrecorded > 0) return true;
    const justified = reported.every(
      ({ firedMs, corrected }) =>
        corrected || spans.some((span) => span.firedMs <= firedMs && firedMs <= span.endMs),
    );
    const recorded = spans.every((span) =>
      reported.some(({ firedMs, endMs }) => firedMs <= span.endMs && span.firedMs <= endMs),
    );
    return justified && recorded;
  });
  fc.assert(property, OPTIONS);
  t.ok(
    seen.reported > occurrences(1_000) && seen.corrected > occurrences(50),
    JSON.stringify(seen),
  );
});

test('EVAL-07: only a fresh row recovers unavailable telemetry, and edge times increase', async (t) => {
  let recovered = 0;
  const property = fc.property(world(), (it) => {
    const state = createState({ rules: [it.rule], firing: [] });
    let lastMs = Number.NEGATIVE_INFINITY;
    return logOf(it).every((entry) => {
      const { edges } = fold(state, entry);
      return edges.every((edge) => {
        const grows = edge.atMs > lastMs;
        lastMs = edge.atMs;
        // A run that is over when it is found is recorded as it was, at any time.
        const isPast = edges.some((one) => one.kind === 'fired' && !one.notify);
        if (edge.kind !== 'recovered' || isPast) return grows;
        recovered++;
        if (entry.kind !== 'batch') return false;
        const newestMs = Math.max(
          ...known(it)
            .map(({ observedMs }) => observedMs)
            .filter((ms) => ms <= entry.batch.receivedMs),
        );
        const ageMs = entry.batch.receivedMs - newestMs;
        return grows && ageMs <= it.rule.threshold * 1000;
      });
    });
  });
  fc.assert(property, OPTIONS);
  t.ok(recovered > occurrences(1_000), `${recovered} recoveries`);
});

test('EVAL-18: an evaluator rebuilt from the log’s start decides like one that never stopped', async () => {
  const property = fc.property(world(), (it) => {
    const log = logOf(it);
    const seed = { rules: [it.rule], firing: [] };
    const never = new Decisions();
    const state = createState(seed);
    decideAll(state, log, never);
    const every = Math.max(1, Math.floor(log.length / 12));
    return log.every((_, stop) => {
      if (stop % every !== 0) return true;
      const decisions = new Decisions();
      decideAll(createState(seed), log.slice(0, stop), decisions);
      const rebuilt = createState({ ...seed, firing: decisions.incidents() });
      decideAll(rebuilt, log, decisions);
      const soft = (of: typeof state) => JSON.stringify(inspect(of, PROJECT));
      return soft(rebuilt) === soft(state) && agree(decisions.made, never.made);
    });
  });
  fc.assert(property, { ...OPTIONS, numRuns: tries(150) });
});

test('EVAL-18: an evaluator rebuilt from a floor, rows and last observations continues unchanged', async (t) => {
  let compared = 0;
  const property = fc.property(world([0, 0, 2]), fc.nat(400), fc.nat(400), (it, a, b) => {
    const log = logOf(it);
    const [floor = 0, stop = 0] = [a % log.length, b % log.length].sort((x, y) => x - y);
    if (log[floor]?.kind !== 'tick') return true;
    const never = new Decisions();
    const state = createState({ rules: [it.rule], firing: [] });
    decideAll(state, log.slice(0, stop), never);
    const rows = new Decisions(never);
    const made = never.made.length;
    decideAll(state, log.slice(stop), never);
    const floorEntry = log[floor];
    const floorMs = floorEntry?.kind === 'tick' ? floorEntry.atMs : 0;
    const before = known(it)
      .filter(({ observedMs }) => observedMs < floorMs)
      .at(-1);
    const hasGrace = before && known(it).some((one) => one.isStopped && one.observedMs < floorMs);
    if (hasGrace) return true;
    const observed: LastObservation[] = before
      ? [{ project: PROJECT, vm: 'vm-1', observedMs: before.observedMs, power: 'RUNNING' }]
      : [];
    const rebuilt = createState({ rules: [it.rule], firing: rows.incidents(), observed });
    const decisions = new Decisions(rows);
    // Ticks before the floor were received, so the log's first tick does not end a gap in
    // listening.
    rebuilt.lastTickMs = floorMs - 15_000;
    rebuilt.listeningSinceMs = START_MS;
    decideAll(rebuilt, log.slice(floor, stop), decisions);
    if (decisions.made.length > 0) return false;
    decideAll(rebuilt, log.slice(stop), decisions);
    compared++;
    return agree(decisions.made, never.made.slice(made));
  });
  fc.assert(property, OPTIONS);
  t.ok(compared > occurrences(300), `${compared} restarts`);
});
