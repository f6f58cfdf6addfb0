/**
 * Export shards of VMs. A VM's shard is decided once, in the commit that registers it, and kept in
 * its record: it never changes, whatever other VMs come and go. The fill of the shards is a record
 * of the project, read and written in the same decision, so that two registrations cannot take one
 * place.
 */
import type { Draft, ProjectView } from '../platform/host/host-port.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    exportShards: ShardCounts;
  }
}

/** VMs of a shard at most. */
export const SHARD_VMS_MAX = 500;

const KIND = 'exportShards';
const ID = 'vms';

/** Body of the record: VMs that were put into each shard. Never gets shorter. */
interface ShardCounts {
  readonly vms: readonly number[];
}

/** Number of a project's shards; a project without VMs has one. */
export function shardCount(view: ProjectView): number {
  return Math.max(1, countsOf(view).length);
}

/** Takes places one after another; `store` writes down what was taken, in the same decision. */
export class ShardPlaces {
  readonly #draft: Draft;
  readonly #counts: number[];
  #taken = false;

  constructor(draft: Draft) {
    this.#draft = draft;
    this.#counts = [...countsOf(draft)];
  }

  /** The shard of one more VM: the first that is not full, or a new one. */
  take(): number {
    const roomy = this.#counts.findIndex((count) => count < SHARD_VMS_MAX);
    const shard = roomy < 0 ? this.#counts.length : roomy;
    this.#counts[shard] = (this.#counts[shard] ?? 0) + 1;
    this.#taken = true;
    return shard;
  }

  store(): void {
    if (this.#taken) this.#draft.putRecord({ kind: KIND, id: ID, body: { vms: this.#counts } });
  }
}

function countsOf(view: ProjectView): readonly number[] {
  // Records of this kind are written by `ShardPlaces` alone.
  const body = view.record(KIND, ID)?.body;
  return body?.vms ?? [];
}
