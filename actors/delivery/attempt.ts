/**
 * One attempt of one delivery, in three steps: a commit that rechecks everything and opens it, the
 * send under a deadline that starts with that commit, and a commit with the outcome (`outcome.ts`).
 *
 * Each incident of a group is rechecked on its own, and dropped if it no longer holds. A group is
 * settled by a commit of its own before its message is rendered. From then on the message does not
 * change: if a member must be dropped, the group ends and a new one continues with the remaining
 * members.
 */
import type {
  DeliveryCheck,
  DeliveryContext,
  DeliveryEvent,
} from '../../machines/delivery/delivery.ts';
import type { DestinationKind } from '../../machines/delivery/destination.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { activePeople, type IsPersonActive, isLockedOut } from '../alerting/eligible.ts';
import type { Draft, Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import {
  isAudienceBusy,
  isHeld,
  type Recheck,
  recheck,
  type SuppressedReason,
} from './audience.ts';
import type { Bodies, BodySource, RenderedBody } from './bodies.ts';
import {
  alone,
  continueGroup,
  dropMember,
  isGroup,
  liveMembers,
  type PlacedMember,
} from './delivery-group.ts';
import type { AttemptOutcome, Notifier, Target } from './notifier-port.ts';
import { type DueAttempt, nextAttemptOf, type OpenAttempt } from './queues.ts';
import type { WriteBatch } from './write-batch.ts';

/** The parts of an attempt outside its row: secrets and bodies are never committed. */
export interface DeliveryContents extends BodySource {
  /** Target of the delivery, unsealed. Rejects if its value is not in the sealed store. */
  target(view: ProjectView, delivery: DeliveryContext): Promise<Target>;
  /** Ids of deliveries whose body is stored. */
  stored(): readonly string[];
  /** Deletes the stored bodies of deliveries that have ended. No-op for deliveries without one. */
  discard(ids: readonly string[]): Promise<void>;
}

/**
 * The endpoint's redacted answer, stored beside the rows and never in a commit, so that it can be
 * deleted.
 */
export interface AnswerExcerpt {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly excerpt: string;
}

/** Dependencies of an attempt: rows to recheck, the body, and the notifier that sends. */
export interface AttemptDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly notifier: Notifier;
  readonly contents: Pick<DeliveryContents, 'target'>;
  readonly bodies: Pick<Bodies, 'of' | 'hold'>;
  readonly excerpts: Pick<WriteBatch<AnswerExcerpt>, 'add'>;
  /** Counts and logs the fault. */
  readonly onFault: (what: string, error: unknown) => void;
}

/** The service itself, which the audit log names as the actor of every attempt. */
export const delivererActor: Actor = { kind: 'service', name: 'deliverer' };

/**
 * `notDue`: the delivery has ended or moved on. `held`: due when the rule's pending version is
 * applied. `busy`: the maximum number of attempts to the destination is open, or another one to
 * this audience is.
 */
export type Opened =
  | { readonly kind: 'open'; readonly attempt: Attempt }
  | { readonly kind: 'suppressed' }
  | { readonly kind: 'held' | 'busy' | 'notDue' }
  | { readonly kind: 'faulty'; readonly error: unknown };

/** An attempt that was opened by a commit and may be sent until its deadline. */
export interface Attempt extends OpenAttempt {
  readonly context: DeliveryContext;
  readonly body: Uint8Array;
  /** Elapsed time, ms. */
  readonly deadlineMs: number;
}

/** Opens one attempt; see `openAttempts`. */
export async function openAttempt(deps: AttemptDeps, due: DueAttempt): Promise<Opened> {
  const [opened = NOT_DUE] = await openAttempts(deps, due.project, [due]);
  if (opened.kind === 'faulty') throw opened.error;
  return opened;
}

/**
 * Rechecks all attempts in one commit, then opens each one or ends its delivery with the reason.
 * Their bodies are written to disk before the commit, in one write.
 */
