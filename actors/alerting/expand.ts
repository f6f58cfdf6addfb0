/**
 * Expands what alert machines cause into steps and records of the same commit: an incident's
 * record, and one delivery for each destination that is to be told. Ids are hashes of what they
 * stand for, so that doing it twice is a no-op.
 */
import type { AlertInstanceContext } from '../../machines/alert-instance-setup.ts';
import type { AlertRuleContext } from '../../machines/alert-rule.ts';
import type { Effect, NotificationEvent } from '../../machines/effects.ts';
import type { Draft, EffectExpander, Instance } from '../host-port.ts';
import { incidentRecord } from './incident.ts';
import { allInstances } from './rule-markers.ts';
import { deliveryIdOf, firingDeliveries, mayHaveArrived, type Told } from './told.ts';

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

function notify(
  event: NotificationEvent,
  occurrence: number,
  context: AlertInstanceContext,
  source: Instance,
  draft: Draft,
): void {
  const { incident } = context;
  if (!incident) return;
  const isRecovery = event === 'RECOVERED';
  const destinations = isRecovery ? everyDestination(draft) : namedByRule(draft, context.rule);
  for (const destination of destinations) {
    const told = { incident: incident.id, destination };
    if (isRecovery && !wasTold(told, incident.repeats, draft)) continue;
    startDelivery({ ...told, event, occurrence }, context, source, draft);
  }
}

function namedByRule(draft: Draft, rule: string): string[] {
  const row = draft.instance('alertRule', rule);
  if (!row) return [];
  const { spec } = row.context as unknown as AlertRuleContext;
  return spec.destinationNames.map((name) => name.slice(name.lastIndexOf('/') + 1));
}

/** A recovery goes to those who were told, also where the rule no longer names them. */
function everyDestination(draft: Draft): string[] {
  return allInstances(draft, 'destination').map(({ instance }) => instance);
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
  told: Pick<Told, 'incident' | 'destination'>,
  repeats: number,
  draft: Draft,
): boolean {
  for (const delivery of firingDeliveries(draft, told, repeats)) {
    // Older ones that wait still end at their recheck: the incident has recovered.
    if (mayHaveArrived(delivery)) return true;
    if (delivery.final) continue;
    const superseded = { type: 'suppressed', at: draft.at, reason: 'SUPERSEDED' };
    draft.send('delivery', delivery.instance, superseded);
  }
  return false;
}
