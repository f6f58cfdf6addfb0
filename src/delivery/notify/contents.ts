/**
 * The contents of attempts. Bodies are rendered once and stored sealed. URLs and secrets are unsealed
 * when an attempt opens, so that a rotation applies from the next attempt on.
 */
import { createHash } from 'node:crypto';
import type { DeliveryContents } from '../../../actors/delivery/attempt.ts';
import type { Target } from '../../../actors/delivery/notifier-port.ts';
import {
  type ListedValues,
  type SealedValues,
  urlIdOf,
} from '../../../actors/delivery/sealed-values.ts';
import type { ProjectView } from '../../../actors/platform/host/host-port.ts';
import type { DeliveryContext } from '../../../machines/delivery/delivery.ts';
import type { DestinationContext } from '../../../machines/delivery/destination.ts';
import type { BodyStore, SecretStore } from '../../../sqlite/platform/secrets/secret-store.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Renderer } from './message/notification-kind.ts';

export interface ContentsDeps {
  readonly sealed: SealedValues;
  readonly bodies: BodyStore;
  readonly clock: Clock;
  /** Origin of links. Called late, because it is known only when the server listens. */
  readonly publicUrl: () => string;
  readonly renderers: Readonly<Record<string, Renderer | undefined>>;
  /** Link by which a recipient unsubscribes with one click (RFC 8058). */
  readonly unsubscribeUrl: (project: string, recipient: string) => string;
}

export function createContents(deps: ContentsDeps): DeliveryContents {
  const { bodies } = deps;
  return {
    async body(view, delivery, id) {
      // The body of an earlier attempt may still be on its way from the member that rendered it.
      if (delivery.bodyDigest !== null && bodies.get(id) === undefined) {
        await deps.sealed.caughtUp();
      }
      const kept = bodies.get(id);
      const bytes = kept ?? render(deps, view, delivery, id);
      const digest = createHash('sha256').update(bytes).digest('hex');
      return { bytes, digest, isKept: kept !== undefined };
    },
    keep: (rendered) => bodies.putMissing(rendered),
    async target(view, delivery) {
      try {
        return targetOf(deps, view, delivery);
      } catch (error) {
        if (!(error instanceof NotSealed)) throw error;
        await deps.sealed.caughtUp();
        return targetOf(deps, view, delivery);
      }
    },
    stored: () => bodies.ids(),
    discard: (deliveryIds) => bodies.delete(deliveryIds),
  };
}

function render(deps: ContentsDeps, view: ProjectView, delivery: DeliveryContext, id: string) {
  const { kind } = destinationOf(view, delivery);
  const renderer = deps.renderers[kind];
  if (!renderer) throw new Error(`No renderer is registered for ${kind}`);
  const nowMs = deps.clock.now();
  return renderer(view, delivery, { id, publicUrl: deps.publicUrl(), nowMs });
}

function targetOf(deps: ContentsDeps, view: ProjectView, delivery: DeliveryContext): Target {
  const destination = destinationOf(view, delivery);
  const { kind } = destination;
  if (kind === 'email') return recipientOf(deps, view, delivery);
  const url = unsealed(deps, urlIdOf(delivery.destination, destination));
  if (kind !== 'webhook') return { kind, url };
  const secrets = signing(destination, deps.clock.now()).map(({ id }) => unsealed(deps, id));
  return { kind, url, secrets };
}

/** The previous secret signs until its overlap ends, even if the timer for that is late. */
function signing({ secrets, overlapEndsMs }: DestinationContext, nowMs: number) {
  return overlapEndsMs !== null && nowMs >= overlapEndsMs ? secrets.slice(0, 1) : secrets;
}

function recipientOf(
  { unsubscribeUrl }: ContentsDeps,
  view: ProjectView,
  { recipient }: DeliveryContext,
): Target {
  const row = recipient === null ? undefined : view.instance('recipient', recipient);
  if (!row) throw new Error(`A mail has the unknown recipient ${recipient}`);
  const { address } = row.context;
  return { kind: 'email', address, unsubscribeUrl: unsubscribeUrl(row.project, row.instance) };
}

function destinationOf(view: ProjectView, { destination }: DeliveryContext): DestinationContext {
  const row = view.instance('destination', destination);
  if (!row) throw new Error(`A delivery has the unknown destination ${destination}`);
  return row.context;
}

class NotSealed extends Error {}

function unsealed({ sealed }: ContentsDeps, id: string): string {
  const value = sealed.get(id);
  if (value === undefined) throw new NotSealed(`The sealed value ${id} does not exist`);
  return value;
}

/** The sealed texts of destinations in the secret store. */
export function sealedText(
  store: Pick<SecretStore, 'put' | 'get' | 'delete' | 'ids' | 'caughtUp'>,
): ListedValues {
  const purpose = 'destination';
  return {
    put: (id, value) => store.put(id, purpose, Buffer.from(value, 'utf8')),
    get: (id) => {
      const value = store.get(id, purpose);
      return value && Buffer.from(value).toString('utf8');
    },
    delete: (id) => store.delete(id, purpose),
    ids: () => store.ids(purpose),
    caughtUp: () => store.caughtUp(),
  };
}