export async function openAttempts(
  deps: AttemptDeps,
  project: string,
  dues: readonly DueAttempt[],
): Promise<Opened[]> {
  const { clock, host, notifier } = deps;
  const prepared = await Promise.all(
    dues.map((due) =>
      prepare(deps, due).catch((error: unknown) => ({ kind: 'faulty', error }) as const),
    ),
  );
  if (!prepared.some(({ kind }) => kind === 'prepared')) return prepared as Opened[];
  let decidedMs = 0;
  const { answer } = await host.submit({
    project,
    by: delivererActor,
    decide(draft) {
      decidedMs = clock.elapsed();
      return prepared.map((each) =>
        each.kind === 'prepared' ? openInDraft(host, draft, each) : undefined,
      );
    },
  });
  const view = host.view(project);
  return prepared.map((each, i): Opened => {
    if (each.kind !== 'prepared') return each;
    const kind = answer[i];
    if (kind !== 'open') return { kind: kind ?? 'notDue' };
    const { delivery, attemptId, context, body } = each;
    if (!body) return NOT_DUE;
    const deadlineMs = decidedMs + notifier.limitsOf(kindOf(view, context)).attemptMs;
    const attempt = { project, delivery, attemptId, context, body: body.bytes, deadlineMs };
    return { kind: 'open', attempt };
  });
}

const NOT_DUE: Opened = { kind: 'notDue' };

/** An attempt that may be opened. Without a body, its delivery must be ended. */
interface Prepared {
  readonly kind: 'prepared';
  readonly delivery: string;
  /** Number of the attempt within its delivery, from 1. */
  readonly number: number;
  readonly attemptId: string;
  readonly context: DeliveryContext;
  readonly body: RenderedBody | undefined;
}

/** Renders and stores the body to send, from the current state. */
async function prepare(
  { bodies, clock, host, random }: AttemptDeps,
  { project, delivery, attempt: number }: DueAttempt,
): Promise<Prepared | Opened> {
  const view = host.view(project);
  const due = { id: delivery, number };
  let row = view.instance('delivery', delivery);
  if (row && nextAttemptOf(row) === number && isUnsettled(row.context)) {
    const decide = (draft: Draft) => settleInDraft(draft, host, due);
    const { answer } = await host.submit({ project, by: delivererActor, decide });
    if (answer !== 'settled') return { kind: answer };
    row = view.instance('delivery', delivery);
  }
  if (!row || nextAttemptOf(row) !== number) return NOT_DUE;
  const { context } = row;
  const { reason, dropped } = recheckDelivery(view, delivery, context, activePeople(host));
  // A group that will be replaced needs no body.
  const isStill = reason === undefined && dropped.length === 0;
  if (isStill && isHeld(view, context)) return { kind: 'held' };
  const attemptId = `att_${ulid(clock.now(), random)}`;
  const body = isStill ? await bodies.of(view, context, delivery) : undefined;
  // Saves a decision; the commit checks again.
  if (body && isBusy(view, context, delivery)) {
    bodies.hold(delivery, body);
    return { kind: 'busy' };
  }
  return { kind: 'prepared', delivery, number, attemptId, context, body };
}

/**
 * Kind of the delivery's destination. Throws without one, which is a bug because rows are never
 * removed.
 */
export function kindOf(view: ProjectView, { destination }: DeliveryContext): DestinationKind {
  const row = view.instance('destination', destination);
  if (!row) throw new Error(`The delivery has the unknown destination ${destination}`);
  return row.context.kind;
}

