/**
 * What is known of a VM beside the observations that its lanes hold: when it was last heard, its
 * power as the hypervisor tells it, and what a census says of it. Kept apart from lanes, because
 * rules come and go, and a VM that fell silent before the log's floor has no row in the log at all.
 */

import type { MissingReason } from '../../../machines/alerting/incident.ts';
import { GAP_TOLERANCE_MS, type Outage, TOGETHER_MS } from '../../telemetry/entry.ts';
import { type Power, powerAfter, type ToldPower } from '../../telemetry/metrics/derive.ts';
import type { VmRef } from '../../telemetry/samples/batch.ts';

export interface VmFacts {
  /** Newest observation of anything, Unix ms; -Infinity = never. */
  newestMs: number;
  /** Newest observation that told the VM's power, Unix ms, and what it told. */
  toldMs: number;
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

/** Facts of a VM, made when missing. */
export function factsOf(facts: FactsByVm, vm: string): VmFacts {
  let known = facts.get(vm);
  if (!known) {
    const never = Number.NEGATIVE_INFINITY;
    known = { newestMs: never, toldMs: never, power: 'UNTOLD', datacenter: '', aheadMs: never };
    facts.set(vm, known);
  }
  return known;
}

/**
 * Notes an observation. One that does not tell the power leaves what is known of it, until the
 * hypervisor has been silent for longer than the tolerance.
 */
export function noteObserved(facts: VmFacts, observedMs: number, told: ToldPower): void {
  const power = powerAfter(facts.power === 'DOWN', told);
  if (observedMs > facts.newestMs) facts.newestMs = observedMs;
  const isOld = observedMs - facts.toldMs > GAP_TOLERANCE_MS;
  if (observedMs < facts.toldMs || (power === 'UNTOLD' && !isOld)) return;
  if (power === 'UNTOLD' && facts.power === 'UNTOLD') return;
  facts.toldMs = observedMs;
  facts.power = power;
}

/**
 * Does a row observed then say nothing of a running VM? Its state comes from the hypervisor: rows
 * of others, and readings repeated while it is off, are not its present (EVAL-24).
 */
export function isAway(facts: VmFacts, observedMs: number, power: ToldPower): boolean {
  if (power !== 'UNTOLD') return power !== 'RUNNING';
  const toldForMs = observedMs - facts.toldMs;
  return facts.power === 'STOPPED' && toldForMs > 0 && toldForMs <= GAP_TOLERANCE_MS;
}

/** How long what a census said of a VM's clock holds, ms. */
const AHEAD_MS = 120_000;

/** Why nothing comes of a VM, as of `nowMs`. */
export function missingReason(
  facts: VmFacts,
  outage: Outage | undefined,
  nowMs: number,
): MissingReason {
  if (facts.power === 'STOPPED') return 'VM_STOPPED';
  if (nowMs - facts.aheadMs <= AHEAD_MS) return 'CLOCK_AHEAD';
  return outage && fellSilentIn(outage, facts.newestMs) ? 'DATACENTER_STALE' : 'NO_DATA';
}

/** Did a VM last heard at `newestMs`, Unix ms, fall silent with many others? Else it is alone. */
export function fellSilentIn({ sinceMs, laterMs = [] }: Outage, newestMs: number): boolean {
  return [sinceMs, ...laterMs].some(
    (fromMs) => newestMs >= fromMs && newestMs <= fromMs + TOGETHER_MS,
  );
}
