/**
 * Who was told of an incident: deliveries have ids that follow from what they tell, so that the
 * answer is in their rows, and telling twice is the same delivery.
 */
import { createHash } from 'node:crypto';
import type { NotificationEvent } from '../../machines/platform/effects.ts';
import type { Instance, ProjectView } from '../platform/host/host-port.ts';

/** Who is told of what incident. */
export interface Audience {
  readonly incident: string;
  readonly destination: string;
  /** Id of the mail recipient; null where the destination is a single address of its own. */
  readonly recipient: string | null;
}

export interface Told extends Audience {
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
}: Told): string {
  const text = JSON.stringify([incident, event, occurrence, destination, recipient ?? '']);
  return `dlv_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

/**
 * What tells this audience that the incident fires, newest first: reminders, then the firing.
 * Destinations can be added to a rule at any time, so any of them may be missing.
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

/** An attempt was accepted, has an unknown outcome, or is on the wire now. */
export function mayHaveArrived(delivery: Instance<'delivery'>): boolean {
  const { attempts } = delivery.context;
  return attempts.some(
    ({ outcome }) => outcome === 'accepted' || outcome === 'unknown' || outcome === null,
  );
}
