/**
 * Decisions about the source of one VM: the first source, a takeover, a departure, a retirement. The
 * record of the VM and the machine `vmSource` change together.
 */
import { createHash } from 'node:crypto';
import type { SourceClaim, TakeOver } from '../../machines/vms/vm-source.ts';
import type { Draft } from '../platform/host/host-port.ts';

/** The reporter of a VM, from its record. Times are observation times, Unix ms. */
export interface VmReporter {
  /** Resource name of a collector's key, or a source of this service. */
  readonly source: string;
  /**
   * The previous one, whose rows from before this turn are still stored; absent for the first one.
   */
  readonly before?: string;
  /** Counted from 1. Counters start anew in each turn. */
  readonly turn: number;
  /** First row of the turn, or departure of a source that the VM has left. */
  readonly sinceMs: number;
  /** Reason of the takeover; absent for the first source. */
  readonly reason?: TakeOver;
  /** The VM has left the source. */
  readonly hasLeft?: true;
  /** First rows of the newest turns, oldest first, without that of the first turn. */
  readonly turnsMs?: readonly number[];
}

/** Maximum takeovers whose times a record keeps: far more than a VM has in a week. */
const TURNS_MAX = 32;

/** A granted claim of a request, to be committed. */
export interface Granted {
  readonly vm: string;
  readonly from: VmReporter;
  readonly event: { readonly type: 'claimed' } & SourceClaim;
}

/** Id of the instance of a VM's source, because two projects may have the same VM id. */
export function vmSourceIdOf(project: string, vm: string): string {
  const digest = createHash('sha256').update(JSON.stringify(['vmSource', project, vm]));
  return digest.digest('hex').slice(0, 26);
}

export function takeVm(draft: Draft, { vm, from, event }: Granted, me: string): void {
  const body = draft.record('vm', vm)?.body;
  const by = body?.reportedBy;
  // Another source was faster, so the facts about the previous one no longer apply.
  if (!by || by.source !== from.source || by.turn !== from.turn) return;
  const id = vmSourceIdOf(draft.project, vm);
  if (!draft.instance('vmSource', id)) startVmSource(draft, vm, by.source);
  const { instance } = draft.send('vmSource', id, { ...event, at: draft.at });
  const { source, turn, sinceMs, reason } = instance.context;
  if (source !== me || turn <= by.turn) return;
  const reportedBy: VmReporter = {
    source,
    before: by.source,
    turn,
    sinceMs,
    ...(reason !== null && { reason }),
    turnsMs: [...(by.turnsMs ?? []), sinceMs].slice(-TURNS_MAX),
  };
  // The registration of the row records which of the node's own sources it is.
  const { source: _, ...rest } = body;
  draft.putRecord({ kind: 'vm', id: vm, body: { ...rest, reportedBy } });
}

export function leaveVm(
  draft: Draft,
  { vm, sinceMs }: { readonly vm: string; readonly sinceMs: number },
  me: string,
): void {
  const body = draft.record('vm', vm)?.body;
  const by = body?.reportedBy;
  if (!by || by.source !== me || by.hasLeft) return;
  const id = vmSourceIdOf(draft.project, vm);
  if (!draft.instance('vmSource', id)) startVmSource(draft, vm, me);
  draft.send('vmSource', id, { type: 'departed', at: draft.at, sinceMs });
  draft.putRecord({
    kind: 'vm',
    id: vm,
    body: { ...body, reportedBy: { ...by, sinceMs, hasLeft: true } },
  });
}

function startVmSource(draft: Draft, vm: string, source: string): void {
  const { project, at } = draft;
  draft.start('vmSource', vmSourceIdOf(project, vm), { at, project, vm, source });
}

/** The sender as the source of a VM that has none: it is new, or returns after retirement. */
export function firstReporter(
  draft: Draft,
  vm: string,
  { source, observedMs }: { readonly source: string; readonly observedMs: number },
): VmReporter {
  const id = vmSourceIdOf(draft.project, vm);
  if (!draft.instance('vmSource', id)) {
    startVmSource(draft, vm, source);
    return { source, turn: 1, sinceMs: draft.at };
  }
  const claim = { copy: 'RUNNING', isFresh: false, presentCopy: 'DOWN' } as const;
  const { instance } = draft.send('vmSource', id, {
    type: 'claimed',
    at: draft.at,
    source,
    observedMs,
    ...claim,
    presentSilentMs: 0,
    isPresentEnded: false,
  });
  const { turn, sinceMs } = instance.context;
  return { source: instance.context.source, turn, sinceMs, turnsMs: [sinceMs] };
}

/** Retires the source of a VM, in the same decision. */
export function retireVmSource(draft: Draft, vm: string): void {
  const id = vmSourceIdOf(draft.project, vm);
  if (draft.instance('vmSource', id))
    draft.send('vmSource', id, { type: 'vmRetired', at: draft.at });
}

/** Gives the VM to any other source that has it, because its own source no longer lists it. */
export function leaveToOthers(draft: Draft, vm: string, source: string): void {
  leaveVm(draft, { vm, sinceMs: draft.at }, source);
}
