/**
 * Decides who is notified. Expands the effects of alert machines into steps and records of the same
 * commit: the incident's record, and one delivery for each destination and recipient to notify. Ids
 * are hashes of their content, so a second expansion is a no-op. For a recipient who may not
 * receive mail, the delivery ends at once and records the reason. `recheck` repeats these checks
 * before every attempt.
 */

import type { AlertInstanceContext } from '../../machines/alerting/alert-instance.ts';
import type { Incident } from '../../machines/alerting/incident.ts';
import type {
  DeliveryCheck,
  DeliveryContext,
  DeliveryInput,
  DeliveryReason,
} from '../../machines/delivery/delivery.ts';
import type { Effect, NotificationEvent } from '../../machines/platform/effects.ts';
import { type IsPersonActive, isMail, recipientsOf, whyNotTo } from '../alerting/eligible.ts';
import { type IncidentBody, incidentRecord } from '../alerting/incident.ts';
import { isInMaintenance } from '../alerting/maintenance.ts';
import { AUDIENCE_MAX } from '../alerting/rule-limits.ts';
import type { Draft, EffectExpander, Instance, ProjectView } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
import type { VmBody } from '../vms/vm-directory.ts';
import {
  type Audience,
  alone,
  deliveriesOf,
  deliveryIdOf,
  isGroup,
  joinGroup,
  liveMembers,
} from './delivery-group.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    delivery: Readonly<Record<string, never>>;
  }
}

/**
 * The host's expander. `applyRule` and `retireInstances` expand to nothing, because the rule keeper
 * derives that work from rule rows, in batches.
 */
export const expandAlerting: EffectExpander = (effect: Effect, source: Instance, draft: Draft) => {
  if (source.machine !== 'alertInstance') return;
  if (effect.type === 'recordIncident') draft.putRecord(incidentRecord(source.context, draft));
  if (effect.type === 'notify') notify(effect.event, effect.occurrence, source, draft);
};

function notify(
  event: NotificationEvent,
  occurrence: number,
  source: Instance<'alertInstance'>,
  draft: Draft,
): void {
  const { incident, rule, evaluationRevision, vm } = source.context;
  if (!incident) return;
  const isRecovery = event === 'RECOVERED';
  const budget = { left: SUPERSEDED_MAX };
  // A recovery is sent only to audiences that know of the firing.
  const isSilent = !isRecovery && isInMaintenance(draft, rule, vm);
  let notified = 0;
  for (const { destination, recipient } of audienceOf(draft, rule, isRecovery)) {
    const audience = { incident: incident.id, destination: destination.instance, recipient };
    if (isRecovery && !wasNotified(audience, incident.repeats, draft, budget)) continue;
    if (isRecovery && ++notified > AUDIENCE_MAX) break;
    const about = { event, occurrence, alertInstance: source.instance, rule, evaluationRevision };
    const { groupWaitMs } = destination.context;
    // A recipient who may not receive mail joins no group: the delivery is recorded as suppressed
    // now.
    if (groupWaitMs > 0 && !isSilent && !whyNever(draft, destination, recipient)) {
      joinGroup(draft, { ...about, ...audience }, groupWaitMs);
      continue;
    }
    const id = deliveryIdOf({ ...audience, event, occurrence });
    if (deliveriesOf(draft, id).length > 0) continue;
    const reason = isSilent ? 'MAINTENANCE' : undefined;
    startDelivery(draft, id, destination, { ...about, ...audience }, reason);
  }
}

/**
 * The destinations and recipients of a notification. A recovery goes to all who were notified, even
 * if the rule no longer names them. These are last, because there may be more than fit into a
 * commit.
 */
function audienceOf(draft: Draft, rule: string, isRecovery: boolean) {
  const named = namedByRule(draft, rule).filter(({ final }) => !(isRecovery && final));
  const others = isRecovery ? allInstances(draft, 'destination') : [];
  const byId = new Map([...named, ...others].map((row) => [row.instance, row]));
  return [...byId.values()].flatMap((destination) =>
    recipientsOf(draft, destination).map((recipient) => ({ destination, recipient })),
  );
}

