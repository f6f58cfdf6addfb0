/** Current names of things and people, shown in messages beside resource names; '' if unknown. */
import type { Host, ProjectView } from '../../../actors/platform/host/host-port.ts';
import { actorsForPeople } from './transition-messages.ts';

export function ruleDisplayName(view: ProjectView, rule: string): string {
  return view.instance('alertRule', rule)?.context.spec.displayName ?? '';
}

/** @param vm '' if there is none, as for a condition on a whole data center */
export function vmDisplayName(view: ProjectView, vm: string): string {
  return vm === '' ? '' : (view.record('vm', vm)?.body.displayName ?? '');
}

export function destinationDisplayName(view: ProjectView, destination: string): string {
  return view.instance('destination', destination)?.context.displayName ?? '';
}

export function accountDisplayName(view: ProjectView, account: string): string {
  return view.instance('serviceAccount', account)?.context.displayName ?? '';
}

/**
 * Name of an actor that is a person, e.g. `people/p`. Only for callers who are people: others see
 * no names.
 */
export function personDisplayName(host: Pick<Host, 'view'>, actor: string): string {
  return actorsForPeople(host)({ kind: 'human', name: actor }).byDisplayName;
}
