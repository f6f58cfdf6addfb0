/**
 * `ListMetricDescriptors`: every available metric, with a sentence on its limitation (API-24), can
 * be queried.
 */
import { test } from 'tap';
import { START_SECONDS, startRpcWorld, VM } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';

/** Id, unit, source, PromQL series, and a word of the limitation. */
const wanted: readonly [string, string, string, string, RegExp][] = [
  ['cpu_utilization_pct', 'percent', 'hypervisor', 'svc_vm_cpu_utilization_pct', /normalized to c/],
  ['memory_used_bytes', 'bytes', 'hypervisor', 'svc_vm_memory_used_bytes', /including cache/],
  ['memory_used_pct', 'percent', 'hypervisor', 'svc_vm_memory_used_bytes', /including cache/],
  ['memory_total_bytes', 'bytes', 'hypervisor', 'svc_vm_memory_total_bytes', /Guest-visible/],
  ...(['read', 'write'] as const).map((way): [string, string, string, string, RegExp] => [
    ...([`disk_${way}_bytes_per_second`, 'bytes_per_second', 'hypervisor'] as const),
    `svc_vm_disk_${way === 'read' ? 'read' : 'written'}_bytes_total`,
    /Not invoice-grade/,
  ]),
  ...(['read', 'write'] as const).map((way): [string, string, string, string, RegExp] => [
    ...([`disk_${way}_ops_per_second`, 'operations_per_second', 'hypervisor'] as const),
    `svc_vm_disk_${way}s_completed_total`,
    /Not invoice-grade/,
  ]),
  ...(['receive', 'transmit'] as const).map((way): [string, string, string, string, RegExp] => [
    ...([`network_${way}_bytes_per_second`, 'bytes_per_second', 'hypervisor'] as const),
    `svc_vm_network_${way}_bytes_total`,
    /Not invoice-grade/,
  ]),
  ['filesystem_used_pct', 'percent', 'guest', 'svc_vm_filesystem_used_bytes', /is not 0% full/],
  ['filesystem_used_bytes', 'bytes', 'guest', 'svc_vm_filesystem_used_bytes', /is not 0% full/],
  ['filesystem_size_bytes', 'bytes', 'guest', 'svc_vm_filesystem_size_bytes', /not necessarily/],
  ['vm_running', 'boolean', 'hypervisor', 'svc_vm_running', /share of its observations/],
  ['unexpected_stop', 'boolean', 'hypervisor', 'svc_vm_running', /distinct from VM health/],
  [
    ...(['telemetry_age_seconds', 'seconds', 'service'] as const),
    ...(['svc_vm_last_observation_timestamp_seconds', /stale data/] as const),
  ],
  ['load_1m', 'load', 'guest', 'svc_vm_load1', /expanded guest monitoring/],
  ['memory_available_bytes', 'bytes', 'guest', 'svc_vm_memory_available_bytes', /expanded/],
  ['swap_used_bytes', 'bytes', 'guest', 'svc_vm_swap_used_bytes', /expanded/],
  ['processes_running', 'processes', 'guest', 'svc_vm_processes_running', /expanded/],
];

test('API-24: every metric is described, and every described metric can be queried', async (t) => {
  const world = await startRpcWorld(t);
  await world.write([{ observedUnixMs: START_MS, state: 'RUNNING' }]);
  const { body } = await world.call('ListMetricDescriptors', { projectName: 'projects/demo' });
  const expanded = ['load_1m', 'memory_available_bytes', 'swap_used_bytes', 'processes_running'];
  t.match(
    body.descriptors,
    wanted.map(([metricId, unit, source, promqlName, limitation]) => ({
      metricId,
      unit,
      source,
      promqlName,
      limitation,
      expanded: expanded.includes(metricId),
    })),
  );
  t.equal(body.descriptors.length, wanted.length);
  const metricIds = wanted.map(([metricId]) => metricId);
  const time = String(START_SECONDS);
  const range = { startTimeUnix: time, endTimeUnix: time, stepSeconds: 30 };
  const answer = await world.call('QueryVMMonitoring', { name: VM, metricIds, ...range });
  t.same(
    answer.body.quality.metrics.map(({ metricId }: { metricId: string }) => metricId),
    metricIds,
  );
  t.same(
    answer.body.series.map(({ metricId }: { metricId: string }) => metricId),
    ['vm_running', 'unexpected_stop', 'telemetry_age_seconds'],
    'series of a row without a reading',
  );
});
