/**
 * What attempts are made of besides their rows: bodies rendered once and kept sealed, addresses
 * and secrets unsealed when an attempt opens, so that a rotation counts from the next attempt on.
 */
import { createHash } from 'node:crypto';
import { type SealedValues, urlIdOf } from '../../../actors/alerting/alerting.ts';
import type { DeliveryContents } from '../../../actors/delivery/deliverer.ts';
import type { DestinationContext } from '../../../machines/destination.ts';
import type { BodyStore, SecretStore } from '../../../sqlite/secret-store.ts';
import type { Clock } from '../../../streams/clock.ts';
import { renderWebhookBody } from './payload.ts';

export interface ContentsDeps {
  readonly sealed: SealedValues;
  readonly bodies: BodyStore;
  readonly clock: Clock;
  /** Origin of links; asked late, because it is known once the server listens. */
  readonly publicUrl: () => string;
}

export function webhookContents({
  sealed,
  bodies,
  clock,
  publicUrl,
}: ContentsDeps): DeliveryContents {
  return {
    body(view, delivery, deliveryId) {
      let bytes = bodies.get(deliveryId);
      if (!bytes) {
        bytes = renderWebhookBody(view, delivery, { publicUrl: publicUrl(), nowMs: clock.now() });
        bodies.putMissing([{ deliveryId, body: bytes }]);
      }
      return { bytes, digest: createHash('sha256').update(bytes).digest('hex') };
    },
    target(view, destination) {
      const row = view.instance('destination', destination);
      const url = sealed.get(urlIdOf(destination));
      const { secrets } = (row?.context ?? { secrets: [] }) as unknown as DestinationContext;
      const keys = secrets.map(({ id }) => sealed.get(id));
      if (url === undefined || keys.length === 0 || keys.includes(undefined)) {
        throw new Error(`Address or secret of the destination ${destination} is not sealed here`);
      }
      return { url, secrets: keys as string[] };
    },
    stored: () => bodies.ids(),
    discard: (deliveryIds) => bodies.delete(deliveryIds),
  };
}

/** Sealed text under one purpose, as alerting keeps it. */
export function sealedText(store: Pick<SecretStore, 'put' | 'get' | 'delete'>): SealedValues {
  const purpose = 'destination';
  return {
    put: (id, value) => store.put(id, purpose, Buffer.from(value, 'utf8')),
    get: (id) => {
      const value = store.get(id, purpose);
      return value && Buffer.from(value).toString('utf8');
    },
    delete: (id) => store.delete(id, purpose),
  };
}
