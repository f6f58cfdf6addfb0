/**
 * The stages that open an attempt. Each incident of a group is rechecked on its own, and dropped if
 * it no longer holds. A group is settled by a commit of its own before its message is rendered. From
 * then on the message does not change: if a member must be dropped, the group ends and a new one
 * continues with the remaining members.
 */
import type {
  DeliveryCheck,
  DeliveryContext,
  DeliveryEvent,
} from '../../machines/delivery/delivery.ts';
import { ulid } from '../../streams/platform/random.ts';
import { activePeople, type IsPersonActive } from '../alerting/eligible.ts';
import type { Draft, Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { type Attempt, type AttemptDeps, delivererActor, kindOf } from './attempt.ts';
import {
  isAudienceBusy,
  isHeld,
  type Recheck,
  recheck,
  type SuppressedReason,
} from './audience.ts';
import type { RenderedBody } from './bodies.ts';
import {
  alone,
  continueGroup,
  dropMember,
  isGroup,
  liveMembers,
  type PlacedMember,
} from './delivery-group.ts';
import { type DueAttempt, nextAttemptOf } from './due-attempts.ts';
import { Ended, pathOf, type Stage } from './stages.ts';

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

/** A due attempt with its delivery, whose group is settled. */
interface SettledDelivery extends DueAttempt {
  readonly context: DeliveryContext;
}

/** The same, rechecked. */
interface RecheckedDelivery extends SettledDelivery {
  /** False if the commit will end the delivery, or replace its group. */
  readonly maySend: boolean;
}

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

/** The result of the stages before the commit. */
type Preparation = Prepared | Opened;

const NOT_DUE: Opened = { kind: 'notDue' };

/** Settles a group whose members may still change, in a commit of its own. */
export function settleGroup({
  host,
}: Pick<AttemptDeps, 'host'>): Stage<DueAttempt, SettledDelivery, Preparation> {
  return async (due) => {
    const { project, delivery: id, attempt: number } = due;
    const view = host.view(project);
    let row = view.instance('delivery', id);
    if (row && nextAttemptOf(row) === number && isUnsettled(row.context)) {
      const decide = (draft: Draft) => settleInDraft(draft, host, { id, number });
      const { answer } = await host.submit({ project, by: delivererActor, decide });
      if (answer !== 'settled') return new Ended({ kind: answer });
      row = view.instance('delivery', id);
    }
    if (!row || nextAttemptOf(row) !== number) return new Ended(NOT_DUE);
    return { ...due, context: row.context };
  };
}

/** Rechecks each incident, so that nothing is rendered in vain. The commit checks again. */
export function recheckMembers({
  host,
}: Pick<AttemptDeps, 'host'>): Stage<SettledDelivery, RecheckedDelivery, Preparation> {
  return async (due) => {
    const { project, delivery, context } = due;
    const view = host.view(project);
    const { reason, dropped } = recheckDelivery(view, delivery, context, activePeople(host));
    const maySend = reason === undefined && dropped.length === 0;
    if (maySend && isHeld(view, context)) return new Ended({ kind: 'held' });
    return { ...due, maySend };
  };
}

/** Renders the body from the current state and stores it, if there is none from earlier attempts. */
export function renderBody({ bodies, clock, host, random }: AttemptDeps) {
  return async (due: RecheckedDelivery): Promise<Preparation> => {
    const { project, delivery, attempt: number, context, maySend } = due;
    const view = host.view(project);
    const attemptId = `att_${ulid(clock.now(), random)}`;
    const body = maySend ? await bodies.of(view, context, delivery) : undefined;
    // Saves a decision; the commit checks again.
    if (body && isBusy(view, context, delivery)) {
      bodies.hold(delivery, body);
      return { kind: 'busy' };
    }
    return { kind: 'prepared', delivery, number, attemptId, context, body };
  };
}

/**
 * Prepares attempts of a project, then rechecks them all in one commit, which opens each one or ends
 * its delivery with the reason. Their bodies are written to disk before the commit, in one write.
 */
export function openTogether(
  deps: Pick<AttemptDeps, 'clock' | 'host' | 'notifier'>,
  prepare: (due: DueAttempt) => Promise<Preparation>,
) {
  const { clock, host, notifier } = deps;
  return async (project: string, dues: readonly DueAttempt[]): Promise<Opened[]> => {
    const prepared = await Promise.all(
      dues.map((due) =>
        prepare(due).catch((error: unknown) => ({ kind: 'faulty', error }) as const),
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
  };
}

/** Opens one attempt through the same stages, for a replay. Rejects with the fault of one of them. */
export async function openAttempt(deps: AttemptDeps, due: DueAttempt): Promise<Opened> {
  const prepare = pathOf(settleGroup(deps), recheckMembers(deps), renderBody(deps));
  const [opened = NOT_DUE] = await openTogether(deps, prepare)(due.project, [due]);
  if (opened.kind === 'faulty') throw opened.error;
  return opened;
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

/** If a reason is set, no part of the delivery may be sent. */
export interface DeliveryRecheck extends Recheck {
  /** Members whose incidents no longer need a notification. */
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
