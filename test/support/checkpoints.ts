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

/** The checkpoint as text, its VMs in the order of their names. */
export function textOfCheckpoint({ head, vms }: Checkpoint): string {
  const texts = vms.map(({ project, vm, data }) => `${project}/${vm} ${hex(data)}`);
  return [hex(head), ...texts.sort()].join('\n');
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
