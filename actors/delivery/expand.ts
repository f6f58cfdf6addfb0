/**
 * Expands the effects of alert machines into steps and records of the same commit: the incident's
 * record, and one delivery for each destination and recipient to notify. Ids are hashes of their
 * content, so a second expansion is a no-op. A recipient who may not be written to gets a delivery
 * that ends at once: it records the reason.
 */
import type { DeliveryInput, DeliveryReason } from '../../machines/delivery/delivery.ts';
import type { Effect, NotificationEvent } from '../../machines/platform/effects.ts';
import { isMail, recipientsOf, whyNotTo } from '../alerting/eligible.ts';
import { incidentRecord } from '../alerting/incident.ts';
import { AUDIENCE_MAX } from '../alerting/rule-limits.ts';
import type { Draft, EffectExpander, Instance } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
import { type Audience, deliveryIdOf, firingDeliveries, mayHaveArrived } from './recheck.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    delivery: Readonly<Record<string, never>>;
  }
}

/**
 * The host's expander. `applyRule` and `retireInstances` expand to nothing: the rule keeper derives
 * that work from rule rows, in batches.
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
  const { incident, rule, evaluationRevision } = source.context;
  if (!incident) return;
  const isRecovery = event === 'RECOVERED';
  const budget = { left: SUPERSEDED_MAX };
  let notified = 0;
  for (const { destination, recipient } of audienceOf(draft, rule, isRecovery)) {
    const audience = { incident: incident.id, destination: destination.instance, recipient };
    if (isRecovery && !wasNotified(audience, incident.repeats, draft, budget)) continue;
    if (isRecovery && ++notified > AUDIENCE_MAX) break;
    const about = { event, occurrence, alertInstance: source.instance, rule, evaluationRevision };
    startDelivery(draft, deliveryIdOf({ ...audience, event, occurrence }), destination, {
      ...about,
      ...audience,
    });
  }
}

/**
 * The destinations and recipients of a notification. A recovery goes to all who were notified, even
 * if the rule no longer names them: those come last, as there may be more than fit in a commit.
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

export interface TestDelivery {
  readonly destination: string;
  /** One of `recipientsOf(draft, destination)`. */
  readonly recipient: string | null;
  /** Unique id of this test, such as a ULID made for the request. */
  readonly test: string;
}

/**
 * Starts the delivery of a test message and returns its id. A delivery to a recipient who may not be
 * written to ends at once, with the reason. Throws for an unknown destination: callers check first.
 */
export function startTestDelivery(draft: Draft, target: TestDelivery): string {
  const { destination, recipient, test } = target;
  const row = draft.instance('destination', destination);
  if (!row) throw new Error(`A test is for the unknown destination ${destination}`);
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
): void {
  if (draft.instance('delivery', id)) return;
  draft.start('delivery', id, { at: draft.at, project: draft.project, ...input });
  // Deliveries are listed newest first, and their ids, being hashes, have no order.
  const sort = String(draft.at).padStart(15, '0');
  draft.putRecord({ kind: 'delivery', id, body: {}, sort });
  const reason = whyNever(draft, destination, input.recipient);
  if (reason) draft.send('delivery', id, { type: 'suppressed', at: draft.at, reason });
}

/** The reason known when the delivery is created, so that no recheck is needed. */
function whyNever(
  draft: Draft,
  destination: Instance<'destination'>,
  recipient: string | null,
): DeliveryReason | undefined {
  if (destination.final) return 'DESTINATION_DELETED';
  // A lock-out of the person is not in a project's view: the recheck finds it.
  return isMail(destination) ? whyNotTo(draft, recipient, () => true) : undefined;
}

/** Most rows that a recovery ends, and attempts in them: its commit is bounded. */
const SUPERSEDED_MAX = 60;

/**
 * True when this audience was, or may have been, notified of the firing. If not, its deliveries end
 * here as superseded, as far as the budget goes: neither message is sent (EVAL-21). The others end at
 * their recheck, since the incident has recovered.
 */
function wasNotified(
  audience: Audience,
  repeats: number,
  draft: Draft,
  budget: { left: number },
): boolean {
  const deliveries = [...firingDeliveries(draft, audience, repeats)];
  if (deliveries.some(mayHaveArrived)) return true;
  for (const { instance, final, context } of deliveries) {
    const { attempts } = context;
    if (final) continue;
    budget.left -= 1 + attempts.length;
    if (budget.left < 0) break;
    draft.send('delivery', instance, { type: 'suppressed', at: draft.at, reason: 'SUPERSEDED' });
  }
  return false;
}
