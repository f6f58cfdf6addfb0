/**
 * Registers VMs by their first row: a record in the project's commits, with the name that the
 * collector reports. The VM directory knows all registered VMs, so only a new VM or a new name costs
 * a commit. Identity is the id alone; a re-created domain is a new VM.
 */
import { type Clock, isAhead } from '../../streams/platform/clock.ts';
import type { Host } from '../platform/host/host-port.ts';
import { type ProjectLimits, ProjectLimitsReader } from '../platform/project-limits.ts';
import { ShardPlaces } from './export-shards.ts';
import type { IngestRow, SenderReach } from './sent-row.ts';
import { present, type VmBody, type VmDirectory, vmDirectoryOf } from './vm-directory.ts';
import { firstReporter } from './vm-source-decisions.ts';
import { VmSources, type VmSourcesDeps } from './vm-sources.ts';

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
class OtherSenders {
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
