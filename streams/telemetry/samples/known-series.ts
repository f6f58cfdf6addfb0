/**
 * Names of series and labels that most batches carry, as numbers: a single row of one VM would
 * otherwise spend more bytes on names than on values. Part of the wire format: only ever append.
 */

/** Names of labels, the position being what is stored. */
export const KNOWN_LABEL_NAMES: readonly string[] = ['device', 'interface', 'mountpoint', 'fstype'];

/** Names of series, the position being what is stored. */
export const KNOWN_SERIES_NAMES: readonly string[] = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_vcpus',
  'svc_vm_cpu_utilization_pct',
  'svc_vm_memory_total_bytes',
  'svc_vm_memory_free_bytes',
  'svc_vm_memory_used_bytes',
  'svc_vm_disk_read_bytes_total',
  'svc_vm_disk_written_bytes_total',
  'svc_vm_disk_reads_completed_total',
  'svc_vm_disk_writes_completed_total',
  'svc_vm_network_receive_bytes_total',
  'svc_vm_network_transmit_bytes_total',
  'svc_vm_filesystem_size_bytes',
  'svc_vm_filesystem_used_bytes',
  'svc_vm_running',
  'svc_vm_last_observation_timestamp_seconds',
  'svc_vm_load1',
  'svc_vm_memory_available_bytes',
  'svc_vm_swap_used_bytes',
  'svc_vm_processes_running',
];
