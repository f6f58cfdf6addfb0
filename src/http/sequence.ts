/**
 * Reading one's own writes, whichever node answers: every answer tells the position in EVENTS that
 * this node has applied, and a request that sends one back is answered from there on or later.
 */
import type { Host } from '../../actors/host-port.ts';
import type { Clock } from '../../streams/clock.ts';
import { Refusal } from '../../streams/refusal.ts';

/** Header with a position: told in every answer, waited for when a request sends it. */
export const SEQUENCE_HEADER = 'svc-sequence';
/** Longest wait for a position that this node has not applied yet, ms. */
const SEQUENCE_WAIT_MS = 5_000;

export interface SequenceDeps {
  readonly host: Pick<Host, 'appliedSequence' | 'waitFor'>;
  readonly clock: Clock;
}

/**
 * Waits until this node has applied the position that a request sent; for callers who were let in
 * alone, because a wait holds their connection. Rejects with a `Refusal`: INVALID_FIELD, NOT_READY.
 */
export async function waitForSequence(
  { host, clock }: SequenceDeps,
  wanted: string,
): Promise<void> {
  if (!/^\d{1,15}$/.test(wanted)) {
    const message = `${SEQUENCE_HEADER} is not a position: send back what an answer told`;
    throw new Refusal('INVALID_FIELD', message, { field: SEQUENCE_HEADER });
  }
  const sequence = Number(wanted);
  if (host.appliedSequence() >= sequence) return;
  const patience = new AbortController();
  const cancel = clock.wakeAfter(SEQUENCE_WAIT_MS, () => patience.abort());
  try {
    await host.waitFor(sequence, patience.signal);
  } catch (error) {
    throw patience.signal.aborted
      ? new Refusal('NOT_READY', `This node has not reached position ${wanted} yet: ask again`)
      : error;
  } finally {
    cancel();
  }
}
