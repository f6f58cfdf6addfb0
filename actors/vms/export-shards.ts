/**
 * Export shards of VMs. A VM's shard is decided once, in the commit that registers it, and stored
 * in its record. It never changes, whatever other VMs are added or removed. The fill of the shards
 * is a record of the project, read and written in the same decision, so that two registrations
 * cannot take one slot.
 */
import type { Draft, ProjectView } from '../platform/host/host-port.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    exportShards: ShardCounts;
  }
}

/** Maximum VMs of a shard. */
export const SHARD_VMS_MAX = 500;

const KIND = 'exportShards';
const ID = 'vms';

/** Body of the record: number of VMs ever put into each shard. The list never gets shorter. */
interface ShardCounts {
  readonly vms: readonly number[];
}

/** Number of a project's shards; a project without VMs has one. */
export function shardCount(view: ProjectView): number {
  return Math.max(1, countsOf(view).length);
}

/** Takes slots one after another; `store` records them in the same decision. */
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
  // Only `ShardPlaces` writes records of this kind.
  const body = view.record(KIND, ID)?.body;
  return body?.vms ?? [];
}
