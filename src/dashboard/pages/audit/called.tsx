/** What a recorded step was about, as people call it: by name, or by its id, shortened. */
import type { VNode } from 'preact';
import { idOf } from '../../data/names.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';

/** Long enough to distinguish two; the tooltip has all of it. */
const ID_CHARS = 14;

/** The instance of a step; its whole resource name is in the tooltip. */
export function Called({ step }: { readonly step: Transition }): VNode {
  const { instance, instanceName, instanceDisplayName } = step;
  const id = instanceName === '' ? instance : idOf(instanceName);
  const shortened = id.length <= ID_CHARS + 1 ? id : `${id.slice(0, ID_CHARS)}…`;
  return <span title={instanceName || instance}>{instanceDisplayName || shortened}</span>;
}
