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

/** The hypervisor's word: STOPPED by its owner (or paused), DOWN otherwise, or UNTOLD. */
export type Power = 'RUNNING' | 'STOPPED' | 'DOWN' | 'UNTOLD';

/** OFF: it does not run, and no reason is told: still DOWN if it was before, else STOPPED. */
export type ToldPower = Power | 'OFF';

/** What the row alone says of the VM's power. */
export function powerOf(row: ReportedState): ToldPower {
  if (row.state === RUNNING) return 'RUNNING';
  if (row.state === UNKNOWN) return 'UNTOLD';
  if (isUndeclared(row)) return 'DOWN';
  return isReasonTold(row) ? 'STOPPED' : 'OFF';
}

/** The power after a row that says `told`, of a VM that was DOWN before it or not. */
export function powerAfter(wasDown: boolean, told: ToldPower): Power {
  if (told !== 'OFF') return told;
  return wasDown ? 'DOWN' : 'STOPPED';
}

/**
 * Reasons of a stop that nobody asked the guest for; those of a pause are the hypervisor's own, for
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
 * Words that tell no reason. A daemon that was started anew knows why nothing is off, also of what
 * had crashed: neither a stop that was declared nor one that was not.
 */
const NO_REASON: ReadonlySet<string> = new Set(['', 'unknown', 'daemon', 'from_snapshot']);

/** 1 where the VM is down and nobody declared it, NaN where its state or the reason was not told. */
export function unexpectedStop(row: ReportedState): number {
  if (row.state === UNKNOWN) return Number.NaN;
  if (row.state === RUNNING) return 0;
  if (isUndeclared(row)) return 1;
  return isReasonTold(row) ? 0 : Number.NaN;
}

function isUndeclared({ state, stateReason = '' }: ReportedState) {
  return state === CRASHED || UNDECLARED.has(stateReason);
}

function isReasonTold({ stateReason = '' }: Pick<ReportedState, 'stateReason'>): boolean {
  return !NO_REASON.has(stateReason);
}
