/**
 * The commit that records an attempt's outcome: the delivery ends or waits, the destination and the
 * recipient are updated, and problems that people must fix become notices. The outcome names its
 * attempt, so it cannot be taken for another's.
 */
import type { DeliveryContext, DeliveryEvent } from '../../machines/delivery/delivery.ts';
import type { DestinationContext } from '../../machines/delivery/destination.ts';
import { retryDelayMs } from '../../machines/delivery/retry-schedule.ts';
import { fraction } from '../../streams/platform/random.ts';
import { raiseNotice } from '../alerting/notices.ts';
import type { Draft } from '../platform/host/host-port.ts';
import { type AttemptDeps, delivererActor } from './attempt.ts';
import type { AttemptOutcome } from './notifier-port.ts';
import { noteBounce } from './recipients.ts';
import type { OpenAttempt } from './wake-ups.ts';

type RecordDeps = Pick<AttemptDeps, 'host' | 'random'>;

/** Commits the end of the attempt. */
export async function recordOutcome(
  { host, random }: RecordDeps,
  { project, delivery, attemptId }: OpenAttempt,
  outcome: AttemptOutcome,
): Promise<void> {
  const jitter = fraction(random);
  await host.submit({
    project,
    by: delivererActor,
    decide(draft) {
      const row = draft.instance('delivery', delivery);
      if (row?.value !== 'sending') return;
      const context = row.context;
      const event = outcomeEvent(outcome, context, draft.at, jitter);
      const { changed } = draft.send('delivery', delivery, { ...event, attemptId });
      if (!changed) return;
      if (isBounce(outcome)) recordBounce(draft, context, outcome.error);
      else updateDestination(draft, context.destination, outcome);
    },
  });
}

/** Commits an unknown outcome for an attempt whose process died. */
export async function recordLost(
  { host, random }: RecordDeps,
  { project, delivery, attemptId }: OpenAttempt,
): Promise<void> {
  const jitter = fraction(random);
  await host.submit({
    project,
    by: delivererActor,
    decide(draft) {
      const row = draft.instance('delivery', delivery);
      if (row?.value !== 'sending') return;
      const { at } = draft;
      const delayMs = delayOf(row.context, at, jitter);
      draft.send('delivery', delivery, { type: 'attemptLost', at, attemptId, delayMs });
    },
  });
}

/** True when the address takes no mail: the server and other recipients are not affected. */
export function isBounce(
  outcome: AttemptOutcome,
): outcome is Extract<AttemptOutcome, { kind: 'refused' }> {
  return outcome.kind === 'refused' && outcome.bounced === true;
}

function outcomeEvent(
  outcome: AttemptOutcome,
  context: DeliveryContext,
  at: number,
  jitter: number,
): Extract<DeliveryEvent, { type: 'accepted' | 'refused' | 'attemptFailed' }> {
  const httpStatus = outcome.httpStatus ?? null;
  switch (outcome.kind) {
    case 'accepted':
      return { type: 'accepted', at, httpStatus };
    case 'refused':
      return { type: 'refused', at, httpStatus, error: outcome.error };
    case 'failed': {
      const { unknown, error, retryAfterMs } = outcome;
      const delayMs = delayOf(context, at, jitter, retryAfterMs);
      return { type: 'attemptFailed', at, unknown, httpStatus, error, delayMs };
    }
  }
}

/** Wait before the next attempt, ms; null when it would be after the 24 hours. */
function delayOf(
  context: DeliveryContext,
  at: number,
  jitter: number,
  retryAfterMs?: number,
): number | null {
  const attempt = context.attempts.length;
  return retryDelayMs({ attempt, jitter, ageMs: at - context.createdMs, retryAfterMs }) ?? null;
}

function recordBounce(draft: Draft, { recipient }: DeliveryContext, reason: string): void {
  if (recipient !== null) noteBounce(draft, recipient, reason);
}

/** True for a fault of this service: the destination is not to blame. */
export function isOurs(
  outcome: AttemptOutcome,
): outcome is Extract<AttemptOutcome, { kind: 'failed' }> {
  return outcome.kind === 'failed' && outcome.ours === true;
}

/** After a 410, or days of failures, the destination is paused until somebody resumes it. */
function updateDestination(draft: Draft, id: string, outcome: AttemptOutcome): void {
  if (isOurs(outcome)) return;
  const { at } = draft;
  if (outcome.kind === 'accepted') {
    draft.send('destination', id, { type: 'attemptAccepted', at });
    return;
  }
  const { error } = outcome;
  const wasPaused = isPaused(draft, id);
  draft.send('destination', id, { type: 'attemptFailed', at, error });
  if (outcome.kind === 'refused' && outcome.pauseDestination) {
    draft.send('destination', id, { type: 'paused', at, reason: error, by: 'deliverer' });
  }
  if (!wasPaused && isPaused(draft, id)) notePaused(draft, id);
}

function isPaused(draft: Draft, id: string): boolean {
  return draft.instance('destination', id)?.value === 'paused';
}

function notePaused(draft: Draft, id: string): void {
  const { pausedReason } = contextOf(draft, id);
  raiseNotice(draft, {
    kind: 'DESTINATION_PAUSED',
    subject: { collection: 'destinations', id },
    text: `Nothing is sent to ${displayNameOf(draft, id)} any more. ${pausedReason}. Fix it, then resume it.`,
  });
}

function displayNameOf(draft: Draft, id: string): string {
  return `"${contextOf(draft, id).displayName}"`;
}

function contextOf(draft: Draft, id: string): DestinationContext {
  const row = draft.instance('destination', id);
  if (!row) throw new Error(`A delivery is for the unknown destination ${id}`);
  return row.context;
}
