/** Destinations as people read them: many as a table, one as facts with its recipients. */
import {
  type Destination,
  Destination_State,
  EmailRecipient_State,
} from '../../gen/svc/monitoring/v1/destination_pb.ts';
import { enumText, facts, localTime, shortName, table } from '../client/output.ts';

export function destinationTable(destinations: readonly Destination[]): string {
  return table(
    ['destination', 'name', 'kind', 'sends to', 'state', 'why'],
    destinations.map((destination) => [
      shortName(destination.name),
      destination.displayName,
      destination.target.case ?? '',
      sendsTo(destination),
      enumText(Destination_State, destination.state),
      destination.pausedReason,
    ]),
    'There are no destinations in this project',
  );
}

/** Host and the end of a URL, or how many recipients get mail. */
function sendsTo({ target, host, lastFour }: Destination): string {
  if (target.case !== 'email') return `${host} …${lastFour}`;
  const { recipients } = target.value;
  const verified = recipients.filter(({ state, isMember }) => {
    return isMember && state === EmailRecipient_State.VERIFIED;
  });
  return `${verified.length} of ${recipients.length} recipients`;
}

export function destinationFacts(destination: Destination): string {
  const { name, displayName, target, state, pausedReason } = destination;
  const rows = facts([
    ['destination', name],
    ['name', displayName],
    ['kind', target.case ?? ''],
    ['sends to', sendsTo(destination)],
    ['state', enumText(Destination_State, state)],
    ['why', pausedReason],
    ['old secret until', localTime(destination.secretOverlapEndsUnix)],
    ['created', localTime(destination.createdUnix)],
  ]);
  if (target.case !== 'email') return rows;
  const recipients = table(
    ['recipient', 'state', 'member', 'confirmed'],
    target.value.recipients.map((recipient) => [
      recipient.address,
      enumText(EmailRecipient_State, recipient.state),
      recipient.isMember ? 'yes' : 'NO MORE',
      localTime(recipient.verifiedUnix),
    ]),
    'There are no recipients',
  );
  return `${rows}\n${recipients}`;
}
