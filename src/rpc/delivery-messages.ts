/** From a delivery's row to its message. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Instance } from '../../actors/host-port.ts';
import type { DeliveryAttempt, DeliveryContext } from '../../machines/delivery.ts';
import {
  type Delivery,
  type Delivery_AttemptSchema,
  Delivery_Event,
  Delivery_State,
  DeliverySchema,
} from '../gen/svc/monitoring/v1/delivery_pb.ts';
import { optionalSeconds, unixSeconds, withPresent } from './message-fields.ts';
import { nameOf } from './resource-name.ts';

export function deliveryMessage(row: Instance): Delivery {
  const { project, instance, value } = row;
  const context = row.context as unknown as DeliveryContext;
  const state = String(value).toUpperCase() as keyof typeof Delivery_State;
  const message = create(DeliverySchema, {
    name: nameOf(project, 'deliveries', instance),
    incidentName: nameOf(project, 'incidents', context.incident),
    destinationName: nameOf(project, 'destinations', context.destination),
    event: Delivery_Event[context.event],
    state: Delivery_State[state],
    reason: context.reason ?? '',
    attempts: context.attempts.map(attemptMessage),
    createdUnix: unixSeconds(context.createdMs),
  });
  return withPresent(message, { nextAttemptUnix: optionalSeconds(context.nextAttemptMs) });
}

function attemptMessage(attempt: DeliveryAttempt): MessageInitShape<typeof Delivery_AttemptSchema> {
  const { attemptId, startedMs, endedMs, outcome, httpStatus, error } = attempt;
  return {
    attemptId,
    startedUnix: unixSeconds(startedMs),
    outcome: outcome ?? '',
    error: error ?? '',
    ...(endedMs === null ? {} : { durationMs: BigInt(endedMs - startedMs) }),
    ...(httpStatus === null ? {} : { httpStatus }),
  };
}
