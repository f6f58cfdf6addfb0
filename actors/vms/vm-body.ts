/**
 * The record of a VM: its fields, how a new report changes it, and what retirement means for it.
 */
import type { ProjectView } from '../platform/host/host-port.ts';

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
  /** Its agent came before any collector: name and data center are still those of the enrolment. */
  readonly isExpected?: true;
  /** When it was retired, Unix ms: it is no more, its history stays. Absent: it is there. */
  readonly retiredMs?: number;
  /** How often it was retired, and when last, Unix ms; both absent: never. */
  readonly generation?: number;
  readonly generationMs?: number;
  /** The node's own source that reports it, such as `libvirt`; absent: others report it. */
  readonly source?: string;
  /** Its export shard, which never changes; absent until the first row after an older version registered it. */
  readonly exportShard?: number;
}

/** The record of a VM that a collector reports; it is no longer only expected. Without its source. */
export function bodyOf(vm: string, stored: VmBody | undefined, name: string) {
  return {
    displayName: name || stored?.displayName || vm,
    expandedMonitoring: stored?.expandedMonitoring ?? false,
    ...(stored?.hasAgent && { hasAgent: true as const }),
    ...(stored?.generation !== undefined && { generation: stored.generation }),
    ...(stored?.generationMs !== undefined && { generationMs: stored.generationMs }),
  };
}

/** The VM, unless it was retired. */
export function present<T extends Pick<VmBody, 'retiredMs'>>(vm: T | undefined): T | undefined {
  return vm?.retiredMs === undefined ? vm : undefined;
}

/** Retired, and this was observed before: it is history alone, and brings nothing back. */
export function isBefore({ retiredMs }: Pick<VmBody, 'retiredMs'>, observedMs: number): boolean {
  return retiredMs !== undefined && observedMs <= retiredMs;
}

/** How often a VM was retired; 0: never, or it is not known. */
function generationOf(view: Pick<ProjectView, 'record'>, vm: string): number {
  const body = view.record('vm', vm)?.body;
  return body?.generation ?? 0;
}

/** Is it of a VM that has been retired since? `generation` as in `InstanceKey`. */
export function isOfRetiredVm(
  view: Pick<ProjectView, 'record'>,
  { vm, generation = 0 }: { readonly vm: string; readonly generation?: number },
): boolean {
  return generation < generationOf(view, vm);
}

/** Nothing to store. */
export function isSame(before: VmBody, after: VmBody): boolean {
  return (
    before.displayName === after.displayName &&
    before.datacenter === after.datacenter &&
    before.expandedMonitoring === after.expandedMonitoring &&
    before.hasAgent === after.hasAgent &&
    before.isExpected === after.isExpected &&
    before.source === after.source &&
    before.exportShard === after.exportShard
  );
}
