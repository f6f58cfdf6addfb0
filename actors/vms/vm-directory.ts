/**
 * The existing VMs. The directory has the VM records of all projects in memory, one per host, for
 * registration, liveness, exports and queries. A project's records are read once and follow the
 * commits from then on. The rest of the file has the record itself, and the registration of VMs by
 * their first row.
 */
import { type Clock, isAhead } from '../../streams/platform/clock.ts';
import type { Commit } from '../../streams/platform/commit/commit.ts';
import { itemsOf, type PageReader, pagesOf } from '../../streams/platform/commit/page.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import {
  type Host,
  isRecordOf,
  type ProjectRecord,
  type ProjectView,
} from '../platform/host/host-port.ts';
import { type ProjectLimits, ProjectLimitsReader } from '../platform/project-limits.ts';
import { ShardPlaces } from './export-shards.ts';
import type { IngestRow, SenderReach } from './sent-row.ts';
import { firstReporter, type VmReporter } from './vm-source-decisions.ts';
import { VmSources, type VmSourcesDeps } from './vm-sources.ts';

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

// The record of a VM: its fields, the effect of a new report, and the meaning of retirement for it.

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

/**
 * The record of a VM that a collector reports; it is no longer only expected. Without its source.
 */
function bodyOf(vm: string, stored: VmBody | undefined, name: string) {
  return {
    displayName: name || stored?.displayName || vm,
    expandedMonitoring: stored?.expandedMonitoring ?? false,
    ...(stored?.hasAgent && { hasAgent: true as const }),
    ...(stored?.generation !== undefined && { generation: stored.generation }),
    ...(stored?.generationMs !== undefined && { generationMs: stored.generationMs }),
  };
}

/** The VM, unless it was retired. */
function present<T extends Pick<VmBody, 'retiredMs'>>(vm: T | undefined): T | undefined {
  return vm?.retiredMs === undefined ? vm : undefined;
}

/**
 * True if the VM was retired after this observation, which then only goes to history and revives
 * nothing.
 */
