/**
 * The VMs of each export shard, in memory: a scrape must not read the records of 50,000 VMs. A
 * project's are read once, a few at a time, when somebody first scrapes it, and follow the commits
 * from then on.
 */
import type { Host, StoredRecord } from '../../actors/host-port.ts';
import { Turns } from '../../actors/turns.ts';
import type { VmBody } from '../../actors/vm-registry.ts';
import type { Clock } from '../../streams/clock.ts';
import type { RecordChange } from '../../streams/commit/commit.ts';
import type { ExportedVm } from './exposition.ts';

/** Records read at once: about a millisecond. */
const PAGE = 200;

type Shards = Map<number, Map<string, ExportedVm>>;

interface ProjectShards {
  readonly shards: Shards;
  readonly loaded: Promise<void>;
}

export interface ShardMembersDeps {
  readonly host: Pick<Host, 'view' | 'onApplied'>;
  readonly clock: Clock;
}

export class ShardMembers {
  readonly #deps: ShardMembersDeps;
  readonly #turns: Turns;
  readonly #projects = new Map<string, ProjectShards>();
  readonly #unwatch: () => void;

  constructor(deps: ShardMembersDeps) {
    this.#deps = deps;
    this.#turns = new Turns(deps.clock);
    this.#unwatch = deps.host.onApplied(({ commit }) => {
      const known = this.#projects.get(commit.project);
      if (!known) return;
      for (const { records } of commit.decisions) {
        for (const record of records) put(known.shards, commit.project, record);
      }
    });
  }

  /** The VMs of a shard as the records have them now, in no particular order. */
  async of(project: string, shard: number): Promise<ExportedVm[]> {
    const known = this.#projects.get(project) ?? this.#load(project);
    await known.loaded;
    return [...(known.shards.get(shard)?.values() ?? [])];
  }

  /** Follows the commits no more. */
  close(): void {
    this.#unwatch();
  }

  #load(project: string): ProjectShards {
    const shards: Shards = new Map();
    const loaded = this.#read(project, shards).catch((error: unknown) => {
      this.#projects.delete(project);
      throw error;
    });
    const known = { shards, loaded };
    this.#projects.set(project, known);
    return known;
  }

  /** What a page tells is as new as anything that was applied before it was read. */
  async #read(project: string, shards: Shards): Promise<void> {
    const view = this.#deps.host.view(project);
    let after: string | undefined;
    do {
      await this.#turns.breathe();
      const page = view.records('vm', { limit: PAGE, ...(after === undefined ? {} : { after }) });
      for (const record of page.items) put(shards, project, record);
      after = page.next;
    } while (after !== undefined);
  }
}

function put(shards: Shards, project: string, record: StoredRecord | RecordChange): void {
  if (record.kind !== 'vm') return;
  if (record.body === null) {
    for (const members of shards.values()) members.delete(record.id);
    return;
  }
  // Records of this kind are written by the registry alone.
  const { displayName, datacenter, exportShard } = record.body as unknown as VmBody;
  if (exportShard === undefined) return;
  const members = shards.get(exportShard) ?? new Map<string, ExportedVm>();
  shards.set(exportShard, members);
  members.set(record.id, { project, vm: record.id, displayName, datacenter });
}
