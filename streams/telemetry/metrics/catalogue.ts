/**
 * The metric catalogue: one table of every metric id, its meaning, its limitation and its
 * derivation. Rules, queries and descriptors read this table, so a metric means the same to each of
 * them. To add a metric, add a row.
 */

/** How a metric's value is derived from the series of a row; the arithmetic is in `derive.ts`. */
export type Derivation =
  /**
   * The reading itself; `perLabels`: one value per label set (a mount), otherwise one per VM.
   * `atMost`: series with the same labels that it cannot exceed.
   */
  | {
      readonly from: 'gauge';
      readonly series: string;
      readonly perLabels: boolean;
      readonly atMost?: string;
    }
  /** Increase of a counter per second for each device, then summed over the VM. */
  | { readonly from: 'rate'; readonly series: string }
  /** A ready gauge if the source has one, otherwise cpu-seconds over interval x vCPUs observed. */
  | { readonly from: 'utilization'; readonly gauge: string; readonly counter: string }
  /** total - free if both are reported, otherwise the source's own `used` (balloon). */
  | { readonly from: 'memoryUsed'; readonly as: 'bytes' | 'percent' }
  /** 100 x numerator / denominator for each label set. */
  | { readonly from: 'percentage'; readonly numerator: string; readonly denominator: string }
  /** The reported gauge, otherwise the state reported by the hypervisor. */
  | { readonly from: 'running'; readonly series: string }
  /** 1 if the hypervisor reports that the VM stopped without a request. */
  | { readonly from: 'unexpectedStop' }
  /** Time since the newest observation: has a value at every moment after the first one. */
  | { readonly from: 'age' };

/** Units of metrics. Ratios are `percent`, 0 to 100; `boolean` is 0 or 1. */
export type MetricUnit =
  | 'percent'
  | 'bytes'
  | 'bytes_per_second'
  | 'operations_per_second'
  | 'seconds'
  | 'load'
  | 'processes'
  | 'boolean';

/**
 * One row of the catalogue as returned by `ListMetricDescriptors`, plus the derivation of the
 * metric.
 */
export interface MetricDescriptor {
  readonly metricId: string;
  readonly unit: MetricUnit;
  /** Origin of the observations. */
  readonly source: 'hypervisor' | 'guest' | 'service';
  /** Series to query in PromQL; for rates and ratios, the series from which they are computed. */
  readonly promqlName: string;
  /** The limitation that readers must know (MEAS-01 to MEAS-04). */
  readonly limitation: string;
  /** Only with expanded guest monitoring. */
  readonly expanded: boolean;
  /** Reported by the guest, whoever forwards it: if it is missing, the guest did not report it. */
  readonly reportedByGuest: boolean;
  readonly derivation: Derivation;
}

/** The metric that changes with time alone: ticks decide rules on it, too. */
export const AGE_METRIC = 'telemetry_age_seconds';

const CPU =
  'Average utilization of observed vCPUs, normalized to capacity. Counter resets are retained. ' +
  'A resize does not divide historical activity by the current vCPU count.';
const MEMORY =
  'Guest-visible capacity minus free memory, including cache. Not application working set, not ' +
  'memory pressure.';
const DEVICE = 'Observed virtual-device traffic. Not invoice-grade transfer measurements.';
const FILESYSTEM =
  'Guest-agent-reported capacity and usage where available. A mount is not necessarily one ' +
  'attached disk. A missing reading is not 0% full.';
const QUALITY =
  'Source observation time, stale data and query errors are distinct from VM health. Buffered ' +
  'samples keep their original times.';
const STATE = `${QUALITY} A coarser step holds the share of its observations.`;
const GUEST = 'Reported by expanded guest monitoring, from inside the guest, where installed.';

type Row = Omit<MetricDescriptor, 'expanded' | 'reportedByGuest'> & { readonly expanded?: boolean };

