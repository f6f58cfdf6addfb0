/**
 * Registers VMs by their first row: a record in the project's commits, with the name that the
 * collector reports. The VM directory knows what is registered, so only a new VM or a new name
 * costs a commit. Identity is the id alone; a re-created domain is a new VM.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Host } from '../platform/host/host-port.ts';
import type { ProjectLimits } from '../platform/project-limits.ts';
import { ProjectLimitsReader } from '../platform/project-limits-reader.ts';
import { ShardPlaces } from './export-shards.ts';
import type { IngestRow, SenderReach } from './sent-row.ts';
import { bodyOf, isBefore, isSame, present, type VmBody } from './vm-body.ts';
import { type VmDirectory, vmDirectoryOf } from './vm-directory.ts';

export interface VmRegistryDeps {
  readonly host: Host;
  readonly clock: Clock;
  /** Data center of the VMs that this node's collectors and senders report. */
  readonly datacenter: string;
  /** How many VMs each project may have; absent: what the operator has set, or the default. */
  readonly limits?: { of(project: string): Pick<ProjectLimits, 'vms'> };
}

/** What is remembered of a VM. */
export type RegisteredVm = Pick<VmBody, 'displayName' | 'datacenter' | 'hasAgent' | 'isExpected'>;

/** VMs registered by one commit. */
const BATCH = 200;

/** What the rows of a request report of a VM to register. */
interface ReportedVm {
  /** '' = not reported. */
  readonly name: string;
  /** Newest observation, Unix ms. */
  readonly observedMs: number;
}

/** The sender of rows: a credential, or one of the node's own sources. */
interface Sender {
  readonly reach: SenderReach | undefined;
  readonly source: string | undefined;
}

export class VmRegistry {
  readonly #deps: VmRegistryDeps;
  readonly #directory: VmDirectory;
  /** Of each project: VMs that are registered, or are being so. */
  readonly #admitted = new Map<string, Set<string>>();
  readonly #others: OtherSenders;
  readonly #limits: VmRegistryDeps['limits'] & {};

  constructor(deps: VmRegistryDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? new ProjectLimitsReader(deps.host);
    this.#others = new OtherSenders(deps.clock);
    this.#directory = vmDirectoryOf(deps.host);
    this.#directory.onChange((project, vm, body) => this.#follow(project, vm, body));
  }

  /** Looks up what is registered of a project's VMs; one that was retired is not. */
  finder(project: string): (vm: string) => RegisteredVm | undefined {
    const known = this.#directory.vms(project);
    return (vm) => present(known.get(vm));
  }

