/** Checkpoints in memory: the parts of one state, and the state that they restore. */
import {
  type EncodedVm,
  encodedVms,
  encodeHead,
  endRestore,
  restoreHead,
  restoreVm,
} from '../../streams/alerting/evaluation/checkpoint/checkpoint-codec.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';

export interface Checkpoint {
  readonly head: Uint8Array;
  readonly vms: readonly EncodedVm[];
}

export function checkpointOf(state: EvaluationState): Checkpoint {
  return { head: encodeHead(state), vms: [...encodedVms(state)] };
}

export function restored({ head, vms }: Checkpoint): EvaluationState {
  const state = restoreHead(head);
  for (const vm of vms) restoreVm(state, vm);
  endRestore(state);
  return state;
}

/** Names of the parts in which two checkpoints differ. The order of VMs is free. */
export function differingParts(a: Checkpoint, b: Checkpoint): string[] {
  const parts = [partsOf(a), partsOf(b)] as const;
  const names = new Set(parts.flatMap((each) => [...each.keys()]));
  return [...names].filter((name) => {
    const [one, other] = parts.map((each) => each.get(name));
    return !one || !other || Buffer.compare(one, other) !== 0;
  });
}

function partsOf({ head, vms }: Checkpoint): Map<string, Uint8Array> {
  const named = vms.map(({ project, vm, data }) => [`${project}/${vm}`, data] as const);
  return new Map([['head', head], ...named]);
}
