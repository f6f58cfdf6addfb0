/** A verification's row: what it holds, whether it still waits, and for what. */
import type { CiVerificationContext } from '../../machines/ci/ci-verification.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Instance } from '../platform/host/host-port.ts';

/** Throws INVALID_STATE when it is over, whether or not its timer has run. */
export function assertWaiting(row: Instance, nowMs: number): void {
  const { expiresMs, reason, connection } = contextOf(row);
  const isLate = nowMs >= expiresMs;
  if (!row.final && !isLate) return;
  const told: Readonly<Record<string, string>> = {
    approved: `was approved before, as connection ${connection}`,
    rejected: `was rejected${reason ? `: ${reason}` : ''}`,
  };
  const state = row.final ? String(row.value) : 'expired';
  const sentence = told[state] ?? 'has expired after 30 minutes: start a new one';
  throw new Refusal('INVALID_STATE', `The verification ${sentence}`, { state });
}

/** Does it take a proof still? */
export function isAwaiting(row: Instance, nowMs: number): boolean {
  return row.value === 'awaitingProof' && nowMs < contextOf(row).expiresMs;
}

/** Throws INVALID_STATE when it takes no proof any more: it is over, or its code was used. */
export function assertUnused(row: Instance, nowMs: number): void {
  assertWaiting(row, nowMs);
  if (isAwaiting(row, nowMs)) return;
  throw new Refusal(
    'INVALID_STATE',
    'The pairing code was used: it is good for one observation, which waits for review. To have another one observed, reject this verification and start a new one',
    { state: String(row.value) },
  );
}

export function contextOf({ context }: Instance): CiVerificationContext {
  return context as unknown as CiVerificationContext;
}