function namedByRule(draft: Draft, rule: string): Instance<'destination'>[] {
  const row = draft.instance('alertRule', rule);
  if (!row) return [];
  const { spec } = row.context;
  return spec.destinationNames.flatMap(
    (name) => draft.instance('destination', name.slice(name.lastIndexOf('/') + 1)) ?? [],
  );
}

/** A test of a destination, requested by a user. */
export interface TestDelivery {
  readonly destination: string;
  /** One of `recipientsOf(draft, destination)`. */
  readonly recipient: string | null;
  /** Unique id of this test, such as a ULID made for the request. */
  readonly test: string;
}

/**
 * Starts the delivery of a test message and returns its id. A delivery to a recipient who may not
 * receive mail ends at once, with the reason. Throws for an unknown destination; callers check
 * first.
 */
export function startTestDelivery(draft: Draft, target: TestDelivery): string {
  const { destination, recipient, test } = target;
  const row = draft.instance('destination', destination);
  if (!row) throw new Error(`The test has the unknown destination ${destination}`);
  const about = { event: 'TEST', occurrence: 1, destination, recipient } as const;
  const id = deliveryIdOf({ ...about, incident: test });
  const none = { incident: '', alertInstance: '', rule: '', evaluationRevision: 0 };
  startDelivery(draft, id, row, { ...about, ...none });
  return id;
}

function startDelivery(
  draft: Draft,
  id: string,
  destination: Instance<'destination'>,
  input: Omit<DeliveryInput, 'at' | 'project'>,
  known?: DeliveryReason,
): void {
  if (draft.instance('delivery', id)) return;
  draft.start('delivery', id, { at: draft.at, project: draft.project, ...input });
  // Deliveries are listed newest first, and their ids have no order because they are hashes.
  const sort = String(draft.at).padStart(15, '0');
  draft.putRecord({ kind: 'delivery', id, body: {}, sort });
  const reason = whyNever(draft, destination, input.recipient) ?? known;
  if (reason) draft.send('delivery', id, { type: 'suppressed', at: draft.at, reason });
}

/**
 * The reason not to send that is already known when the delivery is created, so that no recheck is
 * needed.
 */
function whyNever(
  draft: Draft,
  destination: Instance<'destination'>,
  recipient: string | null,
): DeliveryReason | undefined {
  if (destination.final) return 'DESTINATION_DELETED';
  // A project's view does not know whether a person is locked out; the recheck checks that.
  return isMail(destination) ? whyNotTo(draft, recipient, () => true) : undefined;
}

/** Maximum rows that a recovery ends, and attempts in them, which bounds its commit. */
const SUPERSEDED_MAX = 60;

/**
 * True if this audience was, or may have been, notified of the firing. If not, its deliveries end
 * here as superseded, within the budget, and neither message is sent (EVAL-21). The remaining ones
 * end at their recheck, because the incident has recovered.
 */
function wasNotified(
  audience: Audience,
  repeats: number,
  draft: Draft,
  budget: { left: number },
): boolean {
  const unsent: Instance<'delivery'>[] = [];
  // Usually the newest reminder arrived, and up to thousands of others are then not read.
  for (const row of firingDeliveries(draft, audience, repeats)) {
    if (mayHaveArrived(row)) return true;
    unsent.push(row);
  }
  for (const row of unsent) {
    const { instance, final, context } = row;
    const { attempts } = context;
    if (final) continue;
    // A group drops it at its recheck.
    if (isGroup(context)) continue;
    budget.left -= 1 + attempts.length;
    if (budget.left < 0) break;
    draft.send('delivery', instance, { type: 'suppressed', at: draft.at, reason: 'SUPERSEDED' });
  }
  return false;
}

// The recheck before every attempt: whether this message must still be sent to this destination and
// recipient. It runs inside the commit that opens the attempt, so that nothing can change between
// the check and the opening (STATE-12, EVAL-20 to EVAL-22).

/** The reason why a delivery ends without (another) attempt. */
export type SuppressedReason = Exclude<DeliveryReason, 'EXPIRED' | 'REFUSED'>;

/** The checks of a recheck and their result. */
export interface Recheck {
  /** In the order of checking. If there is a reason, the last check failed. */
  readonly checks: readonly DeliveryCheck[];
  /** The reason not to send; undefined when the attempt may be opened. */
  readonly reason: SuppressedReason | undefined;
}

