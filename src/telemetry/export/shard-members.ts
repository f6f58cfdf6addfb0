/**
 * The VMs of each export shard, in memory: a scrape must not read the records of 50,000 VMs. A
 * project's are read once, a few at a time, when somebody first scrapes it, and follow the commits
 * from then on; those of projects that nobody has scraped for longest are let go when they become
 * too many.
 */
import {
  type Host,
  isRecordOf,
  type ProjectRecord,
} from '../../../actors/platform/host/host-port.ts';
import { TimeSlices } from '../../../actors/platform/time-slices.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { RecordChange } from '../../../streams/platform/commit/commit.ts';
import type { ExportedVm } from './exposition.ts';

/** Records read at once: about a millisecond. */
const PAGE = 200;
/** VMs kept in all projects together, as many as a large fleet has: some 20 MB. */
const VMS_MAX = 100_000;

type Shards = Map<number, Map<string, ExportedVm>>;

interface ProjectShards {
  readonly shards: Shards;
  readonly loaded: Promise<void>;
  isLoaded: boolean;
}

export interface ShardMembersDeps {
  readonly host: Pick<Host, 'view' | 'onApplied'>;
  readonly clock: Clock;
  /** VMs kept at most, but for those of the project that was asked for last. Default 100,000. */
  readonly vmsMax?: number;
}

export class ShardMembers {
  readonly #deps: ShardMembersDeps;
  readonly #slices: TimeSlices;
  /** Asked for longest ago first. */
  readonly #projects = new Map<string, ProjectShards>();
  readonly #unwatch: () => void;

  constructor(deps: ShardMembersDeps) {
    this.#deps = deps;
    this.#slices = new TimeSlices(deps.clock);
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
    this.#projects.delete(project);
    this.#projects.set(project, known);
    await known.loaded;
    this.#letGo(project);
    return [...(known.shards.get(shard)?.values() ?? [])];
  }

  /** Follows the commits no more. */
  close(): void {
    this.#unwatch();
  }

  #load(project: string): ProjectShards {
    const shards: Shards = new Map();
    const known: ProjectShards = {
      ...{ shards, isLoaded: false },
      loaded: this.#read(project, shards).then(
        () => {
          known.isLoaded = true;
        },
        (error: unknown) => {
          this.#projects.delete(project);
          throw error;
        },
      ),
    };
    return known;
  }

  /** Lets go of whole projects until there is room; never of one that is being read. */
  #letGo(asked: string): void {
    let count = 0;
    for (const { shards } of this.#projects.values()) count += vmCount(shards);
    for (const [project, { shards, isLoaded }] of this.#projects) {
      if (count <= (this.#deps.vmsMax ?? VMS_MAX)) return;
      if (project === asked || !isLoaded) continue;
      this.#projects.delete(project);
      count -= vmCount(shards);
    }
  }

  /** What a page tells is as new as anything that was applied before it was read. */
  async #read(project: string, shards: Shards): Promise<void> {
    const view = this.#deps.host.view(project);
    let after: string | undefined;
    do {
      await this.#slices.yieldIfDue();
      const page = view.records('vm', { limit: PAGE, ...(after === undefined ? {} : { after }) });
      for (const record of page.items) put(shards, project, record);
      after = page.next;
    } while (after !== undefined);
  }
}

function vmCount(shards: Shards): number {
  let count = 0;
  for (const members of shards.values()) count += members.size;
  return count;
}

function put(shards: Shards, project: string, record: ProjectRecord<'vm'> | RecordChange): void {
  if (!isRecordOf(record, 'vm')) return;
  if (record.body === null) {
    for (const members of shards.values()) members.delete(record.id);
    return;
  }
  // Records of this kind are written by the registry alone.
  const { displayName, datacenter, exportShard, retiredMs } = record.body;
  if (exportShard === undefined) return;
  if (retiredMs !== undefined) {
    shards.get(exportShard)?.delete(record.id);
    return;
  }
  const members = shards.get(exportShard) ?? new Map<string, ExportedVm>();
  shards.set(exportShard, members);
  members.set(record.id, { project, vm: record.id, displayName, datacenter });
}
