/**
 * Every breach that satisfies a rule has exactly one incident, and no incident ends without
 * observed samples that end it. Derived from the samples in order of arrival by the definition
 * (EVAL-01 to EVAL-03), without code of the evaluator.
 *
 * The comparison is exact where a series arrived in order: the incidents of a revision in force at
 * the end match the stretches of firing one for one, with their times; those of a replaced revision
 * match the first stretches, as far as it was evaluated. Where samples were late, premature firings
 * may stay, marked, and the past is recorded only while no other incident is open (EVAL-05 to
 * EVAL-07). There, each incident must have been decided by existing samples. The effect of late
 * samples on reports is compared with a run without restarts (`replayed.ts`).
 */
import type { EvaluationRule } from '../../../streams/telemetry/entry.ts';
import { type Fact, type Facts, revisionOf } from './facts.ts';
import type { Force, Observation, Observations } from './observations.ts';
import type { Problem } from './problem.ts';

const TOLERANCE_MS = 90_000;

interface Span {
  readonly startedMs: number;
  readonly firedMs: number;
  /** Infinity while it continues. */
  endMs: number;
}

/** A decided incident. */
interface Decided extends Span {
  readonly fired: Fact;
  recovered: Fact | undefined;
}

export function* wrongIncidents(facts: Facts, observations: Observations): Generator<Problem> {
  const decided = decidedIncidents(facts);
  for (const force of observations.forces) {
    const { project, vms, metricId } = force.rule;
    for (const vm of vms ?? observations.vms(project)) {
      for (const [labels, series] of observations.of(project, vm, metricId)) {
        const key = instanceKey({ ...force.rule, vm, labels });
        const incidents = decided.get(key) ?? [];
        decided.delete(key);
        // A revision that was taken out of force and put back has no single timeline.
        const isWhole = observations.forces.filter((each) => isSame(each, force)).length === 1;
        if (isWhole && !facts.cutRules.has(revisionOf(force.rule)))
          yield* judged(force, series, incidents, key);
      }
    }
  }
  for (const [key, [first]] of decided) {
    if (isOnSilence(observations, key)) {
      yield* endedBySilence(observations, decided.get(key) ?? [], key);
      continue;
    }
    const atMs = first?.fired.elapsedMs ?? 0;
    yield { invariant: 'one incident for each breach', text: `${key} fires unobserved`, atMs };
  }
}

/** Silence recovers by an observation and by nothing else. */
function* endedBySilence(
  observations: Observations,
  incidents: readonly Decided[],
  key: string,
): Generator<Problem> {
  const [project = '', , , vm = ''] = key.split(' ');
  if (vm === '') return;
  const series = [...observations.of(project, vm, 'vm_running').values()].flat();
  for (const { recovered, endMs } of incidents) {
    const atMs = recovered?.elapsedMs ?? 0;
    if (!recovered || series.some((o) => o.observedMs === endMs && o.elapsedMs <= atMs)) continue;
    const text = `${key} recovers by a sample at ${endMs}, which was not observed`;
    yield { invariant: 'no recovery unobserved', text, atMs };
  }
}

/** Rules on silence fire as time passes: the log of samples alone does not say when. */
function isOnSilence({ forces }: Observations, key: string): boolean {
  return forces.some(
    ({ rule }) =>
      rule.metricId === 'telemetry_age_seconds' &&
      key.startsWith(`${rule.project} ${rule.rule} ${rule.evaluationRevision} `),
  );
}

function isSame({ rule: a }: Force, { rule: b }: Force): boolean {
  return (
    a.project === b.project && a.rule === b.rule && a.evaluationRevision === b.evaluationRevision
  );
}

function instanceKey(of: {
  readonly project: string;
  readonly rule: string;
  readonly evaluationRevision: number;
  readonly vm: string;
  readonly labels: string;
}): string {
  return [of.project, of.rule, of.evaluationRevision, of.vm, of.labels].join(' ');
}

function decidedIncidents({ steps }: Facts): Map<string, Decided[]> {
  const all = new Map<string, Decided[]>();
  for (const fact of steps) {
    const { machine, event, context } = fact.step;
    if (machine !== 'alertInstance') continue;
    const key = instanceKey(context as unknown as Parameters<typeof instanceKey>[0]);
    const list = all.get(key) ?? [];
    if (event.type === 'sustained') {
      const times = { startedMs: Number(event.startedMs), firedMs: Number(event.observedMs) };
      list.push({ ...times, endMs: Number.POSITIVE_INFINITY, fired: fact, recovered: undefined });
      all.set(key, list);
    }
    const last = list.at(-1);
    if (event.type !== 'recovered' || !last) continue;
    last.endMs = Number(event.observedMs);
    last.recovered = fact;
  }
  return all;
}

