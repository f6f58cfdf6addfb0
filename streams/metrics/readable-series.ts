/**
 * A VM's rows as the series that readers of PromQL and of exports see. A row says more than its
 * samples: vCPUs, the hypervisor's word on the VM and the time of the observation are readings
 * too, and utilization and used memory follow from others where the source does not send them.
 * One function for all readers, so that they never differ in what a series is.
 */
import type { SeriesKey } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import { type Derivation, metricCatalogue } from './catalogue.ts';
import { deriveColumns } from './query.ts';

/** Series that follow from others by the rule of a metric, with that metric's id. */
const DERIVED: readonly (readonly [name: string, metricId: string])[] = [
  ['svc_vm_cpu_utilization_pct', 'cpu_utilization_pct'],
  ['svc_vm_memory_used_bytes', 'memory_used_bytes'],
  ['svc_vm_running', 'vm_running'],
];

/**
 * Columns as long as `timesMs`, NaN = not observed then. What a source sent is as it was sent; a
 * series is computed only for a VM that has no sample of it in these rows. A utilization needs the
 * row before, so give rows of 90 s more than are shown.
 */
export function readableSeries(columns: VmColumns): ReadonlyMap<SeriesKey, Float64Array> {
  const series = new Map(columns.series);
  const add = (name: SeriesKey, column: Float64Array): void => {
    if (!series.has(name) && column.some((value) => !Number.isNaN(value))) series.set(name, column);
  };
  add('svc_vm_vcpus', columns.vcpus);
  for (const [name, metricId] of DERIVED) {
    const derivation = metricCatalogue.get(metricId)?.derivation;
    if (derivation && !series.has(name)) add(name, derivedColumn(columns, derivation));
  }
  add(
    'svc_vm_last_observation_timestamp_seconds',
    columns.timesMs.map((timeMs) => timeMs / 1000),
  );
  return series;
}

function derivedColumn(columns: VmColumns, derivation: Derivation): Float64Array {
  const column = new Float64Array(columns.timesMs.length).fill(Number.NaN);
  const [derived] = deriveColumns(columns, derivation);
  let place = 0;
  for (const [i, timeMs] of (derived?.timesMs ?? []).entries()) {
    while (columns.timesMs[place] !== timeMs) place++;
    column[place] = derived?.values[i] ?? Number.NaN;
  }
  return column;
}
