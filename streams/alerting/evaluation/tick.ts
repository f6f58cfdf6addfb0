/**
 * The passing of time: what a tick decides. Rules on the age of telemetry fire
 * (`telemetry-silence.ts`); open incidents without fresh data are marked so, with the reason; series
 * that are long silent are forgotten.
 */

import {
  type Census,
  type Edge,
  GAP_TOLERANCE_MS,
  LATENESS_MS,
  type LogEntry,
} from '../../telemetry/entry.ts';
import { tellsState } from '../../telemetry/metrics/derive.ts';
import { factsOf, missingReason, type VmFacts } from './facts.ts';
import { missingEdge } from './incident-edges.ts';
import {
  decidedThroughMs,
  type Instance,
  isAgeBuffer,
  openIncident,
  takeOver,
} from './instance.ts';
import { dropBuffer, dropVm, type EvaluationState, projectFacts, type WatchedVm } from './state.ts';
import type { Steps } from './steps.ts';
import { blindWindow, noteLastObservations, silenceEdges } from './telemetry-silence.ts';

/** Edges of a tick. */
export function* tickEdges(
  state: EvaluationState,
  { atMs, census }: Extract<LogEntry, { kind: 'tick' }>,
): Steps<Edge[]> {
  const silentFor = atMs - state.lastTickMs;
  // Nobody listened between ticks that are far apart: silence counts from here on only.
  if (silentFor < 0 || silentFor > GAP_TOLERANCE_MS) {
    state.listeningSinceMs = atMs;
    state.blind = blindWindow(state.lastTickMs, atMs);
  }
  state.lastTickMs = atMs;
  state.nowMs = atMs;
  if (census) takeCensus(state, census, atMs);
  const edges = yield* silenceEdges(state, atMs);
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
  noteLastObservations(state, census.placed);
  for (const { project, vm } of census.clockAhead) {
    factsOf(projectFacts(state, project), vm).aheadMs = atMs;
  }
}

/** Edges of a VM whose owner has just stopped it: its open incidents are paused and say why. */
export function stoppedEdges({ buffers, facts }: WatchedVm, nowMs: number): Edge[] {
  const edges: Edge[] = [];
  for (const buffer of buffers.values()) {
    if (tellsState(buffer.derivation)) continue;
    for (const instance of buffer.instances) {
      const isDecided = instance.decided !== undefined || !openIncident(instance);
      const edge = isDecided
        ? undefined
        : missingEdge(instance, { sinceMs: facts.powerMs, reason: 'VM_STOPPED', nowMs });
      if (edge) edges.push(edge);
    }
  }
  return edges;
}

function missingAt(state: EvaluationState, instance: Instance, atMs: number): Edge | undefined {
  const { buffer, decided, rule } = instance;
  // What rows have may still be to come in the log, until its time is over for sure.
  if (decided && state.isReplaying) return undefined;
  if (decided && atMs <= decidedThroughMs(decided) + GAP_TOLERANCE_MS) return undefined;
  if (buffer.vm === '' || (decided && isAgeBuffer(buffer))) return undefined;
  const facts = factsOf(projectFacts(state, rule.rule.project), buffer.vm);
  const sinceMs = missingSince(state, instance, facts, atMs);
  if (sinceMs === undefined) return undefined;
  const reason = reasonOf(state, instance, facts, atMs);
  // Of telemetry silence is the condition itself: only a cause says more.
  if (isAgeBuffer(buffer) && reason !== 'VM_STOPPED' && reason !== 'CLOCK_AHEAD') return undefined;
  takeOver(instance);
  const startedMs = openIncident(instance)?.startedMs ?? state.listeningSinceMs;
  const missingMs = isAgeBuffer(buffer) ? sinceMs : Math.max(sinceMs, startedMs);
  return missingEdge(instance, { sinceMs: missingMs, reason, nowMs: atMs });
}

/** Since when the instance has no data; undefined: it has, as far as anybody listened. */
function missingSince(
  { listeningSinceMs }: EvaluationState,
  { buffer }: Instance,
  facts: VmFacts,
  atMs: number,
): number | undefined {
  if (facts.power === 'STOPPED' && !tellsState(buffer.derivation)) return facts.powerMs;
  const silentMs = atMs - Math.max(buffer.newestValueMs, listeningSinceMs);
  return silentMs > GAP_TOLERANCE_MS ? buffer.newestValueMs : undefined;
}

function reasonOf(state: EvaluationState, { buffer }: Instance, facts: VmFacts, atMs: number) {
  const reason = missingReason(facts, state.outages?.get(facts.datacenter), atMs);
  return reason === 'VM_STOPPED' && tellsState(buffer.derivation) ? 'NO_DATA' : reason;
}

const SWEEP_EVERY_MS = 3_600_000;
/** A silent VM is forgotten after the longest run plus what could still arrive for it. */
const FORGOTTEN_AFTER_MS = 86_400_000 + GAP_TOLERANCE_MS + LATENESS_MS;

/**
 * VMs come and go: buffers that are silent for long and hold nothing open are dropped. Those of
 * telemetry age stay: silence is what they measure.
 */
function sweep(state: EvaluationState, atMs: number): void {
  if (Math.abs(atMs - state.lastSweepMs) < SWEEP_EVERY_MS) return;
  state.lastSweepMs = atMs;
  for (const project of state.projects.values()) {
    for (const vm of project.vms.values()) {
      for (const [key, buffer] of vm.buffers) {
        const busy = buffer.instances.some(
          ({ current, reported, decided }) => current.firing || reported || decided,
        );
        const isWatched = isAgeBuffer(buffer) && buffer.vm !== '';
        if (busy || isWatched || buffer.newestMs > atMs - FORGOTTEN_AFTER_MS) continue;
        dropBuffer(project, vm, key);
      }
      if (vm.buffers.size === 0) dropVm(project, vm);
    }
  }
}
