/**
 * Checks whether mail may be sent to a recipient: the holder confirmed the address, and it still
 * belongs to a member of the project who may use the service (STATE-12, EVAL-22).
 */
import type { RecipientContext } from '../../machines/delivery/recipient.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { canonicalEmail } from '../platform/email-address.ts';
import type { Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';

/** Reasons not to send to a recipient. */
export type RecipientReason =
  | 'RECIPIENT_REMOVED'
  | 'RECIPIENT_NOT_VERIFIED'
  | 'RECIPIENT_UNSUBSCRIBED'
  | 'RECIPIENT_BOUNCED';

/** States of a recipient in which nothing is sent. */
const REASONS: Readonly<Record<string, RecipientReason>> = {
  invited: 'RECIPIENT_NOT_VERIFIED',
  unsubscribed: 'RECIPIENT_UNSUBSCRIBED',
  bounced: 'RECIPIENT_BOUNCED',
  removed: 'RECIPIENT_REMOVED',
};

/** True if the person may use the service. No project's view contains people. */
export type IsPersonActive = (person: string) => boolean;

/** Reads the rows of people on each call. */
export function activePeople(host: Pick<Host, 'view'>): IsPersonActive {
  return (person) => host.view(SYSTEM_PROJECT).instance('person', person)?.value === 'active';
}

/**
 * The reason not to send to the recipient; undefined if it may be sent. `null` if the destination
 * has no recipients.
 */
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

/** True while the address belongs to a member who is not locked out. */
export function isOfMember(
  view: ProjectView,
  { membership, address }: Pick<RecipientContext, 'membership' | 'address'>,
  isPersonActive: IsPersonActive,
): boolean {
  const member = view.instance('membership', membership);
  if (member?.value !== 'active') return false;
  // An old address may belong to another person now.
  const { email, person } = member.context;
  return canonicalEmail(email) === canonicalEmail(address) && isPersonActive(person);
}

/** True if the person behind the recipient is locked out or does not exist. */
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
 * The recipients of a destination, one delivery each: for mail, all that are not removed; otherwise
 * the destination alone (`null`). A mail destination without recipients counts as one too, so that
 * the missed delivery is recorded.
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

/** True for a mail destination. */
export function isMail(destination: Instance<'destination'>): boolean {
  return destination.context.kind === 'email';
}
