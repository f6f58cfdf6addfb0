/**
 * The passing of time: the changes that a tick causes. It takes the liveness report, fires rules on
 * the age of telemetry (`telemetry-silence.ts`), and forgets series that have been silent for long.
 */

import type { Steps } from '../../platform/operators.ts';
import {
  GAP_TOLERANCE_MS,
  LATENESS_MS,
  type LivenessReport,
  type LogEntry,
} from '../../telemetry/entry.ts';
import { isAgeBuffer } from './instance.ts';
import { rebase } from './set-back.ts';
import {
  type Changes,
  dropBuffer,
  dropVm,
  type EvaluationState,
  factsOf,
  projectFacts,
} from './state.ts';
import { blindWindow, recordLastObservations, silenceEdges } from './telemetry-silence.ts';

/** Advances time to a tick. @returns the changes */
export function* passTime(
  state: EvaluationState,
  { atMs, livenessReport }: Extract<LogEntry, { kind: 'tick' }>,
): Steps<Changes> {
  const silentFor = atMs - state.lastTickMs;
  // No one listened between ticks that are far apart, so silence counts only from here on.
  const isFar = silentFor < 0 || silentFor > GAP_TOLERANCE_MS;
  if (isFar && !state.isAlwaysListening) {
    state.listeningSinceMs = atMs;
    state.blind = blindWindow(state.lastTickMs, atMs);
  }
  state.lastTickMs = atMs;
  state.nowMs = atMs;
  rebase(state, atMs);
  if (livenessReport) takeLivenessReport(state, livenessReport, atMs);
  const edges = yield* silenceEdges(state, atMs);
  sweep(state, atMs);
  return { touched: [], stopped: [], edges };
}

function takeLivenessReport(
  state: EvaluationState,
  livenessReport: LivenessReport,
  atMs: number,
): void {
  state.outages = new Map(livenessReport.outages.map((outage) => [outage.datacenter, outage]));
  recordLastObservations(state, livenessReport.placed);
  for (const { project, vm } of livenessReport.clockAhead) {
    factsOf(projectFacts(state, project), vm).aheadMs = atMs;
  }
}

const SWEEP_EVERY_MS = 3_600_000;
/**
 * A silent VM is forgotten after the longest run plus the time in which data could still arrive for
 * it.
 */
const FORGOTTEN_AFTER_MS = 86_400_000 + GAP_TOLERANCE_MS + LATENESS_MS;

/**
 * Drops buffers that have been silent for long and have no open incident. Buffers of telemetry age
 * stay, because silence is what they measure.
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
