/**
 * Expands what alert machines cause into steps and records of the same commit: an incident's
 * record, and one delivery for each destination that is to be told. Ids are hashes of what they
 * stand for, so that doing it twice is a no-op.
 */
import { createHash } from 'node:crypto';
import type { AlertInstanceContext } from '../../machines/alert-instance-setup.ts';
import type { AlertRuleContext } from '../../machines/alert-rule.ts';
import type { DeliveryContext } from '../../machines/delivery.ts';
import type { Effect, NotificationEvent } from '../../machines/effects.ts';
import type { Draft, EffectExpander, Instance } from '../host-port.ts';
import { incidentRecord } from './incident.ts';

/**
 * The host's expander. `applyRule` and `retireInstances` expand to nothing here: both are work
 * that the evaluator derives from rule rows, in batches.
 */
export const expandAlerting: EffectExpander = (effect: Effect, source: Instance, draft: Draft) => {
  if (source.machine !== 'alertInstance') return;
  const context = source.context as unknown as AlertInstanceContext;
  if (effect.type === 'recordIncident') draft.putRecord(incidentRecord(context, draft));
  if (effect.type === 'notify') notify(effect.event, effect.occurrence, context, source, draft);
};

interface Told {
  readonly event: NotificationEvent;
  readonly occurrence: number;
  readonly incident: string;
  readonly destination: string;
}

/** Delivery id: the same notification to the same destination is the same delivery. */
export function deliveryIdOf({ event, occurrence, incident, destination }: Told): string {
  const text = JSON.stringify([incident, event, occurrence, destination, '']);
  return `dlv_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

function notify(
  event: NotificationEvent,
  occurrence: number,
  context: AlertInstanceContext,
  source: Instance,
  draft: Draft,
): void {
  const incident = context.incident;
  const rule = draft.instance('alertRule', context.rule);
  if (!incident || !rule) return;
  const { spec } = rule.context as unknown as AlertRuleContext;
  for (const name of spec.destinationNames) {
    const destination = name.slice(name.lastIndexOf('/') + 1);
    const told = { incident: incident.id, destination };
    if (event === 'RECOVERED' && !wasTold(told, incident.repeats, draft)) continue;
    startDelivery({ ...told, event, occurrence }, context, source, draft);
  }
}

function startDelivery(told: Told, context: AlertInstanceContext, source: Instance, draft: Draft) {
  const destination = draft.instance('destination', told.destination);
  const id = deliveryIdOf(told);
  if (!destination || destination.final || draft.instance('delivery', id)) return;
  draft.start('delivery', id, {
    at: draft.at,
    project: draft.project,
    ...told,
    alertInstance: source.instance,
    rule: context.rule,
    evaluationRevision: context.evaluationRevision,
    recipient: null,
  });
  // The list of deliveries is read newest first, which ids, being hashes, do not tell.
  const sort = String(draft.at).padStart(15, '0');
  draft.putRecord({ kind: 'delivery', id, body: {}, sort });
}

/**
 * Was this destination told of the firing, or may it have been? Deliveries that nobody can have
 * seen end here as superseded: neither message is sent (evaluation.md 21).
 */
function wasTold(
  { incident, destination }: Pick<Told, 'incident' | 'destination'>,
  repeats: number,
  draft: Draft,
): boolean {
  let told = false;
  for (let occurrence = 1; occurrence <= repeats + 1; occurrence++) {
    const event: NotificationEvent = occurrence === 1 ? 'FIRING' : 'REPEATED';
    const number = occurrence === 1 ? 1 : occurrence - 1;
    const id = deliveryIdOf({ event, occurrence: number, incident, destination });
    const delivery = draft.instance('delivery', id);
    if (!delivery) continue;
    if (mayHaveArrived(delivery)) told = true;
    else if (!delivery.final) {
      draft.send('delivery', id, { type: 'suppressed', at: draft.at, reason: 'SUPERSEDED' });
    }
  }
  return told;
}

/** An attempt was accepted, has an unknown outcome, or is on the wire now. */
function mayHaveArrived(delivery: Instance): boolean {
  const { attempts } = delivery.context as unknown as DeliveryContext;
  return attempts.some(
    ({ outcome }) => outcome === 'accepted' || outcome === 'unknown' || outcome === null,
  );
}
