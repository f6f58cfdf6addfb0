/** From a delivery's row to its message. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Instance, ProjectView } from '../../../actors/platform/host/host-port.ts';
import type { DeliveryAttempt, DeliveryContext } from '../../../machines/delivery/delivery.ts';
import type { RecipientContext } from '../../../machines/delivery/recipient.ts';
import {
  type Delivery,
  type Delivery_AttemptSchema,
  Delivery_Event,
  Delivery_State,
  DeliverySchema,
} from '../../gen/svc/monitoring/v1/delivery_pb.ts';
import { optionalSeconds, unixSeconds, withPresent } from '../../platform/api/message-fields.ts';
import { nameOf } from '../../platform/api/resource-name.ts';

/** What is shown to those alone who may change where people are told. */
export interface Confidential {
  /** Address of the mail's recipient. */
  readonly recipient?: string;
  /** Excerpts of answers, by attempt id. */
  readonly excerpts?: ReadonlyMap<string, string>;
}

export function deliveryMessage(row: Instance, confidential: Confidential = {}): Delivery {
  const { project, instance, value } = row;
  const context = row.context as unknown as DeliveryContext;
  const state = String(value).toUpperCase() as keyof typeof Delivery_State;
  const message = create(DeliverySchema, {
    name: nameOf(project, 'deliveries', instance),
    incidentName: context.incident && nameOf(project, 'incidents', context.incident),
    destinationName: nameOf(project, 'destinations', context.destination),
    event: Delivery_Event[context.event],
    state: Delivery_State[state],
    reason: context.reason ?? '',
    attempts: context.attempts.map((attempt) => attemptMessage(attempt, confidential)),
    createdUnix: unixSeconds(context.createdMs),
    recipient: confidential.recipient ?? '',
  });
  return withPresent(message, { nextAttemptUnix: optionalSeconds(context.nextAttemptMs) });
}

/** Address of the delivery's recipient of mail; '' where the destination has none. */
export function recipientAddress(view: ProjectView, { context }: Instance): string {
  const { recipient } = context as unknown as DeliveryContext;
  const row = recipient === null ? undefined : view.instance('recipient', recipient);
  return row ? (row.context as unknown as RecipientContext).address : '';
}

function attemptMessage(
  attempt: DeliveryAttempt,
  { excerpts }: Confidential,
): MessageInitShape<typeof Delivery_AttemptSchema> {
  const { attemptId, startedMs, endedMs, outcome, httpStatus, error } = attempt;
  return {
    attemptId,
    startedUnix: unixSeconds(startedMs),
    outcome: outcome ?? '',
    error: error ?? '',
    answerExcerpt: excerpts?.get(attemptId) ?? '',
    ...(endedMs === null ? {} : { durationMs: BigInt(endedMs - startedMs) }),
    ...(httpStatus === null ? {} : { httpStatus }),
  };
}
