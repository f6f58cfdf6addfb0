/**
 * What one sender may take up: VMs of a project and series of a VM, each of which costs memory for
 * as long as history is kept. What is over a limit is named and refused, the rest is kept: VMs and
 * series that are known go on being stored whatever else a batch brings.
 */
import { RETENTION_MS } from '../streams/evaluation/entry.ts';
import { type Derivation, metricCatalogue } from '../streams/metrics/catalogue.ts';
import { inputsOf } from '../streams/metrics/derive.ts';
import type { SeriesKey } from '../streams/samples/batch.ts';
import { isSameList } from './batch-answers.ts';
import { type CheckedRows, checkedRows, type PlacedRow, withoutSeries } from './checked-rows.ts';
import type { IngestRow, RejectedSample } from './ingest-port.ts';
import type { VmRegistry } from './vm-registry.ts';

/** Distinct series of a VM within retention: some 30 of its own, and a few for each device. */
const VM_SERIES_MAX = 512;

/** The series of a VM since this node's start; a single list as long as all its rows have it. */
interface VmSeries {
  layout: readonly SeriesKey[];
  /** Series with when they were last new in a layout, Unix ms. */
  seen: Map<SeriesKey, number> | undefined;
}

export class IngestLimits {
  readonly #registry: Pick<VmRegistry, 'withoutRoom'>;
  readonly #projects = new Map<string, Map<string, VmSeries>>();

  constructor(registry: Pick<VmRegistry, 'withoutRoom'>) {
    this.#registry = registry;
  }

  /** Label sets of a metric (mounts) that a VM has told since the start; undefined: nothing of it. */
  labelSets(project: string, vm: string, metricId: string): number | undefined {
    const derivation = metricCatalogue.get(metricId)?.derivation;
    const told = this.#projects.get(project)?.get(vm);
    if (!derivation || !told) return undefined;
    return told.seen
      ? inputsOf(derivation, [...told.seen.keys()]).length
      : countIn(told.layout, metricId, derivation);
  }

  /** `checked` itself when all of it is within the limits, as nearly always. */
  keepWithin(project: string, checked: CheckedRows, nowMs: number): CheckedRows {
    const tooManyVms = this.#registry.withoutRoom(project, checked.rows);
    const rejected: RejectedSample[] = [];
    const kept: PlacedRow[] = [];
    for (const [i, row] of checked.rows.entries()) {
      const index = checked.indexes?.[i] ?? i;
      if (tooManyVms?.has(row.vm)) {
        rejected.push({ row: index, series: '', reason: 'LIMIT_EXCEEDED' });
        continue;
      }
      const surplus = this.#surplusOf(project, row, nowMs);
      kept.push({ row: surplus ? withoutSeries(row, surplus) : row, index });
      for (const series of surplus ?? []) {
        rejected.push({ row: index, series, reason: 'LIMIT_EXCEEDED' });
      }
    }
    if (rejected.length === 0) return checked;
    return checkedRows(kept, [...checked.rejected, ...rejected]);
  }

  #surplusOf(project: string, row: IngestRow, nowMs: number): Set<SeriesKey> | undefined {
    let vms = this.#projects.get(project);
    if (!vms) {
      vms = new Map();
      this.#projects.set(project, vms);
    }
    const known = vms.get(row.vm);
    if (known && isSameList(known.layout, row.series)) return undefined;
    if (!known && row.series.length <= VM_SERIES_MAX) {
      vms.set(row.vm, { layout: row.series, seen: undefined });
      return undefined;
    }
    const vm = known ?? { layout: [], seen: undefined };
    vms.set(row.vm, vm);
    return takeIn(vm, row.series, nowMs);
  }
}

/** By list of series, which many rows and VMs share, and by metric. */
const counted = new WeakMap<readonly SeriesKey[], Map<string, number>>();

function countIn(layout: readonly SeriesKey[], metricId: string, derivation: Derivation): number {
  const known = counted.get(layout) ?? new Map<string, number>();
  counted.set(layout, known);
  let count = known.get(metricId);
  if (count === undefined) {
    count = inputsOf(derivation, layout).length;
    known.set(metricId, count);
  }
  return count;
}

/** Notes another list of series; those for which there is no room are its answer. */
function takeIn(
  vm: VmSeries,
  series: readonly SeriesKey[],
  nowMs: number,
): Set<SeriesKey> | undefined {
  vm.seen ??= new Map();
  for (const key of vm.layout) vm.seen.set(key, nowMs);
  if (vm.seen.size + series.length > VM_SERIES_MAX) {
    for (const [key, lastMs] of vm.seen) if (lastMs < nowMs - RETENTION_MS) vm.seen.delete(key);
  }
  let surplus: Set<SeriesKey> | undefined;
  for (const key of series) {
    if (vm.seen.has(key) || vm.seen.size < VM_SERIES_MAX) vm.seen.set(key, nowMs);
    else {
      surplus ??= new Set();
      surplus.add(key);
    }
  }
  vm.layout = surplus ? [] : series;
  return surplus;
}
