/**
 * The VM records of all projects in memory: one directory for a host, which registration, liveness,
 * exports and queries read. A project's records are read once and follow the commits from then on.
 */

import type { Commit } from '../../streams/platform/commit/commit.ts';
import { itemsOf, type PageReader, pagesOf } from '../../streams/platform/commit/page.ts';
import { type Host, isRecordOf, type ProjectRecord } from '../platform/host/host-port.ts';
import { nextTurn } from '../platform/time-slices.ts';
import { present, type VmBody } from './vm-body.ts';

/** Records read in one turn of the event loop: about a millisecond. */
const PAGE = 200;

type DirectoryHost = Pick<Host, 'view' | 'onApplied'>;

/** `body` null: the record was removed. */
type VmListener = (project: string, vm: string, body: VmBody | null) => void;

class ProjectVms {
  readonly bodies = new Map<string, VmBody>();
  /** Ids of the VMs that are not retired, by export shard. */
  readonly shards = new Map<number, Set<string>>();

  put(vm: string, body: VmBody | null): void {
    const before = this.bodies.get(vm);
    if (before?.exportShard !== undefined) this.shards.get(before.exportShard)?.delete(vm);
    if (body === null) {
      this.bodies.delete(vm);
      return;
    }
    this.bodies.set(vm, body);
    const shard = present(body)?.exportShard;
    if (shard === undefined) return;
    const members = this.shards.get(shard) ?? new Set();
    this.shards.set(shard, members.add(vm));
  }
}

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

  /** All VMs of the project, retired ones included. The first call reads the records at once. */
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

  /** Reads the project's records a few at a time, so that the first `vms` need not. */
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

  /** Rises with every commit that changes a record of one of the project's VMs. */
  revision(project: string): number {
    return this.#revisions.get(project) ?? 0;
  }

  /** Calls `listener` for each changed record, after the directory has it. @returns its undo */
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

/** The directory of this host: the same one for all who read it. */
export function vmDirectoryOf(host: DirectoryHost): VmDirectory {
  let directory = directories.get(host);
  if (!directory) {
    directory = new VmDirectory(host);
    directories.set(host, directory);
  }
  return directory;
}
