/**
 * Expands what alert machines cause into steps and records of the same commit: an incident's
 * record, and one delivery for each destination, and each recipient of it, that is to be told. Ids
 * are hashes of what they stand for, so that doing it twice is a no-op. Whoever may not be written
 * to gets a delivery too, which ends at once: why nobody was told is recorded.
 */
import type { DeliveryInput, DeliveryReason } from '../../machines/delivery/delivery.ts';
import type { Effect, NotificationEvent } from '../../machines/platform/effects.ts';
import { isMail, recipientsOf, whyNotTo } from '../alerting/eligible.ts';
import { incidentRecord } from '../alerting/incident.ts';
import { AUDIENCE_MAX } from '../alerting/rule-limits.ts';
import type { Draft, EffectExpander, Instance } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
import { type Audience, deliveryIdOf, firingDeliveries, mayHaveArrived } from './notified.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    delivery: Readonly<Record<string, never>>;
  }
}

/**
 * The host's expander. `applyRule` and `retireInstances` expand to nothing here: both are work
 * that the evaluator derives from rule rows, in batches.
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
  const room = { left: SUPERSEDED_MAX };
  let told = 0;
  for (const { destination, recipient } of audienceOf(draft, rule, isRecovery)) {
    const audience = { incident: incident.id, destination: destination.instance, recipient };
    if (isRecovery && !wasTold(audience, incident.repeats, draft, room)) continue;
    if (isRecovery && ++told > AUDIENCE_MAX) break;
    const about = { event, occurrence, alertInstance: source.instance, rule, evaluationRevision };
    startDelivery(draft, deliveryIdOf({ ...audience, event, occurrence }), destination, {
      ...about,
      ...audience,
    });
  }
}

/**
 * A recovery goes to those who were told, also where the rule no longer names them: they come last,
 * since there may be more of them than fit a commit.
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
  /** Names this test among all, such as a ULID made for the request. */
  readonly test: string;
}

/**
 * Starts the delivery of a test message; its id. One to a recipient who may not be written to ends
 * at once, with the reason. Throws when there is no such destination: the caller has looked.
 */
export function startTestDelivery(draft: Draft, told: TestDelivery): string {
  const { destination, recipient, test } = told;
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
  // The list of deliveries is read newest first, which ids, being hashes, do not tell.
  const sort = String(draft.at).padStart(15, '0');
  draft.putRecord({ kind: 'delivery', id, body: {}, sort });
  const reason = whyNever(draft, destination, input.recipient);
  if (reason) draft.send('delivery', id, { type: 'suppressed', at: draft.at, reason });
}

/** What no recheck need find out: it is known when it would be queued. */
function whyNever(
  draft: Draft,
  destination: Instance<'destination'>,
  recipient: string | null,
): DeliveryReason | undefined {
  if (destination.final) return 'DESTINATION_DELETED';
  // Whether the person is locked out is in no view of a project: the recheck looks.
  return isMail(destination) ? whyNotTo(draft, recipient, () => true) : undefined;
}

/** Rows that a recovery ends, and attempts in them: what they cost of its commit is bounded. */
const SUPERSEDED_MAX = 60;

/**
 * Was this audience told of the firing, or may it have been? If not, its deliveries end here as
 * superseded, while there is room: neither message is sent (EVAL-21). Any other that waits
 * ends at its recheck, since the incident has recovered.
 */
function wasTold(
  audience: Audience,
  repeats: number,
  draft: Draft,
  room: { left: number },
): boolean {
  const deliveries = [...firingDeliveries(draft, audience, repeats)];
  if (deliveries.some(mayHaveArrived)) return true;
  for (const { instance, final, context } of deliveries) {
    const { attempts } = context;
    if (final) continue;
    room.left -= 1 + attempts.length;
    if (room.left < 0) break;
    draft.send('delivery', instance, { type: 'suppressed', at: draft.at, reason: 'SUPERSEDED' });
  }
  return false;
}
