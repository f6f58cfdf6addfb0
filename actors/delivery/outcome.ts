/**
 * The commit that records an attempt's outcome: the delivery ends or waits, the destination and the
 * recipient are updated, and problems that users must fix become notices. The outcome names its
 * attempt, so it cannot be mistaken for another's.
 */

import { type AttemptEnd, nextAttemptCap } from '../../machines/delivery/attempt-cap.ts';
import type { DeliveryContext, DeliveryEvent } from '../../machines/delivery/delivery.ts';
import type { DestinationContext, DestinationKind } from '../../machines/delivery/destination.ts';
import { FIRING_RETRY_AFTER_MS_MAX, retryDelayMs } from '../../machines/delivery/retry-schedule.ts';
import { fraction } from '../../streams/platform/random.ts';
import { endNotice, raiseNotice } from '../alerting/notices.ts';
import type { Draft, Instance } from '../platform/host/host-port.ts';
import { type AttemptDeps, delivererActor } from './attempt.ts';
import { repeatPlainly } from './delivery-group.ts';
import { pausedNotice, refusedNotice } from './destination-rows.ts';
import type { DueAttempt, OpenAttempt } from './due-attempts.ts';
import type { AttemptOutcome } from './notifier-port.ts';
import { recordBounce } from './recipients.ts';

type RecordDeps = Pick<AttemptDeps, 'host' | 'random' | 'notifier'>;

/** An attempt that has ended. */
export interface EndedAttempt extends OpenAttempt {
  readonly outcome: AttemptOutcome;
  /** Duration, ms. */
  readonly durationMs: number;
}

/** An ended attempt, for the log and the metrics. */
export interface ReportedAttempt extends Pick<DueAttempt, 'project' | 'delivery' | 'attempt'> {
  readonly destination: string;
  readonly kind: DestinationKind;
  readonly outcome: AttemptOutcome | { readonly kind: 'suppressed' };
  readonly durationMs: number;
}

/** Commits the ends of several attempts of a project in one commit. */
export async function recordOutcomes(
  { host, random, notifier }: RecordDeps,
  project: string,
  ended: readonly EndedAttempt[],
): Promise<void> {
  const jitters = ended.map(() => fraction(random));
  await host.submit({
    project,
    by: delivererActor,
    decide(draft) {
      for (const [i, end] of ended.entries()) recordEnd(draft, end, jitters[i] ?? 0, notifier);
    },
  });
}

function recordEnd(
  draft: Draft,
  { delivery, attemptId, outcome, durationMs }: EndedAttempt,
  jitter: number,
  notifier: RecordDeps['notifier'],
): void {
  const row = draft.instance('delivery', delivery);
  if (row?.value !== 'sending') return;
  const { context } = row;
  const event = outcomeEvent(outcome, context, draft.at, jitter);
  const { changed } = draft.send('delivery', delivery, { ...event, attemptId });
  if (!changed) return;
  const isRepeated = isContentRefused(outcome) && repeatPlainly(draft, row) !== undefined;
  // The outcome of the message is always recorded, or it would be sent again. If a newer member has
  // moved the destination, the effect on the destination is left to newer members.
  if (isBounce(outcome)) recordBouncedRecipient(draft, context, outcome.error);
  if (!draft.canMove('destination', context.destination)) return;
  if (!isBounce(outcome)) updateDestination(draft, context.destination, outcome);
  if (outcome.kind === 'refused' && !isRepeated) recordRefused(draft, row, outcome);
  const end = { result: resultOf(outcome), durationMs };
  changeCap(draft, context.destination, end, notifier);
}

