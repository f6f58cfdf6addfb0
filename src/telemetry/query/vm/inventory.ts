/**
 * One VM in the inventory: its record, the freshness of its telemetry, and its newest values if
 * they are recent. The last readings of a stale data center are not presented as current.
 */
import { GAP_TOLERANCE_MS } from '../../../../streams/telemetry/entry.ts';
import { metricCatalogue } from '../../../../streams/telemetry/metrics/catalogue.ts';
import {
  deriveColumns,
  deriveDevices,
} from '../../../../streams/telemetry/metrics/derive-columns.ts';
import { VM_STATES, type VmState } from '../../../../streams/telemetry/samples/batch.ts';
import type { LatestRow } from '../../../../streams/telemetry/samples/columns.ts';
import { isLive } from './quality.ts';

/** Absent values were not observed, or not recently. */
export interface InventoryEntry {
  readonly id: string;
  readonly displayName: string;
  readonly datacenter: string;
  readonly expandedMonitoring: boolean;
  readonly expanded: Expanded;
  /** UNKNOWN if the last observation is more than 90 s old. */
  readonly state: VmState;
  /** The last observed state, however old; never UNKNOWN. */
  readonly lastState?: VmState;
  /** Time of that observation, Unix ms. */
  readonly stateObservedMs?: number;
  readonly telemetry: 'LIVE' | 'STALE' | 'NEVER' | 'ERROR';
  /** Unix ms. */
  readonly lastObservedMs?: number;
  readonly vcpus?: number;
  readonly cpuUtilizationPct?: number;
  readonly memoryUsedBytes?: number;
}

/** Expanded monitoring of a VM; times are Unix ms. */
export interface Expanded {
  readonly isAvailable: boolean;
  readonly state: 'OFF' | 'OFFERED' | 'ON';
  readonly tokenExpiresMs?: number;
  /** Newest reading from inside the guest. */
  readonly lastObservedMs?: number;
}

/** A VM according to its record and its data center. */
export interface KnownVm {
  readonly id: string;
  readonly displayName: string;
  readonly datacenter: string;
  readonly datacenterState: 'live' | 'stale';
  readonly expandedMonitoring: boolean;
  readonly expanded: Expanded;
}

/**
 * The entry of a VM as of `nowMs`. `latest` is its newest row, or `unreadable` if storage failed:
 * then the only known fact is that the VM is not live. `inventoryOnly`: without metrics.
 */
export function inventoryEntry(
  { datacenterState, ...named }: KnownVm,
  latest: LatestRow | 'unreadable' | undefined,
  { nowMs, inventoryOnly }: { readonly nowMs: number; readonly inventoryOnly: boolean },
): InventoryEntry {
  const { state, telemetry } = statusOf(latest, { datacenterState, nowMs });
  if (!latest || latest === 'unreadable') return { ...named, state, telemetry };
  const { vcpus, observedMs: lastObservedMs, stated } = latest;
  const live = telemetry === 'LIVE';
  const lastState = stated && VM_STATES[stated.state];
  return {
    ...named,
    state,
    telemetry,
    ...(stated && lastState && { lastState, stateObservedMs: stated.observedMs }),
    lastObservedMs,
    ...(Number.isFinite(vcpus) ? { vcpus } : {}),
    ...(inventoryOnly ? {} : { expanded: withObserved(named.expanded, latest) }),
    ...(live && !inventoryOnly ? newestValues(latest, nowMs) : {}),
  };
}

const EXPANDED = [...metricCatalogue.values()].filter(({ expanded }) => expanded);

/** Adds the guest's observations in the newest rows, which are a few of each source. */
function withObserved(expanded: Expanded, { columns }: LatestRow): Expanded {
  if (expanded.state === 'OFF') return expanded;
  const times = EXPANDED.flatMap(({ derivation }) => [
    ...deriveColumns(columns, derivation),
    ...deriveDevices(columns, derivation),
  ]).flatMap(({ timesMs }) => timesMs.at(-1) ?? []);
  return times.length === 0 ? expanded : { ...expanded, lastObservedMs: Math.max(...times) };
}

/**
 * Status of a VM: its state as far as it is known now, and the freshness of its telemetry. A state
 * has the age of the row that reported it: rows from a guest's agent do not keep it alive.
 */
export function statusOf(
  latest: LatestRow | 'unreadable' | undefined,
  { datacenterState, nowMs }: Pick<KnownVm, 'datacenterState'> & { readonly nowMs: number },
): Pick<InventoryEntry, 'state' | 'telemetry'> {
  if (!latest) return { state: 'UNKNOWN', telemetry: 'NEVER' };
  if (latest === 'unreadable') return { state: 'UNKNOWN', telemetry: 'ERROR' };
  const { observedMs, stated } = latest;
  const isLiveAt = (lastObservedMs: number | undefined): boolean =>
    isLive({ nowMs, lastObservedMs, datacenter: datacenterState });
  const state = isLiveAt(stated?.observedMs) ? VM_STATES[stated?.state ?? 0] : undefined;
  return { state: state ?? 'UNKNOWN', telemetry: isLiveAt(observedMs) ? 'LIVE' : 'STALE' };
}

function newestValues(latest: LatestRow, nowMs: number) {
  const cpu = newestValue(latest, 'cpu_utilization_pct', nowMs);
  const memory = newestValue(latest, 'memory_used_bytes', nowMs);
  return {
    ...(cpu === undefined ? {} : { cpuUtilizationPct: cpu }),
    ...(memory === undefined ? {} : { memoryUsedBytes: memory }),
  };
}

/** The metric's newest value, if it was observed within the gap tolerance. */
function newestValue({ columns }: LatestRow, metricId: string, nowMs: number): number | undefined {
  const derivation = metricCatalogue.get(metricId)?.derivation;
  const [series] = derivation ? deriveColumns(columns, derivation) : [];
  const observedMs = series?.timesMs.at(-1);
  if (observedMs === undefined || nowMs - observedMs > GAP_TOLERANCE_MS) return undefined;
  return series?.values.at(-1);
}
