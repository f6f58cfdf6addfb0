/**
 * VMs, rules, destinations and metrics of a project by resource name, for pages that need display
 * names and units. They change rarely, so each is read once when a page opens. Until then it is
 * empty, and ids are shown.
 */
import { read } from './call.ts';
import { type ListLoader, pagesOf, useListing } from './listing.ts';
import { useLoaded } from './loaded.ts';
import { idOf } from './names.ts';
import { mayDo } from './projects.ts';
import type { ResponseOf } from './rpc-types.ts';

export type Vm = ResponseOf<'MonitoringService', 'listVMMonitoring'>['vms'][number];
export type Rule = ResponseOf<'AlertService', 'listAlertRules'>['rules'][number];
export type Destination = ResponseOf<'AlertService', 'listDestinations'>['destinations'][number];
export type Metric = ResponseOf<
  'MonitoringService',
  'listMetricDescriptors'
>['descriptors'][number];

/** Maximum page size of a list; reading a whole list stops after ten pages. */
const PAGE_ROWS = 1_000;
const ROWS_MAX = 10_000;

/** The VMs without their readings. */
export function useVms(projectName: string): readonly Vm[] {
  const list = useListing<Vm>(
    `vms ${projectName}`,
    pagesOf('MonitoringService', 'listVMMonitoring', 'vms', {
      projectName,
      pageSize: PAGE_ROWS,
      inventoryOnly: true,
    }),
    { rows: ROWS_MAX },
  );
  return list.state.value.value?.items ?? [];
}

/** Display names by resource name. */
export function vmNamesOf(vms: readonly Vm[]): ReadonlyMap<string, string> {
  return new Map(vms.map(({ name, displayName }) => [name, displayName]));
}

/** The VM with that id, or else those with that display name. */
export function vmsCalled(vms: readonly Vm[], text: string): readonly Vm[] {
  const byId = vms.filter(({ name }) => idOf(name) === text);
  return byId.length > 0 ? byId : vms.filter(({ displayName }) => displayName === text);
}

/**
 * The rules with their loading state, for a page that must tell an empty list from a missing one.
 */
export function useRuleList(projectName: string): ListLoader<Rule> {
  return useListing<Rule>(
    `rules ${projectName}`,
    pagesOf('AlertService', 'listAlertRules', 'rules', { projectName, pageSize: PAGE_ROWS }),
    { rows: ROWS_MAX },
  );
}

export function useRules(projectName: string): ReadonlyMap<string, Rule> {
  const { value } = useRuleList(projectName).state.value;
  return new Map((value?.items ?? []).map((rule) => [rule.name, rule]));
}

/** Empty for a VIEWER, who may not list destinations. */
export function useDestinations(projectName: string): readonly Destination[] {
  const isAllowed = mayDo('EDITOR');
  const list = useListing<Destination>(
    `destinations ${projectName} ${isAllowed}`,
    async (pageToken, options) => {
      if (!isAllowed) return { items: [], nextPageToken: '' };
      const request = { projectName, pageSize: PAGE_ROWS, pageToken };
      const answer = await read('AlertService', 'listDestinations', request, options);
      return { items: answer.destinations, nextPageToken: answer.nextPageToken };
    },
    { rows: ROWS_MAX },
  );
  return list.state.value.value?.items ?? [];
}

/**
 * Display names of destinations by resource name. Deleted ones are missing, and a VIEWER gets none.
 */
export function useDestinationTitles(projectName: string): ReadonlyMap<string, string> {
  return new Map(useDestinations(projectName).map(({ name, displayName }) => [name, displayName]));
}

export function useMetrics(projectName: string): readonly Metric[] {
  const { state } = useLoaded(`metrics ${projectName}`, async (options) => {
    const request = { projectName };
    return (await read('MonitoringService', 'listMetricDescriptors', request, options)).descriptors;
  });
  return state.value.value ?? [];
}

/** Unit of a metric; empty until the list is loaded. */
export function unitOf(metrics: readonly Metric[], metricId: string): string {
  return metrics.find((metric) => metric.metricId === metricId)?.unit ?? '';
}