/** Commits an unknown outcome for an attempt whose process died. */
export async function recordLost(
  { host, random }: Pick<RecordDeps, 'host' | 'random'>,
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

/** True if the address accepts no mail. The server and other recipients are not affected. */
function isBounce(
  outcome: AttemptOutcome,
): outcome is Extract<AttemptOutcome, { kind: 'refused' }> {
  return outcome.kind === 'refused' && outcome.bounced === true;
}

/** True if the message may be accepted in another form. */
function isContentRefused(outcome: AttemptOutcome): boolean {
  return outcome.kind === 'refused' && outcome.content === true;
}

function outcomeEvent(
  outcome: AttemptOutcome,
  context: DeliveryContext,
  at: number,
  jitter: number,
): Extract<DeliveryEvent, { type: 'accepted' | 'refused' | 'attemptFailed' }> {
  const httpStatus = outcome.httpStatus ?? null;
  const failing = resultOf(outcome) === 'failing' ? ({ failing: true } as const) : {};
  switch (outcome.kind) {
    case 'accepted':
      return { type: 'accepted', at, httpStatus };
    case 'refused': {
      const isRepeated = isContentRefused(outcome) && !context.isPlain;
      const error = `${outcome.error}${isRepeated ? REPEATED : ''}`;
      return { type: 'refused', at, httpStatus, error, ...failing };
    }
    case 'failed': {
      const { unknown, error, slows } = outcome;
      const retryAfterMs = requestedWaitMs(outcome, context);
      const rest = slows && retryAfterMs !== undefined ? { restMs: retryAfterMs } : {};
      const delayMs = delayOf(context, at, jitter, retryAfterMs);
      const known = { type: 'attemptFailed', at, unknown, httpStatus, error, delayMs } as const;
      return { ...known, ...failing, ...rest };
    }
  }
}

/** The wait that the receiver requested, ms, within the bound of a firing message. */
function requestedWaitMs(
  { retryAfterMs, isGlobalLimit }: Extract<AttemptOutcome, { kind: 'failed' }>,
  { event }: DeliveryContext,
): number | undefined {
  const isFiring = event === 'FIRING' || event === 'REPEATED';
  if (retryAfterMs === undefined || !isFiring || isGlobalLimit) return retryAfterMs;
  return Math.min(retryAfterMs, FIRING_RETRY_AFTER_MS_MAX);
}

const REPEATED = '. A new delivery repeats it as plain text';

/** Wait before the next attempt, ms; null if it would end after the 24 hours. */
function delayOf(
  context: DeliveryContext,
  at: number,
  jitter: number,
  retryAfterMs?: number,
): number | null {
  const attempt = context.earlierAttempts + context.attempts.length;
  return retryDelayMs({ attempt, jitter, ageMs: at - context.createdMs, retryAfterMs }) ?? null;
}

function recordBouncedRecipient(
  draft: Draft,
  { recipient }: DeliveryContext,
  reason: string,
): void {
  if (recipient === null || !draft.canMove('recipient', recipient)) return;
  recordBounce(draft, recipient, reason);
}

/** True for a fault of this service, for which the destination is not to blame. */
function isOurs(outcome: AttemptOutcome): outcome is Extract<AttemptOutcome, { kind: 'failed' }> {
  return outcome.kind === 'failed' && outcome.ours === true;
}

/** The meaning of an attempt's end for its endpoint. */
function resultOf(outcome: AttemptOutcome): AttemptEnd['result'] {
  if (outcome.kind === 'accepted') return 'healthy';
  // A quick answer about one message. The next one may be accepted, and must not wait.
  if (isContentRefused(outcome)) return 'healthy';
  // `slows` applies even if our own mail server reports it.
  return isBounce(outcome) || (isOurs(outcome) && !outcome.slows) ? 'neutral' : 'failing';
}

/** The cap is part of the destination's row and is written only when it changes. */
function changeCap(
  draft: Draft,
  id: string,
  end: AttemptEnd,
  { limitsOf }: Pick<AttemptDeps['notifier'], 'limitsOf'>,
): void {
  const { attemptCap: cap, kind } = contextOf(draft, id);
  const attemptCap = nextAttemptCap(cap, end, limitsOf(kind).attemptsMax);
  if (attemptCap === cap) return;
  draft.send('destination', id, { type: 'attemptCapChanged', at: draft.at, attemptCap });
}

/** After a 410, or days of failures, the destination is paused until a user resumes it. */
function updateDestination(draft: Draft, id: string, outcome: AttemptOutcome): void {
  if (isOurs(outcome)) return;
  const { at } = draft;
  if (outcome.kind === 'accepted') {
    if (contextOf(draft, id).failingSinceMs === null) return;
    draft.send('destination', id, { type: 'attemptAccepted', at });
    endNotice(draft, refusedNotice(id));
    return;
  }
  const { error } = outcome;
  const wasPaused = isPaused(draft, id);
  draft.send('destination', id, { type: 'attemptFailed', at, error });
  if (outcome.kind === 'refused' && outcome.pauseDestination) {
    draft.send('destination', id, { type: 'paused', at, reason: error, by: 'deliverer' });
  }
  if (!wasPaused && isPaused(draft, id)) recordPaused(draft, id);
}

/**
 * Raises a notice if no message was accepted between an earlier failure and this rejection, or if
 * even the plainest form was rejected. One message among accepted ones is displayed with its error.
 */
function recordRefused(
  draft: Draft,
  { context }: Instance<'delivery'>,
  outcome: Extract<AttemptOutcome, { kind: 'refused' }>,
): void {
  const { destination: id } = context;
  if (outcome.bounced === true || isPaused(draft, id)) return;
  const { failingSinceMs, lastFailedMs } = contextOf(draft, id);
  const isFirst = failingSinceMs === lastFailedMs;
  if (isFirst && !context.isPlain) return;
  raiseNotice(draft, {
    ...refusedNotice(id),
    text: `${displayNameOf(draft, id)} rejects all messages, and they are not delivered. ${outcome.error}. Send a test after fixing the problem.`,
  });
}

function isPaused(draft: Draft, id: string): boolean {
  return draft.instance('destination', id)?.value === 'paused';
}

function recordPaused(draft: Draft, id: string): void {
  const { pausedReason } = contextOf(draft, id);
  raiseNotice(draft, {
    ...pausedNotice(id),
    text: `Nothing is sent to ${displayNameOf(draft, id)} anymore. ${pausedReason}. Fix the problem, then resume the destination.`,
  });
}

function displayNameOf(draft: Draft, id: string): string {
  return `"${contextOf(draft, id).displayName}"`;
}

function contextOf(draft: Draft, id: string): DestinationContext {
  const row = draft.instance('destination', id);
  if (!row) throw new Error(`The delivery has the unknown destination ${id}`);
  return row.context;
}
