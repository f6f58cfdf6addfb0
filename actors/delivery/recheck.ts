/**
 * The recheck before every attempt: whether this message must still be sent to this destination and
 * recipient. It runs inside the commit that opens the attempt, so that nothing can
 * change between the check and the opening (STATE-12, EVAL-20 to EVAL-22).
 */

import { createHash } from 'node:crypto';
import type { AlertInstanceContext } from '../../machines/alerting/alert-instance-setup.ts';
import type { DeliveryContext, DeliveryReason } from '../../machines/delivery/delivery.ts';
import type { NotificationEvent } from '../../machines/platform/effects.ts';
import { type IsPersonActive, isMail, whyNotTo } from '../alerting/eligible.ts';
import type { IncidentBody } from '../alerting/incident.ts';
import type { Instance, ProjectView } from '../platform/host/host-port.ts';
import type { VmBody } from '../vms/vm-body.ts';

/** Why a delivery ends without (another) attempt. */
export type SuppressedReason = Exclude<DeliveryReason, 'EXPIRED' | 'REFUSED'>;

/** The reason not to send; undefined when the attempt may be opened. */
export function recheck(
  view: ProjectView,
  delivery: DeliveryContext,
  isPersonActive: IsPersonActive,
): SuppressedReason | undefined {
  const destination = view.instance('destination', delivery.destination);
  if (!destination || destination.final) return 'DESTINATION_DELETED';
  if (destination.value === 'paused') return 'PAUSED';
  const reason = isMail(destination) && whyNotTo(view, delivery.recipient, isPersonActive);
  if (reason) return reason;
  switch (delivery.event) {
    case 'FIRING':
    case 'REPEATED':
      return recheckFiring(view, delivery);
    case 'RECOVERED':
      return recheckRecovered(view, delivery);
    case 'TEST':
      return undefined;
  }
}

/**
 * True when the delivery waits for its rule: while a version is pending, no firing of the rule is
 * notified (EVAL-16). An edit of names alone ends no delivery.
 */
export function isHeld(view: ProjectView, { event, rule }: DeliveryContext): boolean {
  if (event !== 'FIRING' && event !== 'REPEATED') return false;
  return view.instance('alertRule', rule)?.value === 'pendingApplication';
}

/** A firing under way at the recovery has its outcome now: it may not have arrived. */
function recheckRecovered(view: ProjectView, delivery: DeliveryContext) {
  const repeats = repeatsOf(view, delivery);
  // No longer known: the recovery is sent, as the firing may have been.
  if (repeats === undefined) return undefined;
  for (const firing of firingDeliveries(view, delivery, repeats)) {
    if (mayHaveArrived(firing)) return undefined;
  }
  return 'SUPERSEDED';
}

/** Number of reminders of the delivery's incident; its instance may have fired again since. */
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
  if (!row) throw new Error(`Delivery for the unknown alert instance ${alertInstance}`);
  return row.context;
}

function isRetired(view: ProjectView, vm: string): boolean {
  const body = view.record('vm', vm)?.body as Partial<VmBody> | undefined;
  return body?.retiredMs !== undefined;
}

/**
 * True when a newer message makes this one redundant: after an outage only the newest reminder is
 * sent, and no firing after a sent reminder.
 */
function isOutdated(view: ProjectView, delivery: DeliveryContext, repeats: number): boolean {
  if (delivery.event === 'REPEATED') return delivery.occurrence < repeats;
  for (const { value, context } of firingDeliveries(view, delivery, repeats)) {
    if (value === 'sent' && context.event === 'REPEATED') return true;
  }
  return false;
}

function recheckFiring(view: ProjectView, delivery: DeliveryContext): SuppressedReason | undefined {
  const { incident, vm } = alertInstanceOf(view, delivery);
  if (incident?.id !== delivery.incident || incident.recoveredMs !== null) return 'SUPERSEDED';
  if (isOutdated(view, delivery, incident.repeats)) return 'SUPERSEDED';
  if (incident.retiredMs !== null) return incident.retireReason ?? 'RULE_CHANGED';
  // Instances of a retired VM are retired in a later commit.
  if (isRetired(view, vm)) return 'VM_DELETED';
  const rule = view.instance('alertRule', delivery.rule);
  if (!rule || rule.final) return 'RULE_DELETED';
  const { evaluationRevision, spec } = rule.context;
  if (delivery.evaluationRevision < evaluationRevision) {
    return spec.enabled ? 'RULE_CHANGED' : 'RULE_PAUSED';
  }
  // A destination removed from the rule gets no more messages.
  const isNamed = spec.destinationNames.some((name) => name.endsWith(`/${delivery.destination}`));
  if (!isNamed) return 'RULE_CHANGED';
  return incident.snoozedUntilMs !== null ? 'SNOOZED' : undefined;
}

/** One recipient of an incident's notifications. */
export interface Audience {
  readonly incident: string;
  readonly destination: string;
  /** Id of the mail recipient; null when the destination has no recipients. */
  readonly recipient: string | null;
}

export interface Notification extends Audience {
  readonly event: NotificationEvent;
  readonly occurrence: number;
}

/** Delivery id: the same notification to the same recipient is the same delivery. */
export function deliveryIdOf({
  event,
  occurrence,
  incident,
  destination,
  recipient,
}: Notification): string {
  const text = JSON.stringify([incident, event, occurrence, destination, recipient ?? '']);
  return `dlv_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

/**
 * The deliveries to this audience about the firing, newest first: reminders, then the firing. Any of
 * them may be missing, because destinations can be added to a rule at any time.
 */
export function* firingDeliveries(
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
    const delivery = view.instance('delivery', id);
    if (delivery) yield delivery;
  }
}

/** True when an attempt was accepted, has an unknown outcome, or is under way. */
export function mayHaveArrived(delivery: Instance<'delivery'>): boolean {
  const { attempts } = delivery.context;
  return attempts.some(
    ({ outcome }) => outcome === 'accepted' || outcome === 'unknown' || outcome === null,
  );
}
