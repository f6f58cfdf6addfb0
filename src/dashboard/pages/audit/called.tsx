/**
 * What recorded steps were about, as people call it: a rule, a destination and a service account by
 * their display names, an alert instance by its rule and VM, anything else by its id, shortened.
 */
import type { VNode } from 'preact';
import { read } from '../../data/call.ts';
import { useDestinations, useRules, useVms, vmNamesOf } from '../../data/catalogue.ts';
import { useListing } from '../../data/listing.ts';
import { idOf } from '../../data/names.ts';
import { mayDo } from '../../data/projects.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';

type Instance = ResponseOf<'AlertService', 'listAlertInstances'>['instances'][number];

/** Display names by resource name. */
export type Names = ReadonlyMap<string, string>;

const PAGE_ROWS = 1_000;
const ROWS_MAX = 10_000;

/** The names that `steps` need, as far as this role may read them; empty until they are loaded. */
export function useNames(projectName: string, steps: readonly Transition[]): Names {
  const has = (machine: string): boolean => steps.some((step) => step.machine === machine);
  const rules = [...useRules(projectName).values()];
  const destinations = useDestinations(projectName);
  const accounts = useAccounts(projectName, has('serviceAccount'));
  const instances = useInstances(projectName, has('alertInstance'));
  const vms = vmNamesOf(useVms(projectName));
  const ruleNames = new Map(rules.map(({ name, spec }) => [name, spec?.displayName ?? '']));
  const nameOf = ({ ruleName, vmName, labels }: Instance): string =>
    [
      ruleNames.get(ruleName) || idOf(ruleName),
      [vms.get(vmName) || idOf(vmName), ...Object.values(labels)].join(' · '),
    ].join(', ');
  return new Map([
    ...ruleNames,
    ...[...destinations, ...accounts].map(({ name, displayName }) => [name, displayName] as const),
    ...instances.map((one) => [one.name, nameOf(one)] as const),
  ]);
}

/** Only where a step is about one: a project may have ten thousand of them. */
function useInstances(projectName: string, isNeeded: boolean): readonly Instance[] {
  const list = useListing<Instance>(
    `instances called ${projectName} ${isNeeded}`,
    async (pageToken, options) => {
      if (!isNeeded) return { items: [], nextPageToken: '' };
      const request = { projectName, pageSize: PAGE_ROWS, pageToken };
      const answer = await read('AlertService', 'listAlertInstances', request, options);
      return { items: answer.instances, nextPageToken: answer.nextPageToken };
    },
    { rows: ROWS_MAX },
  );
  return list.state.value.value?.items ?? [];
}

function useAccounts(projectName: string, isNeeded: boolean) {
  const isAsked = isNeeded && mayDo('OWNER');
  const list = useListing(
    `accounts called ${projectName} ${isAsked}`,
    async (pageToken, options) => {
      if (!isAsked) return { items: [], nextPageToken: '' };
      const request = { projectName, pageSize: PAGE_ROWS, pageToken };
      const answer = await read('AutomationService', 'listServiceAccounts', request, options);
      return { items: answer.serviceAccounts, nextPageToken: answer.nextPageToken };
    },
    { rows: ROWS_MAX },
  );
  return list.state.value.value?.items ?? [];
}

/** Long enough to distinguish two; the tooltip has all of it. */
const ID_CHARS = 14;

/** The instance of a step, in one word or by its names; its whole name is in the tooltip. */
export function Called(props: { readonly step: Transition; readonly names: Names }): VNode {
  const { instance, instanceName } = props.step;
  const id = instanceName === '' ? instance : idOf(instanceName);
  const shortened = id.length <= ID_CHARS + 1 ? id : `${id.slice(0, ID_CHARS)}…`;
  const name = instanceName === '' ? '' : props.names.get(instanceName);
  return <span title={instanceName || instance}>{name || shortened}</span>;
}
