/** Filters that several lists share: a rule, a VM, a range of time. */
import type { ActionContext } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import type { Option } from '../client/arguments.ts';
import { optionalName } from '../client/names.ts';

export const ruleAndVmOptions: readonly Option[] = [
  { name: 'rule', takes: 'NAME', help: 'Only this rule' },
  { name: 'vm', takes: 'NAME', help: 'Only this VM' },
];

/** Full names of the given rule and VM; '' for one that is not given. */
export async function ruleAndVmOf(context: ActionContext, api: Api) {
  return {
    ruleName: await optionalName(context, api, 'alertRules', 'rule'),
    vmName: await optionalName(context, api, 'vms', 'vm'),
  };
}

/** @param since what happened then: `Fired at or after` */
export function timeOptions(since: string, until: string): readonly Option[] {
  return [
    { name: 'since', takes: 'TIME', help: `${since}; 1h = an hour ago` },
    { name: 'until', takes: 'TIME', help: until },
  ];
}

/** The given range; 0 for an end that is not given. */
export function timesOf({ input }: Pick<ActionContext, 'input'>) {
  return {
    startTimeUnix: BigInt(input.time('since') ?? 0),
    endTimeUnix: BigInt(input.time('until') ?? 0),
  };
}