function openInDraft(
  host: Host,
  draft: Draft,
  { delivery: id, number, attemptId, body }: Prepared,
): Exclude<Opened['kind'], 'faulty'> {
  const delivery = draft.instance('delivery', id);
  if (!delivery || nextAttemptOf(delivery) !== number) return 'notDue';
  const { at } = draft;
  const context = delivery.context;
  const rechecked = recheckDelivery(draft, id, context, activePeople(host));
  const { reason, checks, dropped } = rechecked;
  if (!reason && isHeld(draft, context)) return 'held';
  if (!reason && dropped.length > 0) {
    if (delivery.value === 'queued') draft.send('delivery', id, { type: 'attemptDue', at });
    replaceGroup(draft, delivery, rechecked);
    return 'suppressed';
  }
  if (!reason && !body) return 'notDue';
  if (!reason && isBusy(draft, context, id)) return 'busy';
  if (delivery.value === 'queued') draft.send('delivery', id, { type: 'attemptDue', at });
  const event: DeliveryEvent = reason
    ? { type: 'suppressed', at, reason, checks }
    : { type: 'cleared', at, attemptId, bodyDigest: body?.digest ?? '', checks };
  // Not always `sending`: any event after 24 hours expires a delivery.
  const { value } = draft.send('delivery', id, event).instance;
  if (value === 'sending') return 'open';
  return value === 'suppressed' ? 'suppressed' : 'notDue';
}

/**
 * The bounds across all members, which hold because the commit that opens an attempt counts. An
 * attempt that is only suppressed needs no slot.
 */
function isBusy(view: ProjectView, delivery: DeliveryContext, id: string): boolean {
  const { destination } = delivery;
  const cap = view.instance('destination', destination)?.context.attemptCap ?? 0;
  if (view.countInstances('delivery', { destination, state: 'sending' }) >= cap) return true;
  return isAudienceBusy(view, delivery, id);
}

/** If a reason is set, nothing of the delivery may be sent. */
export interface DeliveryRecheck extends Recheck {
  /** Members that no longer hold. */
  readonly dropped: readonly DroppedMember[];
}

interface DroppedMember {
  readonly member: PlacedMember;
  readonly reason: SuppressedReason;
  readonly checks: readonly DeliveryCheck[];
}

/** Checks everything that could have changed, for each incident of the delivery. */
export function recheckDelivery(
  view: ProjectView,
  id: string,
  context: DeliveryContext,
  isPersonActive: IsPersonActive,
): DeliveryRecheck {
  if (!isGroup(context)) return { ...recheck(view, context, isPersonActive), dropped: [] };
  const dropped: DroppedMember[] = [];
  let holding: readonly DeliveryCheck[] | undefined;
  for (const member of liveMembers(view, id, context)) {
    const { checks, reason } = recheck(view, alone(context, member), isPersonActive);
    if (reason) dropped.push({ member, reason, checks });
    else holding ??= checks;
  }
  if (holding) return { checks: holding, reason: undefined, dropped };
  const [first] = dropped;
  const isOneReason = dropped.every(({ reason }) => reason === first?.reason);
  const reason = isOneReason ? (first?.reason ?? 'SUPERSEDED') : 'SUPERSEDED';
  return { checks: first?.checks ?? [], reason, dropped };
}

/** True for a group whose members may still change, so that it must be settled first. */
function isUnsettled(context: DeliveryContext): boolean {
  return isGroup(context) && !context.isSettled;
}

/** Result of settling. Only `settled` allows an attempt. */
type Settled = 'settled' | 'suppressed' | 'held' | 'notDue';

/**
 * Drops members that no longer hold, or ends the group if none holds. @param number of the attempt
 */
