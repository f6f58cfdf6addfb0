/**
 * The recheck before every attempt: is this message still to be sent, to this destination? It runs
 * inside the commit that opens the attempt, so that nothing can change between checking and
 * sending (spec §3; evaluation.md 20 to 22).
 */
import type { AlertInstanceContext } from '../../machines/alert-instance-setup.ts';
import type { AlertRuleContext } from '../../machines/alert-rule.ts';
import type { DeliveryContext } from '../../machines/delivery.ts';
import type { ProjectView } from '../host-port.ts';

/** Why a delivery ends without (another) attempt. */
export type SuppressedReason =
  | 'SNOOZED'
  | 'SUPERSEDED'
  | 'PAUSED'
  | 'DESTINATION_DELETED'
  | 'RULE_CHANGED'
  | 'RULE_PAUSED'
  | 'RULE_DELETED'
  | 'VM_DELETED';

/** The reason not to send, or undefined when the attempt may be opened. */
export function recheck(
  view: ProjectView,
  delivery: DeliveryContext,
): SuppressedReason | undefined {
  const destination = view.instance('destination', delivery.destination);
  if (!destination || destination.final) return 'DESTINATION_DELETED';
  if (destination.value === 'paused') return 'PAUSED';
  const isFiringMessage = delivery.event === 'FIRING' || delivery.event === 'REPEATED';
  return isFiringMessage ? recheckFiring(view, delivery) : undefined;
}

function recheckFiring(view: ProjectView, delivery: DeliveryContext): SuppressedReason | undefined {
  const row = view.instance('alertInstance', delivery.alertInstance);
  if (!row) throw new Error(`Delivery for the unknown alert instance ${delivery.alertInstance}`);
  const { incident } = row.context as unknown as AlertInstanceContext;
  if (incident?.id !== delivery.incident || incident.recoveredMs !== null) return 'SUPERSEDED';
  if (incident.retiredMs !== null) return incident.retireReason ?? 'RULE_CHANGED';
  const rule = view.instance('alertRule', delivery.rule);
  if (!rule || rule.final) return 'RULE_DELETED';
  const { retiredThroughRevision } = rule.context as unknown as AlertRuleContext;
  if (delivery.evaluationRevision <= retiredThroughRevision) return 'RULE_CHANGED';
  return incident.snoozedUntilMs !== null ? 'SNOOZED' : undefined;
}
