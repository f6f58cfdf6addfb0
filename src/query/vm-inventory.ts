/**
 * One VM as the inventory shows it: what its record says, how fresh its telemetry is, and its
 * newest values where they were observed lately. What a stale data center last told is not shown
 * as the present.
 */
import type { StoredRecord } from '../../actors/host-port.ts';
import type { VmBody } from '../../actors/vm-registry.ts';
import { GAP_TOLERANCE_MS } from '../../streams/evaluation/entry.ts';
import { metricCatalogue } from '../../streams/metrics/catalogue.ts';
import { deriveColumns } from '../../streams/metrics/query.ts';
import { VM_STATES, type VmState } from '../../streams/samples/batch.ts';
import type { HistoryReader, LatestRow } from '../../streams/samples/columns.ts';
import { isLive } from './quality.ts';

/** Absent values were not observed, or not lately. */
export interface InventoryEntry {
  readonly id: string;
  readonly displayName: string;
  readonly datacenter: string;
  readonly expandedMonitoring: boolean;
  readonly state: VmState;
  readonly telemetry: 'LIVE' | 'STALE' | 'NEVER';
  /** Unix ms. */
  readonly lastObservedMs?: number;
  readonly vcpus?: number;
  readonly cpuUtilizationPct?: number;
  readonly memoryUsedBytes?: number;
}

export interface InventoryDeps {
  readonly history: Pick<HistoryReader, 'latest'>;
  readonly datacenters: { stateOf(name: string): 'live' | 'stale' };
}

/** The entry of a record of kind `vm`, as of `nowMs`; `inventoryOnly`: without metrics. */
export function inventoryEntry(
  { history, datacenters }: InventoryDeps,
  { project, id, body }: StoredRecord,
  { nowMs, inventoryOnly }: { readonly nowMs: number; readonly inventoryOnly: boolean },
): InventoryEntry {
  // Records of this kind are written by the registry alone.
  const { displayName, datacenter, expandedMonitoring } = body as unknown as VmBody;
  const latest = history.latest(project, id);
  const stale = datacenters.stateOf(datacenter) === 'stale';
  const lastObservedMs = latest?.observedMs;
  const live = isLive({ nowMs, lastObservedMs, datacenter: stale ? 'stale' : 'live' });
  const named = { id, displayName, datacenter, expandedMonitoring };
  if (!latest) return { ...named, state: 'UNKNOWN', telemetry: 'NEVER' };
  const { vcpus } = latest;
  return {
    ...named,
    state: stale ? 'UNKNOWN' : (VM_STATES[latest.state] ?? 'UNKNOWN'),
    telemetry: live ? 'LIVE' : 'STALE',
    lastObservedMs: latest.observedMs,
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
