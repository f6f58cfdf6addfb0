/**
 * Facts of a VM beside the observations in its buffers: when it was last observed, its power state
 * as reported by the hypervisor, and what liveness reports say of it. They outlive buffers, because
 * rules come and go, and a VM that fell silent before the log's floor has no row in the log at all.
 */
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import { GAP_TOLERANCE_MS, type Outage, TOGETHER_MS } from '../../telemetry/entry.ts';
import { type Power, powerAfter, type ReportedPowerState } from '../../telemetry/metrics/power.ts';
import type { VmRef } from '../../telemetry/samples/batch.ts';

export interface VmFacts {
  /** Newest observation of anything, Unix ms; -Infinity = never. */
  newestMs: number;
  /** Newest observation that reported the VM's power state, Unix ms, and that state. */
  powerMs: number;
  power: Power;
  /** '' = not known. */
  datacenter: string;
  /** Time of the newest tick that named its clock as ahead, Unix ms. */
  aheadMs: number;
}

/** A VM as rows and history know it from before the log; times are Unix ms. */
export interface LastObservation extends VmRef {
  /** Absent: never observed. */
  readonly observedMs?: number;
  readonly power?: Power;
  readonly datacenter?: string;
}

export type FactsByVm = Map<string, VmFacts>;

/** Facts of a VM, created if missing. */
export function factsOf(facts: FactsByVm, vm: string): VmFacts {
  let known = facts.get(vm);
  if (!known) {
    const never = Number.NEGATIVE_INFINITY;
    known = {
      newestMs: never,
      powerMs: never,
      power: 'UNREPORTED',
      datacenter: '',
      aheadMs: never,
    };
    facts.set(vm, known);
  }
  return known;
}

/**
 * Records an observation. One without a power state leaves the known one in place, until the
 * hypervisor has been silent for longer than the tolerance.
 */
export function noteObserved(
  facts: VmFacts,
  observedMs: number,
  reported: ReportedPowerState,
): void {
  const power = powerAfter(facts.power === 'DOWN', reported);
  if (observedMs > facts.newestMs) facts.newestMs = observedMs;
  const isOld = observedMs - facts.powerMs > GAP_TOLERANCE_MS;
  if (observedMs < facts.powerMs || (power === 'UNREPORTED' && !isOld)) return;
  if (power === 'UNREPORTED' && facts.power === 'UNREPORTED') return;
  facts.powerMs = observedMs;
  facts.power = power;
}

/**
 * True when a row of that time is not about a running VM. The state comes from the hypervisor: rows of
 * other sources, and readings repeated while it is off, are not its present (EVAL-24).
 */
export function isAway(facts: VmFacts, observedMs: number, power: ReportedPowerState): boolean {
  if (power !== 'UNREPORTED') return power !== 'RUNNING';
  const powerAgeMs = observedMs - facts.powerMs;
  return facts.power === 'STOPPED' && powerAgeMs > 0 && powerAgeMs <= GAP_TOLERANCE_MS;
}

/** Time for which a VM that was reported as ahead of the clock counts as such, ms. */
const AHEAD_MS = 120_000;

/** Why a VM has no data, as of `nowMs`. */
export function missingReason(
  facts: VmFacts,
  outage: Outage | undefined,
  nowMs: number,
): MissingReason {
  if (facts.power === 'STOPPED') return 'VM_STOPPED';
  if (nowMs - facts.aheadMs <= AHEAD_MS) return 'CLOCK_AHEAD';
  return outage && fellSilentIn(outage, facts.newestMs) ? 'DATACENTER_STALE' : 'NO_DATA';
}

/**
 * True when a VM last observed at `newestMs`, Unix ms, fell silent with the others of the outage.
 */
export function fellSilentIn({ sinceMs, laterMs = [] }: Outage, newestMs: number): boolean {
  return [sinceMs, ...laterMs].some(
    (fromMs) => newestMs >= fromMs && newestMs <= fromMs + TOGETHER_MS,
  );
}
