/**
 * One VM in the inventory: its record, how fresh its telemetry is, and its newest values where they
 * are recent. The last readings of a stale data center are not shown as the present.
 */
import { GAP_TOLERANCE_MS } from '../../../../streams/telemetry/entry.ts';
import { metricCatalogue } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { deriveColumns } from '../../../../streams/telemetry/metrics/derive-columns.ts';
import { VM_STATES, type VmState } from '../../../../streams/telemetry/samples/batch.ts';
import type { LatestRow } from '../../../../streams/telemetry/samples/columns.ts';
import { isLive } from './quality.ts';

/** Absent values were not observed, or not lately. */
export interface InventoryEntry {
  readonly id: string;
  readonly displayName: string;
  readonly datacenter: string;
  readonly expandedMonitoring: boolean;
  readonly state: VmState;
  readonly telemetry: 'LIVE' | 'STALE' | 'NEVER' | 'ERROR';
  /** Unix ms. */
  readonly lastObservedMs?: number;
  readonly vcpus?: number;
  readonly cpuUtilizationPct?: number;
  readonly memoryUsedBytes?: number;
}

/** A VM as its record and its data center say. */
export interface KnownVm {
  readonly id: string;
  readonly displayName: string;
  readonly datacenter: string;
  readonly datacenterState: 'live' | 'stale';
  readonly expandedMonitoring: boolean;
}

/**
 * The entry of a VM as of `nowMs`; `latest`: its newest row, `unreadable` where storage failed: then
 * nothing is known but that it is not live; `inventoryOnly`: without metrics.
 */
export function inventoryEntry(
  { datacenterState, ...named }: KnownVm,
  latest: LatestRow | 'unreadable' | undefined,
  { nowMs, inventoryOnly }: { readonly nowMs: number; readonly inventoryOnly: boolean },
): InventoryEntry {
  if (!latest) return { ...named, state: 'UNKNOWN', telemetry: 'NEVER' };
  if (latest === 'unreadable') return { ...named, state: 'UNKNOWN', telemetry: 'ERROR' };
  const { vcpus, observedMs: lastObservedMs } = latest;
  const live = isLive({ nowMs, lastObservedMs, datacenter: datacenterState });
  const state = datacenterState === 'stale' ? undefined : VM_STATES[latest.state];
  return {
    ...named,
    state: state ?? 'UNKNOWN',
    telemetry: live ? 'LIVE' : 'STALE',
    lastObservedMs,
    ...(Number.isFinite(vcpus) ? { vcpus } : {}),
    ...(live && !inventoryOnly ? newestValues(latest, nowMs) : {}),
  };
}

function newestValues(latest: LatestRow, nowMs: number) {
  const cpu = newestValue(latest, 'cpu_utilization_pct', nowMs);
  const memory = newestValue(latest, 'memory_used_bytes', nowMs);
  return {
    ...(cpu === undefined ? {} : { cpuUtilizationPct: cpu }),
    ...(memory === undefined ? {} : { memoryUsedBytes: memory }),
  };
}

/** The metric's newest value if it was observed within the gap tolerance. */
function newestValue({ columns }: LatestRow, metricId: string, nowMs: number): number | undefined {
  const derivation = metricCatalogue.get(metricId)?.derivation;
  const [series] = derivation ? deriveColumns(columns, derivation) : [];
  const observedMs = series?.timesMs.at(-1);
  if (observedMs === undefined || nowMs - observedMs > GAP_TOLERANCE_MS) return undefined;
  return series?.values.at(-1);
}
