/**
 * Missing data of open incidents: its start and its reason. It is a mark on the incident and never
 * ends it, because recovery needs observed good samples.
 */

import type { Steps } from '../../platform/operators.ts';
import { type Edge, GAP_TOLERANCE_MS } from '../../telemetry/entry.ts';
import { reportsState } from '../../telemetry/metrics/derive.ts';
import {
  decidedThroughMs,
  type Instance,
  isAgeBuffer,
  openIncident,
  takeOver,
} from './instance.ts';
import { missingEdge } from './notification-diff.ts';
import {
  type EvaluationState,
  factsOf,
  missingReason,
  projectFacts,
  type VmFacts,
  type WatchedVm,
} from './state.ts';

/** Edges of a tick: open incidents without fresh data, for a reason not reported yet. */
export function* missingEdges(state: EvaluationState, atMs: number): Steps<Edge[]> {
  const edges: Edge[] = [];
  for (const instance of state.open) {
    const edge = missingAt(state, instance, atMs);
    if (edge) edges.push(edge);
    yield;
  }
  return edges;
}

/**
 * Edges of a VM whose owner has just stopped it: its open incidents are paused, with the reason.
 */
export function stoppedEdges({ buffers, facts }: WatchedVm, nowMs: number): Edge[] {
  const edges: Edge[] = [];
  for (const buffer of buffers.values()) {
    if (reportsState(buffer.derivation)) continue;
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
  // Decisions in rows may still follow in the log, until its time has certainly passed.
  if (decided && state.isReplaying) return undefined;
  if (decided && atMs <= decidedThroughMs(decided) + GAP_TOLERANCE_MS) return undefined;
  if (buffer.vm === '' || (decided && isAgeBuffer(buffer))) return undefined;
  const facts = factsOf(projectFacts(state, rule.rule.project), buffer.vm);
  const sinceMs = missingSince(state, instance, facts, atMs);
  if (sinceMs === undefined) return undefined;
  const reason = reasonOf(state, instance, facts, atMs);
  // For telemetry, silence is the condition itself, so only a cause adds information.
  if (isAgeBuffer(buffer) && reason !== 'VM_STOPPED' && reason !== 'CLOCK_AHEAD') return undefined;
  takeOver(instance);
  const startedMs = openIncident(instance)?.startedMs ?? state.listeningSinceMs;
  const missingMs = isAgeBuffer(buffer) ? sinceMs : Math.max(sinceMs, startedMs);
  return missingEdge(instance, { sinceMs: missingMs, reason, nowMs: atMs });
}

/** Start of the missing data; undefined if none is missing, according to observations. */
function missingSince(
  { listeningSinceMs }: EvaluationState,
  { buffer }: Instance,
  facts: VmFacts,
  atMs: number,
): number | undefined {
  if (facts.power === 'STOPPED' && !reportsState(buffer.derivation)) return facts.powerMs;
  const silentMs = atMs - Math.max(buffer.newestValueMs, listeningSinceMs);
  return silentMs > GAP_TOLERANCE_MS ? buffer.newestValueMs : undefined;
}

function reasonOf(state: EvaluationState, { buffer }: Instance, facts: VmFacts, atMs: number) {
  const reason = missingReason(facts, state.outages?.get(facts.datacenter), atMs);
  return reason === 'VM_STOPPED' && reportsState(buffer.derivation) ? 'NO_DATA' : reason;
}
