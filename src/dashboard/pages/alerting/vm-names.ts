/**
 * The project's VMs by name, for pages that have only their resource names; and the units of metrics,
 * which incidents do not carry. Both change rarely: they are read once for each opening of a page.
 */
import { read } from '../../data/call.ts';
import { type Loader, useLoaded } from '../../data/loaded.ts';
import { loadPages } from '../../data/pages.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';

export type Vm = ResponseOf<'MonitoringService', 'listVMMonitoring'>['vms'][number];

/** As many as a page of the list may have, ten times. */
const VMS_MAX = 10_000;

export function useVms(projectName: string): Loader<readonly Vm[]> {
  return useLoaded(`vms ${projectName}`, async ({ signal, onRetry }) => {
    const { items } = await loadPages<Vm>(async (pageToken) => {
      const answer = await read(
        'MonitoringService',
        'listVMMonitoring',
        { projectName, pageSize: 1_000, pageToken, inventoryOnly: true },
        { signal, onRetry },
      );
      return { items: answer.vms, nextPageToken: answer.nextPageToken };
    }, VMS_MAX);
    return items;
  });
}

/** Display names by resource name; empty until they are loaded: then ids are shown. */
export function vmNamesOf(vms: readonly Vm[] | undefined): ReadonlyMap<string, string> {
  return new Map((vms ?? []).map(({ name, displayName }) => [name, displayName]));
}

type Descriptor = ResponseOf<'MonitoringService', 'listMetricDescriptors'>['descriptors'][number];

export function useMetrics(projectName: string): Loader<readonly Descriptor[]> {
  return useLoaded(`metrics ${projectName}`, async ({ signal, onRetry }) => {
    const request = { projectName };
    const options = { signal, onRetry };
    return (await read('MonitoringService', 'listMetricDescriptors', request, options)).descriptors;
  });
}

/** Unit of a metric; empty until the list is loaded. */
export function unitOf(metrics: readonly Descriptor[] | undefined, metricId: string): string {
  return metrics?.find((metric) => metric.metricId === metricId)?.unit ?? '';
}
