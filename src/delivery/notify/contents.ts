/**
 * What attempts are made of besides their rows: bodies rendered once and kept sealed, addresses
 * and secrets unsealed when an attempt opens, so that a rotation counts from the next attempt on.
 */
import { createHash } from 'node:crypto';
import type { DeliveryContents } from '../../../actors/delivery/deliverer.ts';
import type { Target } from '../../../actors/delivery/notifier-port.ts';
import {
  type ListedValues,
  type SealedValues,
  urlIdOf,
} from '../../../actors/delivery/sealed-values.ts';
import type { ProjectView } from '../../../actors/platform/host/host-port.ts';
import type { DeliveryContext } from '../../../machines/delivery/delivery.ts';
import type {
  DestinationContext,
  DestinationKind,
} from '../../../machines/delivery/destination.ts';
import type { RecipientContext } from '../../../machines/delivery/recipient.ts';
import type { BodyStore, SecretStore } from '../../../sqlite/platform/secret-store.ts';
import type { Clock } from '../../../streams/platform/clock.ts';

/** What a renderer is told besides rows. */
export interface RenderOptions {
  /** The delivery's id. */
  readonly id: string;
  /** Origin of links, without a trailing slash. */
  readonly publicUrl: string;
  /** When it is rendered, Unix ms. */
  readonly nowMs: number;
}

/** Makes the body of a delivery in the form that its channel's sender takes. */
export type Renderer = (
  view: ProjectView,
  delivery: DeliveryContext,
  options: RenderOptions,
) => Uint8Array;

export interface ContentsDeps {
  readonly sealed: SealedValues;
  readonly bodies: BodyStore;
  readonly clock: Clock;
  /** Origin of links; asked late, because it is known once the server listens. */
  readonly publicUrl: () => string;
  readonly renderers: Readonly<Partial<Record<DestinationKind, Renderer>>>;
  /** Where a recipient ends the subscription with one click (RFC 8058). */
  readonly unsubscribeUrl: (project: string, recipient: string) => string;
}

export function createContents(deps: ContentsDeps): DeliveryContents {
  const { bodies } = deps;
  return {
    body(view, delivery, id) {
      const kept = bodies.get(id);
      const bytes = kept ?? render(deps, view, delivery, id);
      const digest = createHash('sha256').update(bytes).digest('hex');
      return { bytes, digest, isKept: kept !== undefined };
    },
    keep: (rendered) => bodies.putMissing(rendered),
    target: (view, delivery) => targetOf(deps, view, delivery),
    stored: () => bodies.ids(),
    discard: (deliveryIds) => bodies.delete(deliveryIds),
  };
}

function render(deps: ContentsDeps, view: ProjectView, delivery: DeliveryContext, id: string) {
  const { kind } = destinationOf(view, delivery);
  const renderer = deps.renderers[kind];
  if (!renderer) throw new Error(`Nothing renders a message for ${kind}`);
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

/** The previous secret signs until its overlap ends, whenever the timer of that is heard. */
function signing({ secrets, overlapEndsMs }: DestinationContext, nowMs: number) {
  return overlapEndsMs !== null && nowMs >= overlapEndsMs ? secrets.slice(0, 1) : secrets;
}

function recipientOf(
  { unsubscribeUrl }: ContentsDeps,
  view: ProjectView,
  { recipient }: DeliveryContext,
): Target {
  const row = recipient === null ? undefined : view.instance('recipient', recipient);
  if (!row) throw new Error(`A mail is for the unknown recipient ${recipient}`);
  const { address } = row.context as unknown as RecipientContext;
  return { kind: 'email', address, unsubscribeUrl: unsubscribeUrl(row.project, row.instance) };
}

function destinationOf(view: ProjectView, { destination }: DeliveryContext): DestinationContext {
  const row = view.instance('destination', destination);
  if (!row) throw new Error(`A delivery is for the unknown destination ${destination}`);
  return row.context as unknown as DestinationContext;
}

function unsealed({ sealed }: ContentsDeps, id: string): string {
  const value = sealed.get(id);
  if (value === undefined) throw new Error(`What ${id} stands for is not sealed here`);
  return value;
}

/** Sealed text under one purpose, as alerting keeps it. */
export function sealedText(
  store: Pick<SecretStore, 'put' | 'get' | 'delete' | 'ids'>,
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
  };
}
