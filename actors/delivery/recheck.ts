/**
 * The recheck before every attempt: is this message still to be sent, to this destination and this
 * recipient? It runs inside the commit that opens the attempt, so that nothing can change between
 * checking and sending (STATE-12, EVAL-20 to EVAL-22).
 */
import type { AlertInstanceContext } from '../../machines/alerting/alert-instance-setup.ts';
import type { DeliveryContext, DeliveryReason } from '../../machines/delivery/delivery.ts';
import { type IsPersonActive, isMail, whyNotTo } from '../alerting/eligible.ts';
import type { IncidentBody } from '../alerting/incident.ts';
import type { ProjectView } from '../platform/host/host-port.ts';
import type { VmBody } from '../vms/vm-body.ts';
import { firingDeliveries, mayHaveArrived } from './notified.ts';

/** Why a delivery ends without (another) attempt. */
export type SuppressedReason = Exclude<DeliveryReason, 'EXPIRED' | 'REFUSED'>;

/** The reason not to send, or undefined when the attempt may be opened. */
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
 * Must it wait for its rule? While a version is to be applied nobody is told of the rule's firings
 * (EVAL-16); an edit of names alone ends none of them.
 */
export function isHeld(view: ProjectView, { event, rule }: DeliveryContext): boolean {
  if (event !== 'FIRING' && event !== 'REPEATED') return false;
  return view.instance('alertRule', rule)?.value === 'pendingApplication';
}

/** What was on the wire at the recovery has an outcome since: perhaps it did not arrive. */
function recheckRecovered(view: ProjectView, delivery: DeliveryContext) {
  const repeats = repeatsOf(view, delivery);
  // Not known any more: whoever was perhaps told hears of the end.
  if (repeats === undefined) return undefined;
  for (const told of firingDeliveries(view, delivery, repeats)) {
    if (mayHaveArrived(told)) return undefined;
  }
  return 'SUPERSEDED';
}

/** Reminders of the delivery's incident: its instance may have fired again since. */
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
 * After an outage the newest reminder is enough, the others would say the same; and a firing that
 * a reminder has told of does not come after it.
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
  // Its instances are retired right after it, not with it.
  if (isRetired(view, vm)) return 'VM_DELETED';
  const rule = view.instance('alertRule', delivery.rule);
  if (!rule || rule.final) return 'RULE_DELETED';
  const { evaluationRevision, spec } = rule.context;
  if (delivery.evaluationRevision < evaluationRevision) {
    return spec.enabled ? 'RULE_CHANGED' : 'RULE_PAUSED';
  }
  // Whoever takes a destination off a rule wants its messages to end there.
  const isNamed = spec.destinationNames.some((name) => name.endsWith(`/${delivery.destination}`));
  if (!isNamed) return 'RULE_CHANGED';
  return incident.snoozedUntilMs !== null ? 'SNOOZED' : undefined;
}