function isBefore(
  { retiredMs }: Pick<VmBody, 'retiredMs'>,
  { observedMs, nowMs }: { readonly observedMs: number; readonly nowMs: number },
): boolean {
  return retiredMs !== undefined && observedMs <= retiredMs && !isAhead(retiredMs, nowMs);
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

/** True if there is nothing to store. */
function isSame(before: VmBody, after: VmBody): boolean {
  return (
    before.displayName === after.displayName &&
    before.datacenter === after.datacenter &&
    before.expandedMonitoring === after.expandedMonitoring &&
    before.hasAgent === after.hasAgent &&
    before.isExpected === after.isExpected &&
    before.source === after.source &&
    before.reportedBy === after.reportedBy &&
    before.exportShard === after.exportShard
  );
}

// Registers VMs by their first row: a record in the project's commits, with the name that the
// collector reports. The VM directory knows all registered VMs, so only a new VM or a new name
// costs a commit. Identity is the id alone; a re-created domain is a new VM.

/** The host that registers, and the maximum number of VMs of a project. */
export interface VmRegistryDeps extends Pick<VmSourcesDeps, 'machine' | 'newest'> {
  readonly host: Host;
  readonly clock: Clock;
  /** Data center of the VMs that this node's collectors and senders report. */
  readonly datacenter: string;
  /** Maximum VMs of each project; absent: the operator's setting, or the default. */
  readonly limits?: { of(project: string): Pick<ProjectLimits, 'vms'> };
}

/** The remembered part of a VM. */
export type RegisteredVm = Pick<VmBody, 'displayName' | 'datacenter' | 'hasAgent' | 'isExpected'>;

/** Maximum VMs registered by one commit. */
const BATCH = 100;

/** The report about a VM to register, from the rows of a request. */
interface ReportedVm {
  /** '' = not reported. */
  readonly name: string;
  /** Newest observation, Unix ms. */
  readonly observedMs: number;
}

/** The reason why a VM's rows are not stored for this sender, found when the VM was registered. */
export type NotRegistered = 'OTHER_DATACENTER' | 'REPORTED_ELSEWHERE';

/** The sender of rows: a credential, or one of the node's own sources. */
interface Sender {
  readonly reach: SenderReach | undefined;
  readonly source: string | undefined;
}

/** Registers VMs with their first row, and keeps their names and data centers current. */
export class VmRegistry {
  readonly #deps: VmRegistryDeps;
  readonly #directory: VmDirectory;
  /** VMs of each project that are registered, or are being registered. */
  readonly #admitted = new Map<string, Set<string>>();
  readonly #others: OtherSenders;
  readonly #limits: VmRegistryDeps['limits'] & {};
  /** The source that reports each VM. */
  readonly sources: VmSources;

  constructor(deps: VmRegistryDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? new ProjectLimitsReader(deps.host);
    this.#others = new OtherSenders(deps.clock);
    this.#directory = vmDirectoryOf(deps.host);
    this.#directory.onChange((project, vm, body) => this.#follow(project, vm, body));
    this.sources = new VmSources({ ...deps, vms: (project) => this.#directory.vms(project) });
  }

  /** Looks up registered VMs of a project, without retired ones. */
  finder(project: string): (vm: string) => RegisteredVm | undefined {
    const known = this.#directory.vms(project);
    return (vm) => present(known.get(vm));
  }

  /**
   * The project's VMs that this source of the node reports and that are not retired. Each has the
   * time when another sender last reported it, elapsed ms (-Infinity: never).
   */
  vmsOf(project: string, source: string): Map<string, number> {
    const reported = new Map<string, number>();
    for (const [vm, known] of this.#directory.vms(project)) {
      const there = present(known);
      if (there?.source !== source) continue;
      // Another member may have a source of the same name.
      if (there.reportedBy && there.reportedBy.source !== this.sources.nameOf({ source })) continue;
      reported.set(vm, this.#others.heardMs(project, vm));
    }
    return reported;
  }

  /** Number of VMs of the project that are registered and not retired. */
  countOf(project: string): number {
    return this.#admittedOf(project).size;
  }

  /**
   * Admits the VMs of `rows` up to the project's limit; undefined if all are admitted, as is nearly
   * always the case. If `admitsNew` is false, no VM that is new to the project is admitted.
   *
   * @returns the VMs over the limit, whose rows must not be registered
   */
  overVmLimit(
    project: string,
    rows: readonly IngestRow[],
    admitsNew = true,
  ): ReadonlySet<string> | undefined {
    const admitted = this.#admittedOf(project);
    const known = this.#directory.vms(project);
    const { vms: vmsMax } = this.#limits.of(project);
    const nowMs = this.#deps.clock.now();
    let refused: Set<string> | undefined;
    for (const { vm, observedMs } of rows) {
      if (admitted.has(vm)) continue;
      const before = known.get(vm);
      // History of a retired VM does not count against the limit.
      if (before && isBefore(before, { observedMs, nowMs })) continue;
      if (admitsNew && admitted.size < vmsMax) admitted.add(vm);
      else {
        refused ??= new Set();
        refused.add(vm);
      }
    }
    return refused;
  }

  /**
   * Registers the VMs of `rows` that are new, renamed or moved, and those that return after
   * retirement; undefined if there are none, as is nearly always the case. Rejects with the errors
   * of the host's submit.
   *
   * @returns VMs in a data center other than the sender's, or now reported by another source, which
   * are left unchanged
   */
  register(
    project: string,
    rows: readonly IngestRow[],
    reach?: SenderReach,
    source?: string,
  ): Promise<ReadonlyMap<string, NotRegistered> | undefined> | undefined {
    const known = this.#directory.vms(project);
    // An agent reports only samples of its VM; the enrolment decides the rest.
    if (reach?.vm) return undefined;
    let changed: Map<string, ReportedVm> | undefined;
    const nowMs = this.#deps.clock.now();
    for (const row of rows) {
      const before = known.get(row.vm);
      if (before && isBefore(before, { observedMs: row.observedMs, nowMs })) continue;
      const there = present(before);
      const isReported = there?.source === source;
      if (there && isReported && !hasNews(there, row, this.#datacenterFor(there, reach))) continue;
      changed ??= new Map();
      const earlier = changed.get(row.vm);
      changed.set(row.vm, {
        name: row.displayName || earlier?.name || '',
        observedMs: Math.max(row.observedMs, earlier?.observedMs ?? row.observedMs),
      });
    }
    return changed && this.#store(project, [...changed], { reach, source });
  }

  /**
   * Remembers the VMs that are reported by others than this node's sources, even if another source
   * owns them. The node does not retire those.
   */
  recordOthers(project: string, rows: readonly IngestRow[]): void {
    const known = this.#directory.vms(project);
    for (const { vm } of rows) {
      if (known.get(vm)?.source === undefined && !this.#others.has(project, vm)) continue;
      this.#others.record(project, vm);
    }
  }

  /**
   * The VM's data center according to the sender. Only the node's own collectors, whose data center
   * is configured, move a known VM.
   */
  #datacenterFor(before: RegisteredVm | undefined, reach: SenderReach | undefined): string {
    const own = reach?.datacenter ?? this.#deps.datacenter;
    const isMoved = !before || !reach || before.isExpected;
    return isMoved ? own : before.datacenter;
  }

  #admittedOf(project: string): Set<string> {
    let admitted = this.#admitted.get(project);
    if (!admitted) {
      admitted = new Set();
      for (const [vm, known] of this.#directory.vms(project)) if (present(known)) admitted.add(vm);
      this.#admitted.set(project, admitted);
    }
    return admitted;
  }

  async #store(
    project: string,
    entries: readonly (readonly [string, ReportedVm])[],
    sender: Sender,
  ): Promise<ReadonlyMap<string, NotRegistered> | undefined> {
    const elsewhere = new Map<string, NotRegistered>();
    for (let start = 0; start < entries.length; start += BATCH) {
      const batch = entries.slice(start, start + BATCH);
      for (const [vm, why] of await this.#commit(project, batch, sender)) elsewhere.set(vm, why);
    }
    return elsewhere.size > 0 ? elsewhere : undefined;
  }

  #follow(project: string, vm: string, body: VmBody | null): void {
    if (body && present(body)) return;
    this.#admitted.get(project)?.delete(vm);
    this.#others.forget(project, vm);
  }

  async #commit(
    project: string,
    entries: readonly (readonly [string, ReportedVm])[],
    { reach, source }: Sender,
  ): Promise<readonly (readonly [string, NotRegistered])[]> {
    const me = this.sources.nameOf({ reach, source });
    const { answer } = await this.#deps.host.submit({
      project,
      by: { kind: 'collector', name: reach?.name ?? this.#deps.datacenter },
      decide: (draft) => {
        const places = new ShardPlaces(draft, this.#directory.retiredWithSlot(project));
        const elsewhere: (readonly [string, NotRegistered])[] = [];
        for (const [vm, { name, observedMs }] of entries) {
          const stored = draft.record('vm', vm)?.body;
          if (stored && isBefore(stored, { observedMs, nowMs: draft.at })) continue;
          const before = present(stored);
          const datacenter = this.#datacenterFor(before, reach);
          if (reach?.datacenter && datacenter !== reach.datacenter) {
            elsewhere.push([vm, 'OTHER_DATACENTER']);
            continue;
          }
          const reportedBy =
            before?.reportedBy ?? firstReporter(draft, vm, { source: me, observedMs });
          // Two sources have sent their first rows of it at the same time.
          if (reportedBy.source !== me) {
            elsewhere.push([vm, 'REPORTED_ELSEWHERE']);
            continue;
          }
          const after = {
            ...bodyOf(vm, stored, name),
            ...(source !== undefined && { source }),
            datacenter,
            reportedBy,
            registeredMs: before?.registeredMs ?? draft.at,
            exportShard: stored?.exportShard ?? places.take(),
          };
          if (!before || !isSame(before, after))
            draft.putRecord({ kind: 'vm', id: vm, body: after });
        }
        places.store();
        return elsewhere;
      },
    });
    return answer;
  }
}

/** True if a collector's row contains something that is not registered. */
function hasNews(before: VmBody, row: IngestRow, datacenter: string): boolean {
  return (
    before.exportShard === undefined ||
    before.reportedBy === undefined ||
    before.datacenter !== datacenter ||
    Boolean(before.isExpected) ||
    (Boolean(row.displayName) && row.displayName !== before.displayName)
  );
}

const NEVER = Number.NEGATIVE_INFINITY;

/**
 * VMs that are also reported by others than the node's own sources, in memory, to know whose
 * absence counts.
 */
export class OtherSenders {
  readonly #clock: Clock;
  /** By project and VM, elapsed ms. */
  readonly #heardMs = new Map<string, Map<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Records that another sender reports a VM that one of the node's own sources reports or has
   * reported.
   */
  record(project: string, vm: string): void {
    const vms = this.#heardMs.get(project) ?? new Map<string, number>();
    this.#heardMs.set(project, vms.set(vm, this.#clock.elapsed()));
  }

  has(project: string, vm: string): boolean {
    return this.#heardMs.get(project)?.has(vm) === true;
  }

  /** Time of the last report by others, elapsed ms; -Infinity: never. */
  heardMs(project: string, vm: string): number {
    return this.#heardMs.get(project)?.get(vm) ?? NEVER;
  }

  forget(project: string, vm: string): void {
    this.#heardMs.get(project)?.delete(vm);
  }
}
