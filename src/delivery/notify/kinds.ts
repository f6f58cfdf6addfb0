/** The registered kinds of destination, by name. The compiler compares them with those of the API. */
import type { SendingLimits } from '../../../actors/delivery/notifier-port.ts';
import type { DestinationKind } from '../../../machines/delivery/destination.ts';
import type { Destination } from '../../gen/svc/monitoring/v1/destination_pb.ts';
import {
  HTTP_LIMITS,
  type NotificationKind,
  type Renderer,
  type UrlGuard,
} from './message/notification-kind.ts';
import * as registered from './registered-kinds.ts';

/** A kind that the API can create: a case of the `target` of `Destination`. */
export type KindName = NonNullable<Destination['target']['case']>;

export const notificationKinds: Readonly<Record<KindName, NotificationKind>> = registered;

/** The renderer of each kind. */
export const renderers = Object.fromEntries(
  Object.entries(notificationKinds).map(([name, { render }]) => [name, render]),
) as Readonly<Record<KindName, Renderer>>;

/** False for a kind whose folder was removed while destinations of it still exist. */
export function isRegistered(name: DestinationKind): name is KindName {
  return Object.hasOwn(notificationKinds, name);
}

export function limitsOf(name: DestinationKind): SendingLimits {
  return isRegistered(name) ? notificationKinds[name].limits : HTTP_LIMITS;
}

/** The reason why a destination of the kind must not have this URL; undefined if it may. */
export function refuseUrl(name: DestinationKind, url: string, guard: UrlGuard): string | undefined {
  if (!isRegistered(name)) return `No kind of destination is named ${name}`;
  return notificationKinds[name].refuseUrl?.(url, guard);
}