/** Checks everything that could have changed, up to the first failed check. */
export function recheck(
  view: ProjectView,
  delivery: DeliveryContext,
  isPersonActive: IsPersonActive,
): Recheck {
  const checks: DeliveryCheck[] = [];
  for (const { check, reason } of checksOf(view, delivery, isPersonActive)) {
    checks.push(check);
    if (reason !== undefined) return { checks, reason };
  }
  return { checks, reason: undefined };
}

/** A user has silenced this incident, or its rule or VM. */
function whySilent(view: ProjectView, rule: string, vm: string, incident: Incident) {
  if (incident.snoozedUntilMs !== null) return 'SNOOZED';
  return isInMaintenance(view, rule, vm) ? 'MAINTENANCE' : undefined;
}

/** One check; it passes if it has no reason. */
interface Checked {
  readonly check: DeliveryCheck;
  readonly reason?: SuppressedReason | undefined;
}

/** The checks of this delivery, in order. A caller stops at the first that fails. */
function* checksOf(
  view: ProjectView,
  delivery: DeliveryContext,
  isPersonActive: IsPersonActive,
): Generator<Checked, void> {
  const destination = view.instance('destination', delivery.destination);
  if (!destination || destination.final) {
    yield { check: 'DESTINATION_EXISTS', reason: 'DESTINATION_DELETED' };
    return;
  }
  yield { check: 'DESTINATION_EXISTS' };
  const isPaused = destination.value === 'paused';
  yield { check: 'DESTINATION_NOT_PAUSED', reason: isPaused ? 'PAUSED' : undefined };
  if (isMail(destination)) {
    const reason = whyNotTo(view, delivery.recipient, isPersonActive);
    yield { check: 'RECIPIENT_ELIGIBLE', reason };
  }
  switch (delivery.event) {
    case 'FIRING':
    case 'REPEATED':
      return yield* firingChecks(view, delivery);
    case 'RECOVERED':
      yield { check: 'NOT_SUPERSEDED', reason: recheckRecovered(view, delivery) };
  }
}

/**
 * True if the delivery waits for its rule: while a version is pending, no firing of the rule is
 * notified (EVAL-16). An edit of names alone ends no delivery.
 */
export function isHeld(view: ProjectView, { event, rule }: DeliveryContext): boolean {
  if (event !== 'FIRING' && event !== 'REPEATED') return false;
  return view.instance('alertRule', rule)?.value === 'pendingApplication';
}

/**
 * A firing message that was in progress at the recovery has its outcome by now, and may have
 * failed.
 */
function recheckRecovered(view: ProjectView, delivery: DeliveryContext) {
  const repeats = repeatsOf(view, delivery);
  // The number is unknown: the recovery is sent, because the firing may have been sent.
  if (repeats === undefined) return undefined;
  for (const firing of firingDeliveries(view, delivery, repeats)) {
    if (mayHaveArrived(firing)) return undefined;
  }
  return 'SUPERSEDED';
}

/** Number of reminders of the delivery's incident. Its instance may have fired again since. */
function repeatsOf(view: ProjectView, delivery: DeliveryContext): number | undefined {
  const { incident } = alertInstanceOf(view, delivery);
  if (incident?.id === delivery.incident) return incident.repeats;
  const record = view.record('incident', delivery.incident);
  return (record?.body as Partial<IncidentBody> | undefined)?.repeats;
}

function alertInstanceOf(
  view: ProjectView,
  { alertInstance }: DeliveryContext,
): AlertInstanceContext {
  const row = view.instance('alertInstance', alertInstance);
  if (!row) throw new Error(`The delivery has the unknown alert instance ${alertInstance}`);
  return row.context;
}

function isRetired(view: ProjectView, vm: string): boolean {
  const body = view.record('vm', vm)?.body as Partial<VmBody> | undefined;
  return body?.retiredMs !== undefined;
}

/**
 * True if a newer message makes this one redundant: after an outage only the newest reminder is
 * sent, and no firing after a sent reminder.
 */
function isOutdated(view: ProjectView, delivery: DeliveryContext, repeats: number): boolean {
  if (delivery.event === 'REPEATED') return delivery.occurrence < repeats;
  for (const { value, context } of firingDeliveries(view, delivery, repeats)) {
    if (value === 'sent' && context.event === 'REPEATED') return true;
  }
  return false;
}

