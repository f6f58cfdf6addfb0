/**
 * Checkpoints in memory: the parts of one state and the state that they restore, and a folder of them.
 */
import type {
  CheckpointIndex,
  CheckpointStore,
} from '../../actors/alerting/evaluator/checkpoints.ts';
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

/** Checkpoints in memory, and the names of what was written. */
export class CheckpointsInMemory implements CheckpointStore {
  readonly files = new Map<string, readonly Uint8Array[]>();
  saved: string | undefined;
  /** Fault of the next writes. */
  fault: Error | undefined;

  async index(): Promise<unknown> {
    return this.saved === undefined ? undefined : JSON.parse(this.saved);
  }

  async saveIndex(index: CheckpointIndex, named: ReadonlySet<string>): Promise<void> {
    this.saved = JSON.stringify(index);
    for (const name of this.files.keys()) if (!named.has(name)) this.files.delete(name);
  }

  async write(name: string, blocks: Iterable<Uint8Array>): Promise<void> {
    if (this.fault) throw this.fault;
    this.files.set(name, [...blocks]);
  }

  async *read(name: string): AsyncGenerator<Uint8Array> {
    const blocks = this.files.get(name);
    if (blocks === undefined) throw new Error(`${name} is missing`);
    yield* blocks;
  }

  /** Changes the index as it is on disk. */
  change(change: (index: CheckpointIndex) => CheckpointIndex): void {
    this.saved = JSON.stringify(change(JSON.parse(this.saved ?? '') as CheckpointIndex));
  }
}
