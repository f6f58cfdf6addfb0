/** Why nothing is sent to a recipient. */
import type { RecipientContext } from '../../machines/delivery/recipient.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
export type RecipientReason =
  | 'RECIPIENT_REMOVED'
  | 'RECIPIENT_NOT_VERIFIED'
  | 'RECIPIENT_UNSUBSCRIBED'
  | 'RECIPIENT_BOUNCED';

/** States of the recipient's machine in which nothing is sent to it. */
const REASONS: Readonly<Record<string, RecipientReason>> = {
  invited: 'RECIPIENT_NOT_VERIFIED',
  unsubscribed: 'RECIPIENT_UNSUBSCRIBED',
  bounced: 'RECIPIENT_BOUNCED',
  removed: 'RECIPIENT_REMOVED',
};

/** May the person use the service at all? People are of no project: not in a project's view. */
export type IsPersonActive = (person: string) => boolean;

/** Asks the rows of people, as they are at each question. */
export function activePeople(host: Pick<Host, 'view'>): IsPersonActive {
  return (person) => host.view(SYSTEM_PROJECT).instance('person', person)?.value === 'active';
}

/** Why nothing may be sent to the recipient; undefined: it may. `null`: the destination has none. */
export function whyNotTo(
  view: ProjectView,
  id: string | null,
  isPersonActive: IsPersonActive,
): RecipientReason | undefined {
  const recipient = id === null ? undefined : view.instance('recipient', id);
  if (!recipient) return 'RECIPIENT_REMOVED';
  const reason = REASONS[String(recipient.value)];
  if (reason) return reason;
  const context = recipient.context;
  return isOfMember(view, context, isPersonActive) ? undefined : 'RECIPIENT_REMOVED';
}

/** Is the recipient's address that of a member, still, who is not locked out? */
export function isOfMember(
  view: ProjectView,
  { membership, address }: Pick<RecipientContext, 'membership' | 'address'>,
  isPersonActive: IsPersonActive,
): boolean {
  const member = view.instance('membership', membership);
  if (member?.value !== 'active') return false;
  // Somebody's old address may be somebody else's by now.
  const { email, person } = member.context;
  return email.toLowerCase() === address && isPersonActive(person);
}

/** Was the person behind the recipient locked out, or is there none? */
export function isLockedOut(
  view: ProjectView,
  recipient: string,
  isPersonActive: IsPersonActive,
): boolean {
  const context = view.instance('recipient', recipient)?.context;
  const member = context && view.instance('membership', context.membership);
  const person = member?.context?.person;
  return person === undefined || !isPersonActive(person);
}

/**
 * To whom a message to the destination goes, each for itself: its recipients, removed ones not
 * among them, where it is one of mail; else the destination alone (`null`). A mail destination
 * whose recipients are all gone is told alone too, so that what it misses is recorded.
 */
export function recipientsOf(
  view: ProjectView,
  destination: Instance<'destination'>,
): (string | null)[] {
  const { kind } = destination.context;
  if (kind !== 'email') return [null];
  const ids = allInstances(view, 'recipient')
    .filter(({ context }) => context.destination === destination.instance)
    .map(({ instance }) => instance);
  return ids.length > 0 ? ids : [null];
}

/** Does the destination send to people's addresses? */
export function isMail(destination: Instance<'destination'>): boolean {
  return destination.context.kind === 'email';
}
