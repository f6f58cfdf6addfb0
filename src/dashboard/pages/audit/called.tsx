/** The resource of a recorded step by its display name, or by its truncated id. */
import type { VNode } from 'preact';
import { idOf } from '../../data/names.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';

/** Long enough to distinguish ids; the tooltip shows the whole id. */
const ID_CHARS = 14;

/** The instance of a step; the tooltip has its full resource name. */
export function Called({ step }: { readonly step: Transition }): VNode {
  const { instance, instanceName, instanceDisplayName } = step;
  const id = instanceName === '' ? instance : idOf(instanceName);
  const shortened = id.length <= ID_CHARS + 1 ? id : `${id.slice(0, ID_CHARS)}…`;
  return <span title={instanceName || instance}>{instanceDisplayName || shortened}</span>;
}
