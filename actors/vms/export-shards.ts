/**
 * Export shards of VMs. A VM's shard is decided once, in the commit that registers it, and stored
 * in its record. It never changes, whatever other VMs are added or removed. The fill of the shards
 * is a record of the project, read and written in the same decision, so that two registrations
 * cannot take one slot.
 *
 * Once history no longer has a retired VM, its slot passes to the next new VM. Shards themselves
 * are never removed: scrapers keep their targets, and an empty shard is scraped as an empty page.
 */
import { RETENTION_MS } from '../../streams/telemetry/entry.ts';
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

/** Body of the record: number of slots taken in each shard. The list never gets shorter. */
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
  readonly #retired: Iterator<string>;
  #taken = false;

  /** @param retired VMs that are retired and may still have a slot */
  constructor(draft: Draft, retired: Iterable<string>) {
    this.#draft = draft;
    this.#counts = [...countsOf(draft)];
    this.#retired = retired[Symbol.iterator]();
  }

  /**
   * The shard of one more VM: the first that is not full, that of a slot that is no longer needed,
   * or a new one.
   */
  take(): number {
    const roomy = this.#counts.findIndex((count) => count < SHARD_VMS_MAX);
    const released = roomy < 0 ? this.#release() : undefined;
    if (released !== undefined) return released;
    const shard = roomy < 0 ? this.#counts.length : roomy;
    this.#counts[shard] = (this.#counts[shard] ?? 0) + 1;
    this.#taken = true;
    return shard;
  }

  /**
   * Takes the slot of one retired VM without stored history. If that VM returns, it gets another.
   * The fill of the shard stays the same.
   */
  #release(): number | undefined {
    for (;;) {
      const next = this.#retired.next();
      if (next.done) return undefined;
      const body = this.#draft.record('vm', next.value)?.body;
      if (body?.retiredMs === undefined || this.#draft.at - body.retiredMs <= RETENTION_MS)
        continue;
      const { exportShard, ...rest } = body;
      if (exportShard === undefined) continue;
      this.#draft.putRecord({ kind: 'vm', id: next.value, body: rest });
      return exportShard;
    }
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
