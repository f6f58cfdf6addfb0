/**
 * The project of each domain of a fleet, and the libvirt that reports it. A domain moved by the
 * mapping is in its new project from its next row on; in the old one it has to be retired, and its
 * history stays there. Pure state: no I/O, and times are passed with calls.
 */
import type { ObservedRow } from '../collector.ts';
import { type Mapping, placeOf } from './mapping.ts';

/** The state that survives a restart. */
export interface PlacementsState {
  /** Project and source of each VM. */
  readonly placed: Readonly<Record<string, readonly [project: string, source: string]>>;
  /** VMs to be retired in each project. */
  readonly retiring: Readonly<Record<string, readonly string[]>>;
}

export interface UnmatchedDomain {
  readonly vm: string;
  readonly name: string;
  readonly source: string;
}

/** One round of one source. */
export interface Round {
  readonly source: string;
  readonly rows: readonly ObservedRow[];
  readonly mapping: Pick<Mapping, 'rules'>;
  /** Text of a VM's metadata element; null: none; undefined: unknown. */
  readonly metadata: (vm: string, namespace: string) => string | null | undefined;
  /** Elapsed ms. */
  readonly nowMs: number;
}

/** Destinations of the rows of a round. */
export interface Placed {
  readonly byProject: ReadonlyMap<string, readonly ObservedRow[]>;
  readonly moved: readonly { readonly vm: string; readonly from: string; readonly to: string }[];
}

interface PlacedVm {
  readonly project: string;
  source: string;
  isRunning: boolean;
  /** Elapsed ms. */
  seenMs: number;
  /** Another source in which it runs too, as during a migration. */
  rival?: { readonly source: string; readonly seenMs: number };
}

/** Number of rounds without a report after which a source loses a VM to another one. */
const SILENT_ROUNDS = 3;

export class Placements {
  readonly #intervalMs: number;
  readonly #vms = new Map<string, PlacedVm>();
  readonly #retiring = new Map<string, Set<string>>();
  /** By source, then by VM: a round that could not read one of them keeps its entry. */
  readonly #unmatched = new Map<string, Map<string, UnmatchedDomain>>();
  #isChanged = false;

  /** @param nowMs elapsed ms; a VM of an earlier run gets the full time to be seen at its source */
  constructor(
    intervalMs: number,
    nowMs: number,
    state: PlacementsState = { placed: {}, retiring: {} },
  ) {
    this.#intervalMs = intervalMs;
    for (const [vm, [project, source]] of Object.entries(state.placed)) {
      this.#vms.set(vm, { project, source, isRunning: false, seenMs: nowMs });
    }
    for (const [project, vms] of Object.entries(state.retiring)) {
      this.#retiring.set(project, new Set(vms));
    }
  }

  place({ source, rows, mapping, metadata, nowMs }: Round): Placed {
    const byProject = new Map<string, ObservedRow[]>();
    const moved: { vm: string; from: string; to: string }[] = [];
    const unmatched = this.#unmatched.get(source) ?? new Map<string, UnmatchedDomain>();
    this.#unmatched.set(source, unmatched);
    for (const row of rows) {
      const { vm, displayName: name } = row;
      const about = { uuid: vm, name, metadata: (uri: string) => metadata(vm, uri) };
      const place = placeOf(mapping, about);
      if (place.kind === 'unmatched') unmatched.set(vm, { vm, name, source });
      else unmatched.delete(vm);
      if (place.kind === 'project' && this.#isReportedBy(source, row, nowMs)) {
        const from = this.#put(row, place.project, { source, nowMs });
        if (from !== undefined) moved.push({ vm, from, to: place.project });
        const placed = byProject.get(place.project);
        if (placed) placed.push(row);
        else byProject.set(place.project, [row]);
      }
    }
    return { byProject, moved };
  }

  /** Processes a complete listing: VMs missing in it may be reported by another source. */
  listed(source: string, vms: ReadonlySet<string>): void {
    for (const [vm, placed] of this.#vms) {
      if (placed.source === source && !vms.has(vm)) placed.isRunning = false;
    }
    const unmatched = this.#unmatched.get(source);
    for (const vm of unmatched?.keys() ?? []) if (!vms.has(vm)) unmatched?.delete(vm);
  }

