/**
 * The series visible to readers of PromQL and exports: type, unit and help of each name, and which
 * of them are derived from a row although no source sends them. The single table for metadata,
 * exposition and documentation; a series that is not in it is user-defined, of unknown type.
 */

/** Metadata of one series name, as in PromQL's metadata and OpenMetrics. */
export interface SeriesDescriptor {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  /** Base unit in OpenMetrics, and suffix of the name; '' = none. */
  readonly unit: 'seconds' | 'bytes' | '';
  /** One sentence without a full stop. */
  readonly help: string;
  /**
   * Field of the row from which the series is derived: a sender sets the field, never the series.
   */
  readonly rowField?: 'vcpus' | 'state' | 'observedUnixMs';
}

/**
 * Largest magnitude of a reading in the series catalogue. Sources count in at most 64 bits, so a
 * larger number is an error of the sender, and the sum of two might not be finite. Other series may
 * have any finite value.
 */
export const READING_MAX = 2 ** 64;

const rows: readonly SeriesDescriptor[] = [
  counter(
    'svc_vm_cpu_seconds_total',
    'seconds',
    'CPU time used by all vCPUs together, excluding idle, iowait and steal',
  ),
  derived('vcpus', gauge('svc_vm_vcpus', '', 'vCPUs observed')),
  gauge(
    'svc_vm_cpu_utilization_pct',
    '',
    'Average utilization of the observed vCPUs since the previous observation, percent of capacity',
  ),
  gauge('svc_vm_memory_total_bytes', 'bytes', 'Memory visible to the guest'),
  gauge('svc_vm_memory_free_bytes', 'bytes', 'Memory reported as free by the guest'),
  gauge(
    'svc_vm_memory_used_bytes',
    'bytes',
    'Guest-visible memory minus free memory, page cache included',
  ),
  counter('svc_vm_disk_read_bytes_total', 'bytes', 'Bytes read from the virtual disk'),
  counter('svc_vm_disk_written_bytes_total', 'bytes', 'Bytes written to the virtual disk'),
  counter('svc_vm_disk_reads_completed_total', '', 'Reads of the virtual disk'),
  counter('svc_vm_disk_writes_completed_total', '', 'Writes of the virtual disk'),
  counter(
    'svc_vm_network_receive_bytes_total',
    'bytes',
    'Bytes that the guest received on the interface',
  ),
  counter(
    'svc_vm_network_transmit_bytes_total',
    'bytes',
    'Bytes that the guest sent on the interface',
  ),
  gauge(
    'svc_vm_filesystem_size_bytes',
    'bytes',
    'Size of the mounted file system as reported by the guest agent',
  ),
  gauge(
    'svc_vm_filesystem_used_bytes',
    'bytes',
    'Used space of the mounted file system as reported by the guest agent',
  ),
  derived(
    'state',
    gauge('svc_vm_running', '', '1 while the hypervisor reports the VM as running, otherwise 0'),
  ),
  derived(
    'observedUnixMs',
    gauge(
      'svc_vm_last_observation_timestamp_seconds',
      'seconds',
      'Time at which the source observed the VM, Unix time',
    ),
  ),
  gauge('svc_vm_load1', '', 'Load average over one minute, reported from inside the guest'),
  gauge(
    'svc_vm_memory_available_bytes',
    'bytes',
    'Memory available to programs, reported from inside the guest',
  ),
  gauge('svc_vm_swap_used_bytes', 'bytes', 'Swap in use, reported from inside the guest'),
  gauge(
    'svc_vm_reading_absent',
    '',
    '1 while the source leaves a reading out, with the cause; no sample means that nothing is left out',
  ),
  gauge('svc_vm_processes_running', '', 'Runnable processes, reported from inside the guest'),
];

/** Every series of the catalogue by name, in output order. */
export const seriesCatalogue: ReadonlyMap<string, SeriesDescriptor> = new Map(
  rows.map((row) => [row.name, row]),
);

function counter(name: string, unit: SeriesDescriptor['unit'], help: string): SeriesDescriptor {
  return { name, type: 'counter', unit, help };
}

function gauge(name: string, unit: SeriesDescriptor['unit'], help: string): SeriesDescriptor {
  return { name, type: 'gauge', unit, help };
}

function derived(
  rowField: NonNullable<SeriesDescriptor['rowField']>,
  descriptor: SeriesDescriptor,
): SeriesDescriptor {
  return { ...descriptor, rowField };
}
