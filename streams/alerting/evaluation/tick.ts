/**
 * Time passes: what a tick decides. Open incidents without fresh data are marked so, with the
 * reason; rules on the age of telemetry fire (`unavailable.ts`); what is long silent is forgotten.
 */

import {
  type Census,
  type Edge,
  GAP_TOLERANCE_MS,
  LATENESS_MS,
  type LogEntry,
} from '../../telemetry/entry.ts';
import { tellsState } from '../../telemetry/metrics/derive.ts';
import { isAgeLane } from './age.ts';
import { factsOf, missingReason, type VmFacts } from './facts.ts';
import { tellMissing } from './incident-edges.ts';
import { decidedThroughMs, type Instance, openIncident } from './instance.ts';
import { dropLane, dropVm } from './room.ts';
import { type EvaluationState, projectFacts, type WatchedVm } from './state.ts';
import type { Steps } from './steps.ts';
import { takeOver } from './take-over.ts';
import { deafUntil, noteLast, tellSilence } from './unavailable.ts';

/** Edges of a tick. */
export function* tickEdges(
  state: EvaluationState,
  { atMs, census }: Extract<LogEntry, { kind: 'tick' }>,
): Steps<Edge[]> {
  const silentFor = atMs - state.lastTickMs;
  // Nobody listened between ticks that are far apart: silence counts from here on only.
  if (silentFor < 0 || silentFor > GAP_TOLERANCE_MS) {
    state.listeningSinceMs = atMs;
    state.deaf = deafUntil(state.lastTickMs, atMs);
  }
  state.lastTickMs = atMs;
  state.nowMs = atMs;
  if (census) takeCensus(state, census, atMs);
  const edges = yield* tellSilence(state, atMs);
  for (const instance of state.open) {
    const edge = missingAt(state, instance, atMs);
    if (edge) edges.push(edge);
    yield;
  }
  sweep(state, atMs);
  return edges;
}

function takeCensus(state: EvaluationState, census: Census, atMs: number): void {
  state.outages = new Map(census.outages.map((outage) => [outage.datacenter, outage]));
  noteLast(state, census.placed);
  for (const { project, vm } of census.clockAhead) {
    factsOf(projectFacts(state, project), vm).aheadMs = atMs;
  }
}

/** Open incidents of a VM whose owner has just stopped it: nothing is evaluated, they say why. */
export function tellStopped({ lanes, facts }: WatchedVm, nowMs: number): Edge[] {
  const edges: Edge[] = [];
  for (const lane of lanes.values()) {
    if (tellsState(lane.derivation)) continue;
    for (const instance of lane.instances) {
      const isDecided = instance.decided !== undefined || !openIncident(instance);
      const edge = isDecided
        ? undefined
        : tellMissing(instance, { sinceMs: facts.toldMs, reason: 'VM_STOPPED', nowMs });
      if (edge) edges.push(edge);
    }
  }
  return edges;
}

function missingAt(state: EvaluationState, instance: Instance, atMs: number): Edge | undefined {
  const { lane, decided, rule } = instance;
  // What rows have may still be to come in the log, until its time is over for sure.
  if (decided && state.isReplaying) return undefined;
  if (decided && atMs <= decidedThroughMs(decided) + GAP_TOLERANCE_MS) return undefined;
  if (lane.vm === '' || (decided && isAgeLane(lane))) return undefined;
  const facts = factsOf(projectFacts(state, rule.rule.project), lane.vm);
  const sinceMs = missingSince(state, instance, facts, atMs);
  if (sinceMs === undefined) return undefined;
  const reason = reasonOf(state, instance, facts, atMs);
  // Of telemetry silence is the condition itself: only a cause says more.
  if (isAgeLane(lane) && reason !== 'VM_STOPPED' && reason !== 'CLOCK_AHEAD') return undefined;
  takeOver(instance);
  const startedMs = openIncident(instance)?.startedMs ?? state.listeningSinceMs;
  const missingMs = isAgeLane(lane) ? sinceMs : Math.max(sinceMs, startedMs);
  return tellMissing(instance, { sinceMs: missingMs, reason, nowMs: atMs });
}

/** Since when the instance has no data; undefined: it has, as far as anybody listened. */
function missingSince(
  { listeningSinceMs }: EvaluationState,
  { lane }: Instance,
  facts: VmFacts,
  atMs: number,
): number | undefined {
  if (facts.power === 'STOPPED' && !tellsState(lane.derivation)) return facts.toldMs;
  const silentMs = atMs - Math.max(lane.newestValueMs, listeningSinceMs);
  return silentMs > GAP_TOLERANCE_MS ? lane.newestValueMs : undefined;
}

function reasonOf(state: EvaluationState, { lane }: Instance, facts: VmFacts, atMs: number) {
  const reason = missingReason(facts, state.outages?.get(facts.datacenter), atMs);
  return reason === 'VM_STOPPED' && tellsState(lane.derivation) ? 'NO_DATA' : reason;
}

const SWEEP_EVERY_MS = 3_600_000;
/** A silent VM is forgotten after the longest run plus what could still arrive for it. */
const FORGOTTEN_AFTER_MS = 86_400_000 + GAP_TOLERANCE_MS + LATENESS_MS;

/**
 * VMs come and go: lanes that are silent for long and hold nothing open are dropped. Those of
 * telemetry stay: that nothing is heard of a VM is what they are about.
 */
function sweep(state: EvaluationState, atMs: number): void {
  if (Math.abs(atMs - state.lastSweepMs) < SWEEP_EVERY_MS) return;
  state.lastSweepMs = atMs;
  for (const project of state.projects.values()) {
    for (const vm of project.vms.values()) {
      for (const [key, lane] of vm.lanes) {
        const busy = lane.instances.some(
          ({ current, told, decided }) => current.firing || told || decided,
        );
        const isWatched = isAgeLane(lane) && lane.vm !== '';
        if (busy || isWatched || lane.newestMs > atMs - FORGOTTEN_AFTER_MS) continue;
        dropLane(project, vm, key);
      }
      if (vm.lanes.size === 0) dropVm(project, vm);
    }
  }
}
