/**
 * A VM's rows as the series that readers see. A row has more readings than its samples: vCPUs, the
 * state reported by the hypervisor and the time of the observation. Utilization and used memory are
 * derived from other series if the source does not send them. The PromQL source
 * (`src/telemetry/query/series/`) has the same rules over decoded columns; a test compares the two.
 */
import type { SeriesKey } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import { metricCatalogue } from './catalogue.ts';
import { deriveColumns } from './derive-columns.ts';
import { isPossible, seriesBound } from './possible.ts';

const COUNTER = 'svc_vm_cpu_seconds_total';
const UTILIZATION = 'svc_vm_cpu_utilization_pct';

/** Series filled by the rule of a metric if no sample was sent, with that metric's id. */
const FILLED: readonly (readonly [name: string, metricId: string])[] = [
  ['svc_vm_memory_used_bytes', 'memory_used_bytes'],
  ['svc_vm_running', 'vm_running'],
];

/**
 * Columns as long as `timesMs`; NaN = not observed. Samples are returned as sent, without
 * impossible readings. A utilization needs the row before, so pass 90 s more rows than are returned
 * to readers.
 */
export function readableSeries(columns: VmColumns): ReadonlyMap<SeriesKey, Float64Array> {
  const series = new Map<SeriesKey, Float64Array>();
  for (const [key, column] of columns.series) {
    const possible = possibleReadings(key, column, columns.series);
    if (possible.some((value) => !Number.isNaN(value))) series.set(key, possible);
  }
  const put = (name: SeriesKey, column: Float64Array): void => {
    if (column.some((value) => !Number.isNaN(value))) series.set(name, column);
  };
  put('svc_vm_vcpus', filled(series.get('svc_vm_vcpus'), columns.vcpus));
  for (const [name, metricId] of FILLED) {
    put(name, filled(series.get(name), derivedColumn(columns, metricId)));
  }
  if (columns.series.has(COUNTER)) put(UTILIZATION, derivedColumn(columns, 'cpu_utilization_pct'));
  const observed = columns.timesMs.map((timeMs) => timeMs / 1000);
  put('svc_vm_last_observation_timestamp_seconds', observed);
  return series;
}

function possibleReadings(
  key: SeriesKey,
  column: Float64Array,
  series: VmColumns['series'],
): Float64Array {
  const bound = seriesBound(key);
  if (bound === undefined) return column;
  const others = bound.of === undefined ? undefined : series.get(bound.of);
  return column.map((value, i) =>
    isPossible(value, bound, others?.[i] ?? Number.NaN) ? value : Number.NaN,
  );
}

function filled(sent: Float64Array | undefined, otherwise: Float64Array): Float64Array {
  if (sent === undefined) return otherwise;
  return sent.map((value, i) => (Number.isNaN(value) ? (otherwise[i] ?? value) : value));
}

function derivedColumn(columns: VmColumns, metricId: string): Float64Array {
  const column = new Float64Array(columns.timesMs.length).fill(Number.NaN);
  const derivation = metricCatalogue.get(metricId)?.derivation;
  const [derived] = derivation ? deriveColumns(columns, derivation) : [];
  let place = 0;
  for (const [i, timeMs] of (derived?.timesMs ?? []).entries()) {
    while (columns.timesMs[place] !== timeMs) place++;
    column[place] = derived?.values[i] ?? Number.NaN;
  }
  return column;
}