const rows: readonly Row[] = [
  {
    metricId: 'cpu_utilization_pct',
    unit: 'percent',
    source: 'hypervisor',
    promqlName: 'svc_vm_cpu_utilization_pct',
    limitation: CPU,
    derivation: {
      from: 'utilization',
      gauge: 'svc_vm_cpu_utilization_pct',
      counter: 'svc_vm_cpu_seconds_total',
    },
  },
  {
    metricId: 'memory_used_bytes',
    unit: 'bytes',
    source: 'hypervisor',
    promqlName: 'svc_vm_memory_used_bytes',
    limitation: MEMORY,
    derivation: { from: 'memoryUsed', as: 'bytes' },
  },
  {
    metricId: 'memory_used_pct',
    unit: 'percent',
    source: 'hypervisor',
    promqlName: 'svc_vm_memory_used_bytes',
    limitation: MEMORY,
    derivation: { from: 'memoryUsed', as: 'percent' },
  },
  gauge('memory_total_bytes', 'bytes', 'hypervisor', 'svc_vm_memory_total_bytes', MEMORY),
  rate('disk_read_bytes_per_second', 'bytes_per_second', 'svc_vm_disk_read_bytes_total'),
  rate('disk_write_bytes_per_second', 'bytes_per_second', 'svc_vm_disk_written_bytes_total'),
  rate('disk_read_ops_per_second', 'operations_per_second', 'svc_vm_disk_reads_completed_total'),
  rate('disk_write_ops_per_second', 'operations_per_second', 'svc_vm_disk_writes_completed_total'),
  rate(
    'network_receive_bytes_per_second',
    'bytes_per_second',
    'svc_vm_network_receive_bytes_total',
  ),
  rate(
    'network_transmit_bytes_per_second',
    'bytes_per_second',
    'svc_vm_network_transmit_bytes_total',
  ),
  {
    metricId: 'filesystem_used_pct',
    unit: 'percent',
    source: 'guest',
    promqlName: 'svc_vm_filesystem_used_bytes',
    limitation: FILESYSTEM,
    derivation: {
      from: 'percentage',
      numerator: 'svc_vm_filesystem_used_bytes',
      denominator: 'svc_vm_filesystem_size_bytes',
    },
  },
  filesystem(
    'filesystem_used_bytes',
    'svc_vm_filesystem_used_bytes',
    'svc_vm_filesystem_size_bytes',
  ),
  filesystem('filesystem_size_bytes', 'svc_vm_filesystem_size_bytes'),
  {
    metricId: 'vm_running',
    unit: 'boolean',
    source: 'hypervisor',
    promqlName: 'svc_vm_running',
    limitation: STATE,
    derivation: { from: 'running', series: 'svc_vm_running' },
  },
  {
    metricId: 'unexpected_stop',
    unit: 'boolean',
    source: 'hypervisor',
    promqlName: 'svc_vm_running',
    limitation: STATE,
    derivation: { from: 'unexpectedStop' },
  },
  {
    metricId: AGE_METRIC,
    unit: 'seconds',
    source: 'service',
    promqlName: 'svc_vm_last_observation_timestamp_seconds',
    limitation: QUALITY,
    derivation: { from: 'age' },
  },
  { ...gauge('load_1m', 'load', 'guest', 'svc_vm_load1', GUEST), expanded: true },
  {
    ...gauge('memory_available_bytes', 'bytes', 'guest', 'svc_vm_memory_available_bytes', GUEST),
    expanded: true,
  },
  {
    ...gauge('swap_used_bytes', 'bytes', 'guest', 'svc_vm_swap_used_bytes', GUEST),
    expanded: true,
  },
  {
    ...gauge('processes_running', 'processes', 'guest', 'svc_vm_processes_running', GUEST),
    expanded: true,
  },
];

/** Every metric by its id, in the order in which descriptors are listed. */
export const metricCatalogue: ReadonlyMap<string, MetricDescriptor> = new Map(
  rows.map((row) => [
    row.metricId,
    { expanded: false, reportedByGuest: isReportedByGuest(row), ...row },
  ]),
);

/** Series that only expanded monitoring reports, from inside the guest. */
export const EXPANDED_SERIES: ReadonlySet<string> = new Set(
  rows.filter(({ expanded }) => expanded).map(({ promqlName }) => promqlName),
);

/** Metrics that alert rules can watch. */
export const EVALUATED_METRICS: ReadonlySet<string> = new Set(metricCatalogue.keys());

/** The hypervisor forwards memory readings, but the guest's balloon driver reports them. */
function isReportedByGuest({ source, derivation, metricId }: Row): boolean {
  const isMemory = derivation.from === 'memoryUsed' || metricId === 'memory_total_bytes';
  return source === 'guest' || isMemory;
}

function gauge(
  metricId: string,
  unit: MetricUnit,
  source: MetricDescriptor['source'],
  series: string,
  limitation: string,
): Row {
  const derivation: Derivation = { from: 'gauge', series, perLabels: false };
  return { metricId, unit, source, promqlName: series, limitation, derivation };
}

function rate(metricId: string, unit: MetricUnit, series: string): Row {
  const derivation: Derivation = { from: 'rate', series };
  return {
    metricId,
    unit,
    source: 'hypervisor',
    promqlName: series,
    limitation: DEVICE,
    derivation,
  };
}

function filesystem(metricId: string, series: string, atMost?: string): Row {
  const derivation: Derivation = {
    from: 'gauge',
    series,
    perLabels: true,
    ...(atMost !== undefined && { atMost }),
  };
  return {
    metricId,
    unit: 'bytes',
    source: 'guest',
    promqlName: series,
    limitation: FILESYSTEM,
    derivation,
  };
}
