/**
 * The existing VMs. The directory has the VM records of all projects in memory, one per host, for
 * registration, liveness, exports and queries. A project's records are read once and follow the
 * commits from then on. The record itself is below. `vm-registry.ts` registers VMs.
 */
import type { Commit } from '../../streams/platform/commit/commit.ts';
import { itemsOf, type PageReader, pagesOf } from '../../streams/platform/commit/page.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import {
  type Host,
  isRecordOf,
  type ProjectRecord,
  type ProjectView,
} from '../platform/host/host-port.ts';
import type { VmReporter } from './vm-source-decisions.ts';

/** Maximum records read in one turn of the event loop: about a millisecond. */
const PAGE = 200;

type DirectoryHost = Pick<Host, 'view' | 'onApplied'>;

/** `body` null: the record was removed. */
type VmListener = (project: string, vm: string, body: VmBody | null) => void;

class ProjectVms {
  readonly bodies = new Map<string, VmBody>();
  /** Ids of VMs that are not retired, by export shard. */
  readonly shards = new Map<number, Set<string>>();
  /** Ids of VMs that are retired and still have a slot in an export shard. */
  readonly retiredWithSlot = new Set<string>();

  put(vm: string, body: VmBody | null): void {
    const before = this.bodies.get(vm);
    if (before?.exportShard !== undefined) this.shards.get(before.exportShard)?.delete(vm);
    this.retiredWithSlot.delete(vm);
    if (body === null) {
      this.bodies.delete(vm);
      return;
    }
    this.bodies.set(vm, body);
    const shard = body.exportShard;
    if (shard === undefined) return;
    if (!present(body)) {
      this.retiredWithSlot.add(vm);
      return;
    }
    const members = this.shards.get(shard) ?? new Set();
    this.shards.set(shard, members.add(vm));
  }
}

/** One per host. Reads are from memory. A change is visible when its commit is applied. */
export class VmDirectory {
  readonly #host: DirectoryHost;
  readonly #projects = new Map<string, ProjectVms>();
  /** Projects that are being read in slices. */
  readonly #loading = new Map<string, ProjectVms>();
  readonly #revisions = new Map<string, number>();
  readonly #listeners = new Set<VmListener>();

  constructor(host: DirectoryHost) {
    this.#host = host;
    host.onApplied(({ commit }) => this.#follow(commit));
  }

  /** All VMs of the project, including retired ones. The first call reads the records at once. */
  vms(project: string): ReadonlyMap<string, VmBody> {
    return this.#vmsOf(project).bodies;
  }

  /** The VMs of an export shard that are not retired, in no particular order. */
  *shard(project: string, shard: number): Generator<readonly [vm: string, body: VmBody]> {
    const { bodies, shards } = this.#vmsOf(project);
    for (const vm of shards.get(shard) ?? []) {
      const body = bodies.get(vm);
      if (body) yield [vm, body];
    }
  }

  /** Ids of VMs that are retired and still have a slot in an export shard. */
  retiredWithSlot(project: string): ReadonlySet<string> {
    return this.#vmsOf(project).retiredWithSlot;
  }

  /** Reads the project's records a few at a time, so that the first call of `vms` need not. */
  async load(project: string): Promise<void> {
    if (this.#projects.has(project)) return;
    const loading = new ProjectVms();
    this.#loading.set(project, loading);
    await nextTurn();
    for (const { items } of pagesOf(PAGE, this.#records(project))) {
      for (const { id, body } of items) loading.put(id, body);
      await nextTurn();
    }
    if (!this.#projects.has(project)) this.#projects.set(project, loading);
    if (this.#loading.get(project) === loading) this.#loading.delete(project);
  }

  /** Increases with every commit that changes a record of one of the project's VMs. */
  revision(project: string): number {
    return this.#revisions.get(project) ?? 0;
  }

  /**
   * Calls `listener` for each changed record, after the directory has applied it. @returns a
   * function that stops it
   */
  onChange(listener: VmListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #vmsOf(project: string): ProjectVms {
    let vms = this.#projects.get(project);
    if (!vms) {
      vms = new ProjectVms();
      for (const { id, body } of itemsOf(PAGE, this.#records(project))) vms.put(id, body);
      this.#projects.set(project, vms);
    }
    return vms;
  }

  #records(project: string): PageReader<ProjectRecord<'vm'>> {
    return (page) => this.#host.view(project).records('vm', page);
  }

  #follow({ project, decisions }: Commit): void {
    let isChanged = false;
    for (const { records } of decisions) {
      for (const record of records) {
        if (!isRecordOf(record, 'vm')) continue;
        isChanged = true;
        this.#projects.get(project)?.put(record.id, record.body);
        this.#loading.get(project)?.put(record.id, record.body);
        for (const listener of this.#listeners) listener(project, record.id, record.body);
      }
    }
    if (isChanged) this.#revisions.set(project, this.revision(project) + 1);
  }
}

const directories = new WeakMap<DirectoryHost, VmDirectory>();

/** The directory of this host; the same one for all readers. */
export function vmDirectoryOf(host: DirectoryHost): VmDirectory {
  let directory = directories.get(host);
  if (!directory) {
    directory = new VmDirectory(host);
    directories.set(host, directory);
  }
  return directory;
}

// The record of a VM: its fields, and the meaning of retirement for it.

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    vm: VmBody;
  }
}

/** Body of a record of kind `vm`. */
export interface VmBody {
  readonly displayName: string;
  readonly datacenter: string;
  readonly expandedMonitoring: boolean;
  readonly registeredMs: number;
  /** An agent inside the guest sends its expanded series, and only the agent may. */
  readonly hasAgent?: true;
  /**
   * The agent enrolled before any collector reported the VM, so name and data center are those of
   * the enrolment.
   */
  readonly isExpected?: true;
  /**
   * Time of retirement, Unix ms. The VM no longer exists, but its history stays. Absent: it exists.
   */
  readonly retiredMs?: number;
  /**
   * Number of retirements, and time of the last one, Unix ms; both absent if it was never retired.
   */
  readonly generation?: number;
  readonly generationMs?: number;
  /** The node's own source that reports it, such as `libvirt`; absent if others report it. */
  readonly source?: string;
  /**
   * Its export shard, which never changes while it exists. Absent until the first row after an
   * older version registered it, and after its slot passed to another VM.
   */
  readonly exportShard?: number;
  /** Absent until the first row after an older version registered it. */
  readonly reportedBy?: VmReporter;
}

/** The VM, unless it was retired. */
export function present<T extends Pick<VmBody, 'retiredMs'>>(vm: T | undefined): T | undefined {
  return vm?.retiredMs === undefined ? vm : undefined;
}

/** Number of retirements of a VM; 0 if it was never retired or is unknown. */
function generationOf(view: Pick<ProjectView, 'record'>, vm: string): number {
  const body = view.record('vm', vm)?.body;
  return body?.generation ?? 0;
}

/** True for a VM that has been retired since. `generation` is that of `InstanceKey`. */
export function isOfRetiredVm(
  view: Pick<ProjectView, 'record'>,
  { vm, generation = 0 }: { readonly vm: string; readonly generation?: number },
): boolean {
  return generation < generationOf(view, vm);
}