function* firingChecks(view: ProjectView, delivery: DeliveryContext): Generator<Checked, void> {
  const { incident, vm } = alertInstanceOf(view, delivery);
  if (incident?.id !== delivery.incident || incident.recoveredMs !== null) {
    yield { check: 'INCIDENT_FIRES', reason: 'SUPERSEDED' };
    return;
  }
  yield { check: 'INCIDENT_FIRES' };
  const isOld = isOutdated(view, delivery, incident.repeats);
  yield { check: 'NOT_SUPERSEDED', reason: isOld ? 'SUPERSEDED' : undefined };
  const retireReason = incident.retireReason ?? 'RULE_CHANGED';
  const isRetiredIncident = incident.retiredMs !== null;
  yield { check: 'INCIDENT_NOT_RETIRED', reason: isRetiredIncident ? retireReason : undefined };
  // Instances of a retired VM are retired in a later commit.
  yield { check: 'VM_EXISTS', reason: isRetired(view, vm) ? 'VM_DELETED' : undefined };
  const rule = view.instance('alertRule', delivery.rule);
  if (!rule || rule.final) {
    yield { check: 'RULE_EXISTS', reason: 'RULE_DELETED' };
    return;
  }
  yield { check: 'RULE_EXISTS' };
  const { evaluationRevision, spec } = rule.context;
  const isOther = delivery.evaluationRevision < evaluationRevision;
  const whyOther = spec.enabled ? 'RULE_CHANGED' : 'RULE_PAUSED';
  yield { check: 'RULE_UNCHANGED', reason: isOther ? whyOther : undefined };
  // A destination that was removed from the rule gets no more of its messages.
  const isNamed = spec.destinationNames.some((name) => name.endsWith(`/${delivery.destination}`));
  yield { check: 'DESTINATION_NAMED', reason: isNamed ? undefined : 'RULE_CHANGED' };
  yield { check: 'NOT_SNOOZED', reason: whySilent(view, delivery.rule, vm, incident) };
}

/**
 * The deliveries to this audience about the firing, newest first: reminders, then the firing. Any
 * of them may be missing, because destinations can be added to a rule at any time.
 */
function* firingDeliveries(
  view: ProjectView,
  { incident, destination, recipient }: Audience,
  repeats: number,
): Generator<Instance<'delivery'>> {
  const audience = { incident, destination, recipient };
  for (let occurrence = repeats; occurrence >= 0; occurrence--) {
    const id =
      occurrence === 0
        ? deliveryIdOf({ ...audience, event: 'FIRING', occurrence: 1 })
        : deliveryIdOf({ ...audience, event: 'REPEATED', occurrence });
    yield* deliveriesOf(view, id);
  }
}

/**
 * True while another message about the incident is being sent to the same audience, because
 * messages are sent one after the other. Older reminders are superseded, so they are not read.
 */
export function isAudienceBusy(view: ProjectView, delivery: DeliveryContext, id: string): boolean {
  if (delivery.event === 'TEST') return false;
  if (isGroup(delivery)) {
    const members = liveMembers(view, id, delivery);
    return members.some((member) => isAudienceBusy(view, alone(delivery, member), id));
  }
  const repeats = repeatsOf(view, delivery) ?? 0;
  const others = [
    { event: 'FIRING', occurrence: 1 },
    { event: 'RECOVERED', occurrence: 1 },
    { event: 'REPEATED', occurrence: repeats },
    { event: 'REPEATED', occurrence: repeats - 1 },
  ] as const;
  return others.some(({ event, occurrence }) => {
    if (occurrence < 1) return false;
    const { incident, destination, recipient } = delivery;
    const other = deliveryIdOf({ incident, destination, recipient, event, occurrence });
    const rows = deliveriesOf(view, other);
    return rows.some(({ instance, value }) => instance !== id && value === 'sending');
  });
}

/** True if an attempt was accepted, has an unknown outcome, or is in progress. */
function mayHaveArrived(delivery: Instance<'delivery'>): boolean {
  const { attempts } = delivery.context;
  return attempts.some(
    ({ outcome }) => outcome === 'accepted' || outcome === 'unknown' || outcome === null,
  );
}