function* judged(
  force: Force,
  series: readonly Observation[],
  incidents: readonly Decided[],
  key: string,
): Generator<Problem> {
  const own = series.filter(
    ({ observedMs, entry }) => observedMs >= force.sinceMs && entry < force.until,
  );
  const isRegular = arrivedInOrder(force, series);
  for (const incident of incidents) {
    yield* observedEnd(force.rule, own, incident, key);
    if (!isRegular) yield* observedBegin(force.rule, own, incident, key);
  }
  if (!isRegular) return;
  const isReported = ({ firedMs }: Span) => incidents.some((each) => each.firedMs === firedMs);
  const spans = spansOf(force.rule, own).filter(
    (span) =>
      !isBefore(force, own, span.endMs) && (isReported(span) || !isUndecided(force, own, span)),
  );
  const isEnded = force.until !== Number.POSITIVE_INFINITY;
  const text = () =>
    `${key}: incidents ${formatSpans(incidents)}, but the samples say ${formatSpans(spans)} ` +
    `(in force from ${force.from} to ${force.until})`;
  const wrong = firstDifference(incidents, spans, isEnded);
  if (wrong === undefined) return;
  const atMs = incidents[wrong]?.fired.elapsedMs ?? arrival(own, spans[wrong]?.firedMs);
  yield { invariant: 'one incident for each breach', text: text(), atMs };
}

/** Late samples can change reports even if they are older than the revision. */
const LATENESS_MS = 300_000;

function arrivedInOrder({ sinceMs, until }: Force, series: readonly Observation[]): boolean {
  return isInOrder(
    series.filter(({ observedMs, entry }) => observedMs >= sinceMs - LATENESS_MS && entry < until),
  );
}

/** True if it had ended before the revision came into force: then it notifies no one (EVAL-16). */
function isBefore({ from }: Force, series: readonly Observation[], endMs: number): boolean {
  const end = series.find(({ observedMs }) => observedMs === endMs);
  return end !== undefined && end.entry < from;
}

/**
 * True if it has not ended although each of its breaches was old on arrival. It is reported on the
 * next fresh breach, or recorded when good samples end it; values between the two thresholds do
 * neither (EVAL-06). A clock that is set back also makes it fresh.
 */
function isUndecided(
  { rule, atMs }: Force,
  series: readonly Observation[],
  { firedMs, endMs }: Span,
): boolean {
  if (endMs !== Number.POSITIVE_INFINITY) return false;
  return !series.some(({ observedMs, receivedMs, value }) => {
    const knownMs = Math.max(receivedMs, atMs);
    return observedMs >= firedMs && observedMs >= knownMs - TOLERANCE_MS && isBreach(rule, value);
  });
}

/**
 * Index of the first difference. @param isEnded the revision was replaced: the last span may be cut
 */
function firstDifference(
  incidents: readonly Span[],
  spans: readonly Span[],
  isEnded: boolean,
): number | undefined {
  const count = isEnded ? incidents.length : Math.max(incidents.length, spans.length);
  for (let i = 0; i < count; i++) {
    const [incident, span] = [incidents[i], spans[i]];
    if (!incident || !span) return i;
    if (incident.startedMs !== span.startedMs || incident.firedMs !== span.firedMs) return i;
    const isCut = isEnded && i === incidents.length - 1 && incident.endMs === Infinity;
    if (incident.endMs !== span.endMs && !isCut) return i;
  }
  return undefined;
}

/** The sample that ended it exists, is good, and arrived before the decision. */
function* observedEnd(
  rule: EvaluationRule,
  series: readonly Observation[],
  { recovered, endMs, firedMs }: Decided,
  key: string,
): Generator<Problem> {
  if (!recovered) return;
  const { elapsedMs: atMs } = recovered;
  const invariant = 'no recovery unobserved';
  const known = firstOfEachTime(series.filter((each) => each.elapsedMs <= atMs));
  const end = known.find(({ observedMs }) => observedMs === endMs);
  const problem = (why: string): Problem => ({ invariant, text: `${key} recovers ${why}`, atMs });
  if (!end) return yield problem(`by a sample at ${endMs}, which was not observed`);
  if (!isGood(rule, end.value)) yield problem(`by ${end.value} at ${endMs}, which is not good`);
  if (endMs <= firedMs) yield problem(`at ${endMs}, before it fired at ${firedMs}`);
  if (!isInOrder(series)) return;
  const run = runBefore(known, end, ({ value }) => isGood(rule, value));
  if (endMs - run < rule.recoveryMs) yield problem(`after ${endMs - run} ms of good samples`);
}

