/** From a destination's row, and those of its recipients, to its message: no URL, no secret. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { activePeople, isOfMember } from '../../../actors/alerting/eligible.ts';
import { destinationOf } from '../../../actors/delivery/destination-rows.ts';
import { recipientOf, recipientRows } from '../../../actors/delivery/recipients.ts';
import type { Host, Instance } from '../../../actors/platform/host/host-port.ts';
import {
  type Destination,
  Destination_State,
  DestinationSchema,
  type EmailRecipient,
  EmailRecipient_State,
  EmailRecipientSchema,
} from '../../gen/svc/monitoring/v1/destination_pb.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf } from '../../platform/api/resource-name.ts';

/** For those who may write: recipients' addresses are in it. */
export function destinationMessage(host: Pick<Host, 'view'>, row: Instance): Destination {
  const context = destinationOf(row);
  const { overlapEndsMs } = context;
  return create(DestinationSchema, {
    name: nameOf(row.project, 'destinations', row.instance),
    displayName: context.displayName,
    target: targetOf(host, row),
    state: row.value === 'paused' ? Destination_State.PAUSED : Destination_State.ACTIVE,
    pausedReason: context.pausedReason ?? '',
    host: context.host,
    lastFour: context.lastFour,
    createdUnix: unixSeconds(context.createdMs),
    updatedUnix: unixSeconds(context.updatedMs),
    ...(overlapEndsMs !== null && { secretOverlapEndsUnix: unixSeconds(overlapEndsMs) }),
  });
}

type Target = NonNullable<MessageInitShape<typeof DestinationSchema>['target']>;

function targetOf(host: Pick<Host, 'view'>, row: Instance): Target {
  const { kind } = destinationOf(row);
  if (kind !== 'email') return { case: kind, value: {} };
  const rows = recipientRows(host.view(row.project), row.instance);
  const recipients = rows.map((one) => recipientMessage(host, one));
  return { case: 'email', value: { recipients } };
}

const STATES: Readonly<Record<string, EmailRecipient_State>> = {
  invited: EmailRecipient_State.INVITED,
  verified: EmailRecipient_State.VERIFIED,
  unsubscribed: EmailRecipient_State.UNSUBSCRIBED,
  bounced: EmailRecipient_State.BOUNCED,
};

function recipientMessage(host: Pick<Host, 'view'>, row: Instance): EmailRecipient {
  const context = recipientOf(row);
  const { address, verifiedMs } = context;
  return create(EmailRecipientSchema, {
    address,
    state: STATES[String(row.value)] ?? EmailRecipient_State.REMOVED,
    isMember: isOfMember(host.view(row.project), context, activePeople(host)),
    ...(verifiedMs !== null && { verifiedUnix: unixSeconds(verifiedMs) }),
  });
}