  /** The source's VMs, for its listings. */
  vmsAt(source: string): Map<string, number> {
    const placed = [...this.#vms].filter(([, at]) => at.source === source);
    return new Map(placed.map(([vm]) => [vm, Number.NEGATIVE_INFINITY]));
  }

  /** Retires VMs that the source no longer has, except those that another source has taken over. */
  gone(source: string, vms: readonly string[]): void {
    for (const vm of vms) {
      const placed = this.#vms.get(vm);
      if (placed?.source !== source) continue;
      this.#vms.delete(vm);
      this.#retire(placed.project, vm);
    }
  }

  /** Projects with VMs to be retired. */
  retiring(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#retiring;
  }

  retired(project: string, vms: readonly string[]): void {
    const waiting = this.#retiring.get(project);
    for (const vm of vms) waiting?.delete(vm);
    if (waiting?.size === 0) this.#retiring.delete(project);
    this.#isChanged = true;
  }

  unmatched(): readonly UnmatchedDomain[] {
    return [...this.#unmatched.values()].flatMap((domains) => [...domains.values()]);
  }

  /** Number of VMs in each project that were seen in the last rounds. @param nowMs elapsed ms */
  counts(nowMs: number): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { project, seenMs } of this.#vms.values()) {
      if (this.#isRecent(seenMs, nowMs)) counts[project] = (counts[project] ?? 0) + 1;
    }
    return counts;
  }

  /** The source is no longer read. Its VMs are not gone and may appear at another one. */
  forget(source: string): void {
    this.#unmatched.delete(source);
  }

  /**
   * Writes the state if it has changed since the last successful write. Throws the error of
   * `write`.
   */
  store(write: (state: PlacementsState) => void): void {
    if (!this.#isChanged) return;
    const placed = [...this.#vms].map(([vm, { project, source }]) => [vm, [project, source]]);
    const retiring = [...this.#retiring].map(([project, vms]) => [project, [...vms]]);
    write({ placed: Object.fromEntries(placed), retiring: Object.fromEntries(retiring) });
    this.#isChanged = false;
  }

  /**
   * True if this row counts. During a migration two hosts list one VM: the one in which it runs
   * reports it, and the other's rows (for example that it is off) are ignored.
   */
  #isReportedBy(source: string, row: ObservedRow, nowMs: number): boolean {
    const placed = this.#vms.get(row.vm);
    // libvirt keeps a migrated VM's definition on the old host: it is not off, it runs elsewhere.
    if (row.state === 'STOPPED' && row.stateReason === 'migrated') {
      if (placed?.source === source) placed.isRunning = false;
      return false;
    }
    if (placed === undefined) return true;
    const runs = row.bootId !== '';
    if (placed.source !== source) {
      if (!this.#isRecent(placed.seenMs, nowMs) || (runs && !placed.isRunning)) return true;
      if (runs) placed.rival = { source, seenMs: nowMs };
      return false;
    }
    const { rival } = placed;
    if (runs || rival === undefined || !this.#isRecent(rival.seenMs, nowMs)) return true;
    placed.source = rival.source;
    placed.seenMs = rival.seenMs;
    this.#isChanged = true;
    return false;
  }

  #isRecent(seenMs: number, nowMs: number): boolean {
    return nowMs - seenMs <= SILENT_ROUNDS * this.#intervalMs;
  }

  /** Returns the previous project if it has changed. */
  #put(
    row: ObservedRow,
    project: string,
    { source, nowMs }: { readonly source: string; readonly nowMs: number },
  ): string | undefined {
    const before = this.#vms.get(row.vm);
    const isRunning = row.bootId !== '';
    if (before?.project === project && before.source === source) {
      before.isRunning = isRunning;
      before.seenMs = nowMs;
      return undefined;
    }
    this.#vms.set(row.vm, { project, source, isRunning, seenMs: nowMs });
    this.#isChanged = true;
    this.#retiring.get(project)?.delete(row.vm);
    if (before === undefined || before.project === project) return undefined;
    this.#retire(before.project, row.vm);
    return before.project;
  }

  #retire(project: string, vm: string): void {
    const waiting = this.#retiring.get(project);
    if (waiting) waiting.add(vm);
    else this.#retiring.set(project, new Set([vm]));
    this.#isChanged = true;
  }
}
