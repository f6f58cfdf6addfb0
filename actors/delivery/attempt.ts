/**
 * One attempt of one delivery, in three steps: a commit that rechecks everything and opens it, the
 * sending under a deadline that began with that commit, and a commit with its outcome. The outcome
 * names the attempt, so that it can never be taken for that of another.
 */
import type { DeliveryContext, DeliveryEvent } from '../../machines/delivery.ts';
import { retryDelayMs } from '../../machines/retry-schedule.ts';
import type { Clock } from '../../streams/clock.ts';
import type { Actor } from '../../streams/commit/commit.ts';
import { fraction, type Random, ulid } from '../../streams/random.ts';
import type { Draft, Host, ProjectView } from '../host-port.ts';
import type { AttemptOutcome, Notifier, Target } from '../notifier-port.ts';
import { recheck } from './recheck.ts';
import type { OpenAttempt, WakeUp } from './wake-ups.ts';

/** What an attempt is made of besides its row; secrets and bodies are never in a commit. */
export interface DeliveryContents {
  /** The stored body of a delivery, rendered and stored at the first call. */
  body(
    view: ProjectView,
    delivery: DeliveryContext,
    id: string,
  ): { bytes: Uint8Array; digest: string };
  /** Where the delivery goes, unsealed. Throws when that is not sealed here. */
  target(view: ProjectView, delivery: DeliveryContext): Target;
  /** Deliveries whose body is stored. */
  stored(): readonly string[];
  /** Forgets the stored bodies of deliveries that have ended; harmless where there is none. */
  discard(ids: readonly string[]): void;
}

export interface AttemptDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly notifier: Notifier;
  readonly contents: DeliveryContents;
  /** Counted and logged by the caller. */
  readonly onFault: (what: string, error: unknown) => void;
}

/** One attempt: 10 s in all from the commit that opened it. */
const ATTEMPT_MS = 10_000;

const delivererActor: Actor = { kind: 'service', name: 'deliverer' };

/** `notDue`: ended or moved on meanwhile, or to be tried by another wake-up. */
export type Opened =
  | { readonly kind: 'open'; readonly attempt: Attempt }
  | { readonly kind: 'suppressed' }
  | { readonly kind: 'notDue' };

export interface Attempt extends OpenAttempt {
  readonly context: DeliveryContext;
  readonly body: Uint8Array;
  /** Elapsed time, ms. */
  readonly deadlineMs: number;
}

/** One commit: recheck, and open the attempt or end the delivery with the reason. */
export async function openAttempt(
  deps: AttemptDeps,
  { project, delivery }: WakeUp,
): Promise<Opened> {
  const { clock, host, random } = deps;
  const attemptId = `att_${ulid(clock.now(), random)}`;
  const view = host.view(project);
  const row = view.instance('delivery', delivery);
  if (!row || row.final) return { kind: 'notDue' };
  const context = row.context as unknown as DeliveryContext;
  const body = recheck(view, context) ? undefined : bodyOf(deps, view, context, delivery);
  let decidedMs = 0;
  const { answer } = await host.submit({
    project,
    by: delivererActor,
    decide(draft) {
      decidedMs = clock.elapsed();
      return openInDraft(draft, delivery, attemptId, body?.digest);
    },
  });
  if (answer !== 'open' || !body) return { kind: answer === 'suppressed' ? answer : 'notDue' };
  const deadlineMs = decidedMs + ATTEMPT_MS;
  const attempt = { project, delivery, attemptId, context, body: body.bytes, deadlineMs };
  return { kind: 'open', attempt };
}

function bodyOf(
  { contents }: AttemptDeps,
  view: ProjectView,
  context: DeliveryContext,
  id: string,
) {
  const body = contents.body(view, context, id);
  if (context.bodyDigest === null || context.bodyDigest === body.digest) return body;
  throw new Error(`The stored body of ${id} is not the one of its earlier attempts`);
}

