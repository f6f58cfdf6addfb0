/**
 * The name of an alert instance: its resource name once it has fired, before that its rule, VM and
 * labels in the query. Pure.
 */

import { idOf } from '../../../data/names.ts';
import type { RequestOf, ResponseOf } from '../../../data/rpc-types.ts';

export type AlertInstance = ResponseOf<'AlertService', 'listAlertInstances'>['instances'][number];
/** The name as GetAlertInstance and ExplainAlertInstance accept it. */
export type NamedInstance = RequestOf<'AlertService', 'getAlertInstance'>;

/** Path placeholder for an instance that has never fired and thus has no name. */
const NAMELESS = '-';
const LABEL = 'label.';

/** The address of its page. */
export function hrefOf(projectName: string, instance: AlertInstance): string {
  const { name, ruleName, vmName, labels } = instance;
  if (name !== '') return `/${name}`;
  const parameters = new URLSearchParams({ rule: idOf(ruleName), vm: idOf(vmName) });
  for (const [label, value] of Object.entries(labels)) parameters.set(LABEL + label, value);
  return `/${projectName}/alertInstances/${NAMELESS}?${parameters}`;
}

/** The instance named by the address; undefined if absent. */
export function instanceIn(
  projectName: string,
  id: string,
  parameters: URLSearchParams,
): NamedInstance | undefined {
  if (id !== NAMELESS) return { name: `${projectName}/alertInstances/${id}` };
  const [rule, vm] = [parameters.get('rule'), parameters.get('vm')];
  if (!rule || !vm) return undefined;
  const labels = [...parameters]
    .filter(([name]) => name.startsWith(LABEL))
    .map(([name, value]) => [name.slice(LABEL.length), value]);
  return {
    ruleName: `${projectName}/alertRules/${rule}`,
    vmName: `${projectName}/vms/${vm}`,
    labels: Object.fromEntries(labels),
  };
}

/** A key that is unique among the rows of a list. */
export function keyOf({ ruleName, vmName, labels, name }: AlertInstance): string {
  return `${ruleName} ${vmName} ${JSON.stringify(labels)} ${name}`;
}