function settleInDraft(
  draft: Draft,
  host: Pick<Host, 'view'>,
  { id, number }: { readonly id: string; readonly number: number },
): Settled {
  const row = draft.instance('delivery', id);
  if (!row || nextAttemptOf(row) !== number) return 'notDue';
  const { context, value } = row;
  if (!isUnsettled(context)) return 'settled';
  const { at } = draft;
  const { checks, reason, dropped } = recheckDelivery(draft, id, context, activePeople(host));
  if (!reason && isHeld(draft, context)) return 'held';
  for (const { member, reason: why } of dropped) dropMember(draft, id, member, why);
  if (value === 'queued') draft.send('delivery', id, { type: 'attemptDue', at });
  const isOver = reason !== undefined;
  const { instance } = isOver
    ? draft.send('delivery', id, { type: 'suppressed', at, reason, checks })
    : draft.send('delivery', id, { type: 'settled', at, dropped: dropped.length });
  if (isOver) return 'suppressed';
  return instance.final ? 'notDue' : 'settled';
}

/** Ends a settled group that has members which no longer hold, and continues with the others. */
function replaceGroup(draft: Draft, row: Instance<'delivery'>, { dropped }: DeliveryRecheck): void {
  const { instance: id, context } = row;
  const gone = new Set(dropped.map(({ member }) => member.place));
  const remaining = liveMembers(draft, id, context).filter(({ place }) => !gone.has(place));
  const checks = dropped[0]?.checks ?? [];
  const ended = { type: 'suppressed', at: draft.at, reason: 'SUPERSEDED', checks } as const;
  const { instance } = draft.send('delivery', id, ended);
  // After 24 hours it has expired instead, and no group continues.
  if (instance.value === 'suppressed') continueGroup(draft, row, remaining);
}

/** Sends the attempt. Resolves with the outcome, even after a fault of this service. */
export async function sendAttempt(deps: AttemptDeps, attempt: Attempt): Promise<AttemptOutcome> {
  const { contents, excerpts, host } = deps;
  const { project, delivery: deliveryId, attemptId, context } = attempt;
  // People belong to no project, so a person may be locked between the decision and its commit.
  const { recipient } = context;
  const view = host.view(project);
  if (recipient !== null && isLockedOut(view, recipient, activePeople(host))) {
    const message = 'Not sent: the recipient was locked out';
    return { kind: 'failed', unknown: false, ours: true, error: message };
  }
  // Once the deletion is applied, the sealed URL and secrets are deleted. The next recheck gives
  // the reason.
  if (view.instance('destination', context.destination)?.final) {
    const message = 'Not sent: the destination was deleted';
    return { kind: 'failed', unknown: false, ours: true, error: message };
  }
  let target: Target;
  try {
    target = await contents.target(view, context);
  } catch (error) {
    deps.onFault(`reading the destination of ${deliveryId}`, error);
    const message = 'The address or the secret of the destination could not be read';
    return { kind: 'failed', unknown: false, ours: true, error: message };
  }
  const outcome = await outcomeOf(deps, attempt, target, threadOf(view, attempt));
  const { excerpt = '' } = outcome;
  if (excerpt !== '') excerpts.add({ deliveryId, attemptId, excerpt });
  return outcome;
}

/** The incident whose thread a mail belongs to; for a group, the first incident that it names. */
function threadOf(view: ProjectView, { delivery, context }: Attempt): string {
  if (!isGroup(context)) return context.incident;
  return liveMembers(view, delivery, context)[0]?.incident ?? '';
}

async function outcomeOf(
  { clock, notifier, onFault }: AttemptDeps,
  { delivery: deliveryId, attemptId, context, body, deadlineMs }: Attempt,
  target: Target,
  incident: string,
): Promise<AttemptOutcome> {
  try {
    return await notifier.attempt({
      deliveryId,
      attemptId,
      body,
      target,
      incident,
      event: eventName(context.event),
      timestampUnix: Math.floor(clock.now() / 1000),
      deadlineElapsedMs: deadlineMs,
    });
  } catch (error) {
    onFault(`sending ${deliveryId}`, error);
    const message = 'The attempt failed because of a fault of this service';
    return { kind: 'failed', unknown: true, ours: true, error: message };
  }
}

function eventName(event: DeliveryContext['event']): string {
  return event === 'TEST' ? 'test' : `incident.${event.toLowerCase()}`;
}