/** The sample that fired it exists, breaches, and arrived before the decision. */
function* observedBegin(
  rule: EvaluationRule,
  series: readonly Observation[],
  { fired, firedMs, startedMs }: Decided,
  key: string,
): Generator<Problem> {
  const { elapsedMs: atMs } = fired;
  const known = series.filter((each) => each.elapsedMs <= atMs);
  const breaches = (ms: number): boolean =>
    known.some(({ observedMs, value }) => observedMs === ms && isBreach(rule, value));
  const isLong = firedMs - startedMs >= rule.sustainedMs;
  if (isLong && breaches(firedMs) && breaches(startedMs)) return;
  const text = `${key} fires for ${startedMs} to ${firedMs}, which was not observed`;
  yield { invariant: 'one incident for each breach', text, atMs };
}

/** Stretches of firing, directly by the definition. */
function spansOf(rule: EvaluationRule, series: readonly Observation[]): Span[] {
  const sorted = firstOfEachTime(series);
  const spans: Span[] = [];
  for (const each of sorted) {
    const { observedMs, value } = each;
    const last = spans.at(-1);
    if (last?.endMs === Number.POSITIVE_INFINITY) {
      if (!isGood(rule, value)) continue;
      const run = runBefore(sorted, each, (other) => isGood(rule, other.value));
      if (observedMs - run >= rule.recoveryMs) last.endMs = observedMs;
    } else if (isBreach(rule, value)) {
      const startedMs = runBefore(sorted, each, (other) => isBreach(rule, other.value));
      if (observedMs - startedMs < rule.sustainedMs) continue;
      spans.push({ startedMs, firedMs: observedMs, endMs: Number.POSITIVE_INFINITY });
    }
  }
  return spans;
}

/** Start of the unbroken stretch of such samples that ends at `end`. */
function runBefore(
  sorted: readonly Observation[],
  end: Observation,
  belongs: (observation: Observation) => boolean,
): number {
  let startMs = end.observedMs;
  for (let i = sorted.indexOf(end); i >= 0; i--) {
    const each = sorted[i];
    if (!each || !belongs(each) || startMs - each.observedMs > TOLERANCE_MS) break;
    startMs = each.observedMs;
  }
  return startMs;
}

/** True if each is later than those before it, apart from repetitions. */
function isInOrder(series: readonly Observation[]): boolean {
  const times = new Set<number>();
  let newestMs = Number.NEGATIVE_INFINITY;
  for (const { observedMs } of series) {
    if (observedMs < newestMs && !times.has(observedMs)) return false;
    times.add(observedMs);
    newestMs = Math.max(newestMs, observedMs);
  }
  return true;
}

/** The first of several observations at one time counts (EVAL-08). */
function firstOfEachTime(series: readonly Observation[]): Observation[] {
  const first = new Map<number, Observation>();
  for (const each of series) if (!first.has(each.observedMs)) first.set(each.observedMs, each);
  return [...first.values()].sort((a, b) => a.observedMs - b.observedMs);
}

function isBreach({ operator, threshold }: EvaluationRule, value: number): boolean {
  if (operator === 'GREATER_THAN') return value > threshold;
  if (operator === 'EQUAL') return value === threshold;
  throw new Error(`The simulation uses no ${operator}`);
}

function isGood(rule: EvaluationRule, value: number): boolean {
  if (isBreach(rule, value)) return false;
  return rule.recoveryThreshold === undefined || value <= rule.recoveryThreshold;
}

function arrival(series: readonly Observation[], observedMs: number | undefined): number {
  return series.find((each) => each.observedMs === observedMs)?.elapsedMs ?? 0;
}

function formatSpans(spans: readonly Span[]): string {
  return JSON.stringify(spans.map(({ startedMs, firedMs, endMs }) => [startedMs, firedMs, endMs]));
}
