/**
 * VMs become known by their first row: a record in the project's commits, with the name its
 * collector tells. What is registered is remembered, so that only a new VM or a new name costs a
 * commit. Identity is the id alone; a re-created domain is a new VM.
 */
import type { Clock } from '../streams/clock.ts';
import { ShardPlaces } from './export-shards.ts';
import type { Host, ProjectView } from './host-port.ts';
import type { IngestRow } from './ingest-port.ts';

/** Body of a record of kind `vm`. */
export interface VmBody {
  readonly displayName: string;
  readonly datacenter: string;
  readonly expandedMonitoring: boolean;
  readonly registeredMs: number;
  /** Its export shard, for ever; absent until the first row after an older version registered it. */
  readonly exportShard?: number;
}

export interface VmRegistryDeps {
  readonly host: Host;
  readonly clock: Clock;
  /** Data center of the VMs that this node's collectors and senders report. */
  readonly datacenter: string;
  /** VMs of a project. Default `PROJECT_VMS_MAX`. */
  readonly vmsMax?: number;
}

/** Series that only expanded monitoring reports. */
const EXPANDED_SERIES = 'svc_vm_load1';
/** VMs that a project may register: what one partition's evaluator and history are made for. */
const PROJECT_VMS_MAX = 50_000;
/** VMs registered by one commit. */
const BATCH = 200;

interface Known {
  readonly displayName: string;
  readonly expanded: boolean;
  /** Has it a place in the exports? */
  readonly placed: boolean;
}

export class VmRegistry {
  readonly #deps: VmRegistryDeps;
  readonly #known = new Map<string, Map<string, Known>>();
  /** Of each project: VMs that are registered, or are being so. */
  readonly #admitted = new Map<string, Set<string>>();

  constructor(deps: VmRegistryDeps) {
    this.#deps = deps;
  }

  /**
   * Admits the VMs of `rows` as far as the project has room; undefined when it has for all, as
   * nearly always.
   *
   * @returns those it has no room for: their rows are not to be registered
   */
  withoutRoom(project: string, rows: readonly IngestRow[]): ReadonlySet<string> | undefined {
    let admitted = this.#admitted.get(project);
    if (!admitted) {
      admitted = new Set(this.#knownOf(project).keys());
      this.#admitted.set(project, admitted);
    }
    const { vmsMax = PROJECT_VMS_MAX } = this.#deps;
    let refused: Set<string> | undefined;
    for (const { vm } of rows) {
      if (admitted.has(vm)) continue;
      if (admitted.size < vmsMax) admitted.add(vm);
      else {
        refused ??= new Set();
        refused.add(vm);
      }
    }
    return refused;
  }

  /**
   * Registers the VMs of `rows` that are new or renamed; undefined when there are none, as nearly
   * always. Rejects with what the host's submit throws.
   */
  register(project: string, rows: readonly IngestRow[]): Promise<void> | undefined {
    const known = this.#knownOf(project);
    let changed: Map<string, Known> | undefined;
    for (const row of rows) {
      const before = changed?.get(row.vm) ?? known.get(row.vm);
      const after = merge(before, row);
      if (after === before) continue;
      changed ??= new Map();
      changed.set(row.vm, after);
    }
    return changed && this.#store(project, known, [...changed]);
  }

  async #store(
    project: string,
    known: Map<string, Known>,
    entries: readonly (readonly [string, Known])[],
  ): Promise<void> {
    for (let start = 0; start < entries.length; start += BATCH) {
      await this.#commit(project, entries.slice(start, start + BATCH));
    }
    for (const [vm, body] of entries) known.set(vm, body);
  }

  #knownOf(project: string): Map<string, Known> {
    let known = this.#known.get(project);
    if (!known) {
      known = loadKnown(this.#deps.host.view(project));
      this.#known.set(project, known);
    }
    return known;
  }

  #commit(project: string, entries: readonly (readonly [string, Known])[]): Promise<unknown> {
    const { datacenter } = this.#deps;
    return this.#deps.host.submit({
      project,
      by: { kind: 'collector', name: datacenter },
      decide(draft) {
        const places = new ShardPlaces(draft);
        for (const [vm, { displayName, expanded }] of entries) {
          const before = draft.record('vm', vm)?.body as VmBody | undefined;
          const registeredMs = before?.registeredMs ?? draft.at;
          const exportShard = before?.exportShard ?? places.take();
          const named = { displayName, datacenter, expandedMonitoring: expanded };
          const body = { ...named, registeredMs, exportShard };
          if (before && isSame(before, body)) continue;
          draft.putRecord({ kind: 'vm', id: vm, body });
        }
        places.store();
      },
    });
  }
}

function isSame(before: VmBody, after: VmBody): boolean {
  return (
    before.displayName === after.displayName &&
    before.datacenter === after.datacenter &&
    before.expandedMonitoring === after.expandedMonitoring &&
    before.exportShard === after.exportShard
  );
}

/** The same object when the row tells nothing new. */
function merge(before: Known | undefined, row: IngestRow): Known {
  const displayName = row.displayName || before?.displayName || row.vm;
  const expanded = before?.expanded || row.series.includes(EXPANDED_SERIES);
  const same = before?.displayName === displayName && before.expanded === expanded && before.placed;
  return same ? before : { displayName, expanded, placed: true };
}

function loadKnown(view: ProjectView): Map<string, Known> {
  const known = new Map<string, Known>();
  let after: string | undefined;
  do {
    const page = view.records('vm', { limit: 1000, ...(after === undefined ? {} : { after }) });
    for (const { id, body } of page.items) {
      const { displayName, expandedMonitoring, exportShard } = body as unknown as VmBody;
      const placed = exportShard !== undefined;
      known.set(id, { displayName, expanded: expandedMonitoring, placed });
    }
    after = page.next;
  } while (after !== undefined);
  return known;
}
