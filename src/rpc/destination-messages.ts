/** From a destination's row to its message. */
import { create } from '@bufbuild/protobuf';
import type { Instance } from '../../actors/host-port.ts';
import type { DestinationContext } from '../../machines/destination.ts';
import {
  type Destination,
  Destination_State,
  DestinationSchema,
} from '../gen/svc/monitoring/v1/destination_pb.ts';
import { unixSeconds } from './message-fields.ts';
import { nameOf } from './resource-name.ts';

export function destinationMessage(row: Instance): Destination {
  const context = row.context as unknown as DestinationContext;
  return create(DestinationSchema, {
    name: nameOf(row.project, 'destinations', row.instance),
    displayName: context.displayName,
    target: { case: 'webhook', value: {} },
    state: row.value === 'paused' ? Destination_State.PAUSED : Destination_State.ACTIVE,
    pausedReason: context.pausedReason ?? '',
    host: context.host,
    lastFour: context.lastFour,
    createdUnix: unixSeconds(context.createdMs),
    updatedUnix: unixSeconds(context.updatedMs),
  });
}
