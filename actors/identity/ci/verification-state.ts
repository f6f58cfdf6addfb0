/** A verification's row: what it holds, and whether it still waits. */
import type { CiVerificationContext } from '../../../machines/ci-verification.ts';
import { Refusal } from '../../../streams/refusal.ts';
import type { Instance } from '../../host-port.ts';

/** Throws INVALID_STATE when it is over, whether or not its timer has run. */
export function assertWaiting(row: Instance, nowMs: number): void {
  const { expiresMs, reason, connection } = contextOf(row);
  const isLate = nowMs >= expiresMs;
  if (!row.final && !isLate) return;
  const told: Readonly<Record<string, string>> = {
    approved: `was approved before, as connection ${connection}`,
    rejected: `was rejected${reason ? `: ${reason}` : ''}`,
    closed: 'was closed after too many wrong pairing codes: start a new one',
  };
  const state = row.final ? String(row.value) : 'expired';
  const sentence = told[state] ?? 'has expired after 30 minutes: start a new one';
  throw new Refusal('INVALID_STATE', `The verification ${sentence}`, { state });
}

export function contextOf({ context }: Instance): CiVerificationContext {
  return context as unknown as CiVerificationContext;
}