function openInDraft(
  draft: Draft,
  id: string,
  attemptId: string,
  bodyDigest: string | undefined,
): Opened['kind'] {
  const delivery = draft.instance('delivery', id);
  if (delivery?.value !== 'queued' && delivery?.value !== 'rechecking') return 'notDue';
  const { at } = draft;
  const reason = recheck(draft, delivery.context as unknown as DeliveryContext);
  if (!reason && bodyDigest === undefined) return 'notDue';
  if (delivery.value === 'queued') draft.send('delivery', id, { type: 'attemptDue', at });
  const event: DeliveryEvent = reason
    ? { type: 'suppressed', at, reason }
    : { type: 'cleared', at, attemptId, bodyDigest: bodyDigest ?? '' };
  // Not always `sending`: after 24 hours a delivery expires, whatever is asked of it.
  const { value } = draft.send('delivery', id, event).instance;
  if (value === 'sending') return 'open';
  return value === 'suppressed' ? 'suppressed' : 'notDue';
}

/** Sends it; resolves with the outcome, a fault of ours included. */
export async function sendAttempt(deps: AttemptDeps, attempt: Attempt): Promise<AttemptOutcome> {
  const { clock, contents, host, notifier } = deps;
  const { project, delivery: deliveryId, attemptId, context, body, deadlineMs } = attempt;
  let target: Target;
  try {
    target = contents.target(host.view(project), context);
  } catch (error) {
    deps.onFault(`reading the destination of ${deliveryId}`, error);
    const message = 'The address or the secret of the destination could not be read';
    return { kind: 'failed', unknown: false, error: message };
  }
  try {
    return await notifier.attempt({
      ...{ deliveryId, attemptId, body, target, incident: context.incident },
      event: eventName(context.event),
      timestampUnix: Math.floor(clock.now() / 1000),
      deadlineElapsedMs: deadlineMs,
    });
  } catch (error) {
    deps.onFault(`sending ${deliveryId}`, error);
    return { kind: 'failed', unknown: true, error: 'The attempt broke off by a fault of ours' };
  }
}

/** The commit that ends the attempt. */
export async function recordOutcome(
  { host, random }: AttemptDeps,
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
      const context = row.context as unknown as DeliveryContext;
      const event = outcomeEvent(outcome, context, draft.at, jitter);
      draft.send('delivery', delivery, { ...event, attemptId });
      tellDestination(draft, context.destination, outcome);
    },
  });
}

/** The commit for an attempt whose process did not live to tell its outcome. */
export async function recordLost(
  { host, random }: AttemptDeps,
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
      const delayMs = delayOf(row.context as unknown as DeliveryContext, at, jitter);
      draft.send('delivery', delivery, { type: 'attemptLost', at, attemptId, delayMs });
    },
  });
}

function outcomeEvent(
  outcome: AttemptOutcome,
  context: DeliveryContext,
  at: number,
  jitter: number,
): DeliveryEvent {
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

/** Wait before the next attempt, ms; null when it would come after the 24 hours. */
function delayOf(
  context: DeliveryContext,
  at: number,
  jitter: number,
  retryAfterMs?: number,
): number | null {
  const attempt = context.attempts.length;
  return retryDelayMs({ attempt, jitter, ageMs: at - context.createdMs, retryAfterMs }) ?? null;
}

/** 410, or days of failures: it is left alone until somebody has mended and resumed it. */
function tellDestination(draft: Draft, destination: string, outcome: AttemptOutcome): void {
  const { at } = draft;
  if (outcome.kind === 'accepted') {
    draft.send('destination', destination, { type: 'attemptAccepted', at });
    return;
  }
  const { error } = outcome;
  draft.send('destination', destination, { type: 'attemptFailed', at, error });
  if (outcome.kind !== 'refused' || !outcome.pauseDestination) return;
  const paused = { type: 'paused', at, reason: error, by: 'deliverer' };
  draft.send('destination', destination, paused);
}

function eventName(event: DeliveryContext['event']): string {
  return event === 'TEST' ? 'test' : `incident.${event.toLowerCase()}`;
}
