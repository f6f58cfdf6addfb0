/**
 * Whether a recipient of mail may be written to: the holder confirmed the address, which is and
 * remains that of a member of the project (spec, section 3; evaluation.md 22).
 */
import type { DestinationContext } from '../../machines/destination.ts';
import type { MembershipContext } from '../../machines/membership.ts';
import type { RecipientContext } from '../../machines/recipient.ts';
import type { Instance, ProjectView } from '../host-port.ts';
import { allInstances } from './rule-markers.ts';

/** Why nothing is sent to a recipient. */
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

/** Why nothing may be sent to the recipient; undefined: it may. `null`: the destination has none. */
export function whyNotTo(view: ProjectView, id: string | null): RecipientReason | undefined {
  const recipient = id === null ? undefined : view.instance('recipient', id);
  if (!recipient) return 'RECIPIENT_REMOVED';
  const reason = REASONS[String(recipient.value)];
  if (reason) return reason;
  const context = recipient.context as unknown as RecipientContext;
  return isOfMember(view, context) ? undefined : 'RECIPIENT_REMOVED';
}

/** Is the recipient's address that of a member, still? */
export function isOfMember(
  view: ProjectView,
  { membership, address }: Pick<RecipientContext, 'membership' | 'address'>,
): boolean {
  const member = view.instance('membership', membership);
  if (member?.value !== 'active') return false;
  // Somebody's old address may be somebody else's by now.
  const { email } = member.context as unknown as MembershipContext;
  return email.toLowerCase() === address;
}

/** Person behind a recipient; undefined: there is none. */
export function personBehind(view: ProjectView, recipient: string): string | undefined {
  const context = view.instance('recipient', recipient)?.context as RecipientContext | undefined;
  const member = context && view.instance('membership', context.membership);
  return (member?.context as MembershipContext | undefined)?.person;
}

/**
 * To whom a message to the destination goes, each for itself: its recipients, removed ones not
 * among them, where it is one of mail; else the destination alone (`null`). A mail destination
 * whose recipients are all gone is told alone too, so that what it misses is recorded.
 */
export function recipientsOf(view: ProjectView, destination: Instance): (string | null)[] {
  const { kind } = destination.context as unknown as DestinationContext;
  if (kind !== 'email') return [null];
  const ids = allInstances(view, 'recipient')
    .filter(({ context }) => context.destination === destination.instance)
    .map(({ instance }) => instance);
  return ids.length > 0 ? ids : [null];
}

/** Does the destination send to people's addresses? */
export function isMail(destination: Instance): boolean {
  return (destination.context as unknown as DestinationContext).kind === 'email';
}