  /**
   * The project's VMs that this source of the node reports and that are not retired. Each has the
   * time at which another sender last reported it, elapsed ms (-Infinity: never).
   */
  vmsOf(project: string, source: string): Map<string, number> {
    const reported = new Map<string, number>();
    for (const [vm, known] of this.#directory.vms(project)) {
      if (present(known)?.source === source) reported.set(vm, this.#others.heardMs(project, vm));
    }
    return reported;
  }

  /** VMs of the project that are registered and not retired. */
  countOf(project: string): number {
    return this.#admittedOf(project).size;
  }

  /**
   * Admits the VMs of `rows` up to the project's limit; undefined when all are admitted, as nearly
   * always. `admitsNew` false: no VM that the project does not have yet is admitted.
   *
   * @returns the VMs over the limit: their rows are not to be registered
   */
  overVmLimit(
    project: string,
    rows: readonly IngestRow[],
    admitsNew = true,
  ): ReadonlySet<string> | undefined {
    const admitted = this.#admittedOf(project);
    const { vms: vmsMax } = this.#limits.of(project);
    let refused: Set<string> | undefined;
    for (const { vm } of rows) {
      if (admitted.has(vm)) continue;
      if (admitsNew && admitted.size < vmsMax) admitted.add(vm);
      else {
        refused ??= new Set();
        refused.add(vm);
      }
    }
    return refused;
  }

  /**
   * Registers the VMs of `rows` that are new, renamed or moved, and those that come back after they
   * were retired; undefined when there are none, as nearly always. Rejects with what the host's
   * submit throws.
   *
   * @returns VMs that are in another data center than the sender's, which are left as they are
   */
  register(
    project: string,
    rows: readonly IngestRow[],
    reach?: SenderReach,
    source?: string,
  ): Promise<ReadonlySet<string> | undefined> | undefined {
    const known = this.#directory.vms(project);
    if (source === undefined) this.#noteOthers(project, rows, reach);
    // An agent reports only samples of its VM: the enrolment decides the rest.
    if (reach?.vm) return undefined;
    let changed: Map<string, ReportedVm> | undefined;
    for (const row of rows) {
      const before = known.get(row.vm);
      if (before && isBefore(before, row.observedMs)) continue;
      const there = present(before);
      const isReported = there?.source === this.#sourceOf(project, row.vm, source);
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

  #noteOthers(project: string, rows: readonly IngestRow[], reach: SenderReach | undefined): void {
    const known = this.#directory.vms(project);
    for (const { vm } of rows) {
      if (known.get(vm)?.source === undefined && !this.#others.has(project, vm)) continue;
      this.#others.note(project, vm, reach?.vm ? 'agent' : 'collector');
    }
  }

  /** The VM's source after `source` has reported it: a VM of other collectors stays theirs. */
  #sourceOf(project: string, vm: string, source: string | undefined): string | undefined {
    return this.#others.isTheirs(project, vm) ? undefined : source;
  }

  /**
   * Where the sender says that a VM is. Only the node's own collectors, which its setting names the
   * data center of, move one that is known.
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
  ): Promise<ReadonlySet<string> | undefined> {
    const elsewhere = new Set<string>();
    for (let start = 0; start < entries.length; start += BATCH) {
      const batch = entries.slice(start, start + BATCH);
      for (const vm of await this.#commit(project, batch, sender)) elsewhere.add(vm);
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
  ): Promise<readonly string[]> {
    const { answer } = await this.#deps.host.submit({
      project,
      by: { kind: 'collector', name: reach?.name ?? this.#deps.datacenter },
      decide: (draft) => {
        const places = new ShardPlaces(draft);
        const elsewhere: string[] = [];
        for (const [vm, { name, observedMs }] of entries) {
          const stored = draft.record('vm', vm)?.body;
          if (stored && isBefore(stored, observedMs)) continue;
          const before = present(stored);
          const datacenter = this.#datacenterFor(before, reach);
          if (reach?.datacenter && datacenter !== reach.datacenter) {
            elsewhere.push(vm);
            continue;
          }
          const from = this.#sourceOf(project, vm, source);
          const after = {
            ...bodyOf(vm, stored, name),
            ...(from !== undefined && { source: from }),
            datacenter,
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

/** True when a collector's row says something that is not registered. */
function hasNews(before: VmBody, row: IngestRow, datacenter: string): boolean {
  return (
    before.exportShard === undefined ||
    before.datacenter !== datacenter ||
    Boolean(before.isExpected) ||
    (Boolean(row.displayName) && row.displayName !== before.displayName)
  );
}

/** A VM that another collector reported within this time is not taken back, ms. */
const OTHERS_MS = 600_000;
const NEVER = Number.NEGATIVE_INFINITY;

/** When a VM was last heard, elapsed ms. */
interface Heard {
  /** From anybody beside the node's own sources. */
  readonly anyMs: number;
  /** From a collector. */
  readonly collectorMs: number;
}

export class OtherSenders {
  readonly #clock: Clock;
  readonly #heard = new Map<string, Map<string, Heard>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Another sender reports a VM that one of the node's own sources reports or has reported. */
  note(project: string, vm: string, from: 'agent' | 'collector'): void {
    const nowMs = this.#clock.elapsed();
    let vms = this.#heard.get(project);
    if (!vms) {
      vms = new Map();
      this.#heard.set(project, vms);
    }
    const collectorMs = from === 'collector' ? nowMs : (vms.get(vm)?.collectorMs ?? NEVER);
    vms.set(vm, { anyMs: nowMs, collectorMs });
  }

  has(project: string, vm: string): boolean {
    return this.#heard.get(project)?.has(vm) === true;
  }

  /** When the VM was last heard from them, elapsed ms; -Infinity: never. */
  heardMs(project: string, vm: string): number {
    return this.#heard.get(project)?.get(vm)?.anyMs ?? NEVER;
  }

  /** Is it another collector's? */
  isTheirs(project: string, vm: string): boolean {
    const collectorMs = this.#heard.get(project)?.get(vm)?.collectorMs ?? NEVER;
    return this.#clock.elapsed() - collectorMs <= OTHERS_MS;
  }

  forget(project: string, vm: string): void {
    this.#heard.get(project)?.delete(vm);
  }
}
