/** The power state that the hypervisor reports for a VM, and stops that nobody asked for. */
import { VM_STATES } from '../samples/batch.ts';

const RUNNING = VM_STATES.indexOf('RUNNING');
const CRASHED = VM_STATES.indexOf('CRASHED');
const UNKNOWN = VM_STATES.indexOf('UNKNOWN');

/** What a row says of the VM's state. */
export interface ReportedState {
  /** Index into `VM_STATES`. */
  readonly state: number;
  /** The source's word for the reason; absent or '' = none. */
  readonly stateReason?: string;
}

/** As the hypervisor reports it: STOPPED by its owner (or paused), DOWN otherwise, or UNREPORTED. */
export type Power = 'RUNNING' | 'STOPPED' | 'DOWN' | 'UNREPORTED';

/** OFF: it does not run, and no reason is reported: still DOWN if it was before, else STOPPED. */
export type ReportedPowerState = Power | 'OFF';

/** What the row alone says of the VM's power. */
export function powerOf(row: ReportedState): ReportedPowerState {
  if (row.state === RUNNING) return 'RUNNING';
  if (row.state === UNKNOWN) return 'UNREPORTED';
  if (isUndeclared(row)) return 'DOWN';
  return hasReason(row) ? 'STOPPED' : 'OFF';
}

/** The power after a row that reports `reported`, of a VM that was DOWN before it or not. */
export function powerAfter(wasDown: boolean, reported: ReportedPowerState): Power {
  if (reported !== 'OFF') return reported;
  return wasDown ? 'DOWN' : 'STOPPED';
}

/**
 * Reasons of a stop that the owner did not ask for; those of a pause are the hypervisor's own, for
 * a disk that fails, a guest that hangs, a migration that broke. Any other one declares the stop.
 */
const UNDECLARED: ReadonlySet<string> = new Set([
  'crashed',
  'failed',
  'destroyed',
  'ioerror',
  'watchdog',
  'postcopy_failed',
  'api_error',
]);

/**
 * Words that are no reason. A daemon that was restarted knows why nothing is off, also of what
 * had crashed: neither a stop that was declared nor one that was not.
 */
const NO_REASON: ReadonlySet<string> = new Set(['', 'unknown', 'daemon', 'from_snapshot']);

/** 1 where the VM is down and nobody declared it, NaN where its state or the reason was not reported. */
export function unexpectedStop(row: ReportedState): number {
  if (row.state === UNKNOWN) return Number.NaN;
  if (row.state === RUNNING) return 0;
  if (isUndeclared(row)) return 1;
  return hasReason(row) ? 0 : Number.NaN;
}

function isUndeclared({ state, stateReason = '' }: ReportedState) {
  return state === CRASHED || UNDECLARED.has(stateReason);
}

function hasReason({ stateReason = '' }: Pick<ReportedState, 'stateReason'>): boolean {
  return !NO_REASON.has(stateReason);
}
