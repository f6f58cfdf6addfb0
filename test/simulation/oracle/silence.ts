/**
 * Silence and what only looks like it: no data center is called stale while rows of it arrive
 * through any member, and a silent VM is noticed in time, whatever the members' clocks say and
 * whichever members are down.
 */
import type { Run } from '../run.ts';
import { START_MS } from '../world.ts';
import type { Entry, Fact, Facts } from './facts.ts';
import type { Force, Observation, Observations } from './observations.ts';
import type { Problem } from './problem.ts';

/** Silence after which a data center is stale, as the processes are configured, ms. */
const STALE_MS = 90_000;
/** Maximum time in which rows and decisions cross on the way, ms. */
const PASSING_MS = 5_000;

export function* falseSilence({ lostAppends }: Run, { steps, entries }: Facts): Generator<Problem> {
  // A row may be stored although its member never learns of it.
  if (lostAppends > LOST_APPENDS_MAX) return;
  for (const { step, decidedMs, elapsedMs: atMs } of steps) {
    if (step.machine !== 'datacenter' || step.event.type !== 'silenceNoticed') continue;
    // A row without an answer is known from the log alone: a member with interrupted reads follows
    // that late, and the row's age is by the clock of its receiver, up to 10 s off.
    const isHeard = ({ entry, isAnswered, sentMs: rowMs, elapsedMs: storedMs }: Entry): boolean =>
      entry.kind === 'batch' &&
      isAnswered &&
      rowMs > decidedMs - STALE_MS + PASSING_MS &&
      storedMs < decidedMs - PASSING_MS;
    const heard = entries.find(isHeard);
    if (!heard) continue;
    const text = `${step.instance} is called stale, but ${heard.sequence} has rows of it`;
    yield { invariant: 'no data center is stale while rows flow', text, atMs };
  }
}

/** Maximum time until a silent VM fires a rule on its telemetry (cluster.md), ms. */
const NOTICED_MS = 150_000;
/** Silence before which it does not matter who ticks, ms. */
const WATCHED_MS = 85_000;
/** The same maximum if the owner changed, ms. */
const LATE_MS = 220_000;
/** Four more ticks if the stream loses appends. */
const LOST_TICKS_MS = 60_000;
/** Age up to which a row was not late, ms. */
const ON_TIME_MS = 5_000;
/** Share of lost appends above which nothing is guaranteed. */
const LOST_APPENDS_MAX = 0.03;

export function* unnoticedSilence(
  run: Run,
  facts: Facts,
  observations: Observations,
): Generator<Problem> {
  const entries = new Map(facts.entries.map((entry) => [entry.sequence, entry]));
  for (const force of observations.forces) {
    const { rule } = force;
    if (rule.metricId !== 'telemetry_age_seconds' || rule.sustainedMs > 0) continue;
    const sinceMs = entries.get(force.from)?.elapsedMs ?? 0;
    const untilMs = entries.get(force.until)?.elapsedMs ?? run.world.elapsedMs;
    for (const vm of rule.vms ?? observations.vms(rule.project)) {
      const series = observations.of(rule.project, vm, 'vm_running');
      for (const { lastMs, inMs } of promised(run, series)) {
        if (lastMs < sinceMs || lastMs + inMs > untilMs) continue;
        if (hasFired(facts, { force, vm, lastMs, inMs })) continue;
        const text = `${vm} is silent since ${Math.round(lastMs)} ms; ${rule.rule} has not fired within ${inMs} ms`;
        yield { invariant: 'silence is noticed in time', text, atMs: lastMs + inMs };
      }
    }
  }
}

type ByLabels = ReadonlyMap<string, readonly Observation[]>;

/** Silences that must be noticed: soon during calm, later if owners changed. */
function* promised(run: Run, series: ByLabels) {
  const soonMs = NOTICED_MS + (run.lostAppends > 0 ? LOST_TICKS_MS : 0);
  for (const lastMs of silences(series, soonMs)) {
    if (isCalm(run, lastMs, soonMs)) yield { lastMs, inMs: soonMs };
  }
  for (const lastMs of silences(series, LATE_MS)) {
    if (run.lostAppends === 0 && isWatched(run, lastMs, LATE_MS)) yield { lastMs, inMs: LATE_MS };
  }
}

/** Last row times of running VMs before a silence of that length, elapsed ms. */
function* silences(byLabels: ByLabels, inMs: number) {
  for (const series of byLabels.values()) {
    const arrivals = [...series].sort((a, b) => a.elapsedMs - b.elapsedMs);
    for (const [i, last] of arrivals.entries()) {
      const next = arrivals[i + 1];
      const newest = arrivals.slice(0, i + 1).every((one) => one.observedMs <= last.observedMs);
      const isOnTime = last.observedMs - START_MS > last.elapsedMs - ON_TIME_MS;
      if (!newest || !isOnTime || last.value !== 1) continue;
      if (next && next.elapsedMs > last.elapsedMs + inMs) yield last.elapsedMs;
    }
  }
}

/** True if at least one member could watch all the time. */
function isWatched({ cluster }: Run, lastMs: number, inMs: number): boolean {
  const dueMs = lastMs + inMs;
  if (cluster.isLeaderlessIn(lastMs, dueMs)) return false;
  return cluster.members.some((member) => member.isWellIn(lastMs, dueMs));
}

/** True if it was watched, with at most one change of owner, and that one late. */
function isCalm(run: Run, lastMs: number, inMs: number): boolean {
  const { cluster, lostAppends } = run;
  const watchedMs = lastMs + WATCHED_MS;
  const dueMs = lastMs + inMs;
  if (lostAppends > LOST_APPENDS_MAX || !isWatched(run, lastMs, inMs)) return false;
  const changes = cluster.members
    .flatMap(({ troubles }) => troubles.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]))
    .filter((ms) => ms > watchedMs && ms < dueMs);
  return changes.length <= 1;
}

interface Silence {
  readonly force: Force;
  readonly vm: string;
  readonly lastMs: number;
  readonly inMs: number;
}

/** True if it has fired since, or was still firing. */
function hasFired({ steps, held }: Facts, { force, vm, lastMs, inMs }: Silence): boolean {
  const { rule } = force;
  const isHeld = ({ incident }: Fact['step']['context']): boolean =>
    held.get((incident as { id: string } | null)?.id ?? '')?.includes(vm) ?? false;
  const isOwn = ({ step: { machine, context } }: Fact): boolean =>
    machine === 'alertInstance' &&
    context.rule === rule.rule &&
    context.evaluationRevision === rule.evaluationRevision &&
    // The incident of several VMs that fall silent together belongs to their data center, and lists
    // them.
    (context.vm === vm || (context.vm === '' && isHeld(context)));
  const own = steps.filter(isOwn);
  const fires = own.some(
    ({ step, elapsedMs }) =>
      step.event.type === 'sustained' && elapsedMs > lastMs && elapsedMs <= lastMs + inMs,
  );
  const last = own.findLast(
    ({ step: { event }, elapsedMs }) =>
      elapsedMs <= lastMs + inMs && (event.type === 'sustained' || event.type === 'recovered'),
  );
  return fires || last?.step.event.type === 'sustained';
}
