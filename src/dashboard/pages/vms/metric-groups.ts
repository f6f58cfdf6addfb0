/**
 * Groups of a VM's metrics. Pure. Metrics missing from the table come last, so that those of a
 * newer service are not lost.
 */
import type { ResponseOf } from '../../data/rpc-types.ts';

export type MetricDescriptor = ResponseOf<
  'MonitoringService',
  'listMetricDescriptors'
>['descriptors'][number];

export interface MetricGroup {
  readonly key: string;
  readonly descriptors: readonly MetricDescriptor[];
}

const groupOf = (metricId: string): string => {
  if (/^(cpu|memory|vm_running|unexpected|telemetry)/.test(metricId)) return 'vm';
  if (metricId.startsWith('disk_')) return 'disk';
  if (metricId.startsWith('network_')) return 'network';
  if (metricId.startsWith('filesystem_')) return 'filesystem';
  return 'guest';
};
const order = ['vm', 'disk', 'network', 'filesystem', 'guest'];

/** Groups in display order; within a group, the order of the catalogue. */
export function metricGroups(descriptors: readonly MetricDescriptor[]): MetricGroup[] {
  return order.flatMap((key) => {
    const own = descriptors.filter(({ metricId }) => groupOf(metricId) === key);
    return own.length > 0 ? [{ key, descriptors: own }] : [];
  });
}
