/**
 * Lookup of who was notified of an incident. A delivery's id is a hash of its content, so the rows
 * have the answer, and a repeated notification is the same delivery.
 */
import { createHash } from 'node:crypto';
import type { NotificationEvent } from '../../machines/platform/effects.ts';
import type { Instance, ProjectView } from '../platform/host/host-port.ts';

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
