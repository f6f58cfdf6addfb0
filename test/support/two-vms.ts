/**
 * A world whose project `demo` has two VMs with an hour of samples up to now, as a host's collector
 * sends them, for tests of single calls of the PromQL URL.
 */

import type { Test } from 'tap';
import type { ThreadOptions } from './api-in-process.ts';
import { START_MS } from './host-in-memory.ts';
import { type PromqlServer, rowsOf, startPromqlServer } from './promql-server.ts';

/** Unix seconds at which the world's clock stops. */
export const NOW = START_MS / 1000;
export const HOUR_AGO = NOW - 3600;
/** Half a core on `vm-1`, a quarter on `vm-2`. */
export const CPU = 'svc_vm_cpu_seconds_total';

export async function startTwoVms(t: Test, options?: ThreadOptions): Promise<PromqlServer> {
  const w = await startPromqlServer(t, undefined, options);
  for (const [vm, cores] of [
    ['vm-1', 0.5],
    ['vm-2', 0.25],
  ] as const) {
    const rows = rowsOf(vm, {
      count: 121,
      row: { vcpus: 2, state: 'RUNNING', displayName: `Machine "${vm}"` },
      values: (i) => [
        { series: CPU, value: 30 * cores * i },
        { series: 'svc_vm_memory_free_bytes', value: 1e9 + i },
        { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'vda' }, value: 100 * i },
        { series: 'tiny_value', value: 1e-7 },
      ],
    });
    await w.writeTo('demo', rows);
  }
  return w;
}

/** All metrics of `demo`, sorted. */
export const names = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_cpu_utilization_pct',
  'svc_vm_disk_read_bytes_total',
  'svc_vm_last_observation_timestamp_seconds',
  'svc_vm_memory_free_bytes',
  'svc_vm_running',
  'svc_vm_vcpus',
  'tiny_value',
];
/** All label names of `demo`, sorted. */
export const labelNames = ['__name__', 'datacenter', 'device', 'project', 'vm', 'vm_name'];
export const vmLabels = (vm: string) => ({
  datacenter: 'DC-1',
  project: 'demo',
  vm,
  vm_name: `Machine "${vm}"`,
});
