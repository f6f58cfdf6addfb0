/** A destination in words: its kind, its status and its last failure. Pure. */
import type { Destination } from '../../data/catalogue.ts';
import { idOf } from '../../data/names.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { kinds, texts } from './destination-texts.ts';

/** In display order. */
export const KINDS = Object.keys(kinds) as readonly Kind[];
export type Kind = keyof typeof kinds;

type Recipient = NonNullable<Destination['email']>['recipients'][number];
type Delivery = ResponseOf<'AlertService', 'listDeliveries'>['deliveries'][number];
type Attempt = Delivery['attempts'][number];

/** Undefined for a kind that only a newer service knows. */
export function kindOf(destination: Destination): Kind | undefined {
  return KINDS.find((kind) => destination[kind] !== undefined);
}

/** Its kind in words; empty for an unknown kind. */
export function kindText(destination: Destination): string {
  const kind = kindOf(destination);
  return kind === undefined ? '' : kinds[kind].title;
}

/** Its display name, or else its id. */
export function titleOf({ displayName, name }: Destination): string {
  return displayName || idOf(name);
}

/** Host and end of the URL; for mail, the number of recipients reached. */
export function sendsToText({ email, host, lastFour }: Destination): string {
  if (email === undefined) return texts.sendsTo(host, lastFour);
  const { recipients } = email;
  return texts.recipientsReached(recipients.filter(isReached).length, recipients.length);
}

/** True for a recipient who gets notifications. */
export function isReached({ state, isMember }: Recipient): boolean {
  return state === 'VERIFIED' && isMember;
}

/** True for a recipient who can be sent a confirmation link. */
export function awaitsConfirmation({ state, isMember }: Recipient): boolean {
  return (state === 'INVITED' || state === 'BOUNCED') && isMember;
}

export type DestinationStatus =
  | 'ACTIVE'
  | 'VERIFIED'
  | 'AWAITING_VERIFICATION'
  | 'REACHES_NOBODY'
  | 'FAILING'
  | 'PAUSED';

/** The most important aspect of its status. */
export function statusOf({ state, email, failingSinceUnix }: Destination): DestinationStatus {
  if (state === 'PAUSED') return 'PAUSED';
  if (email && !email.recipients.some(isReached)) {
    const isWaiting = email.recipients.some((one) => one.state === 'INVITED' && one.isMember);
    return isWaiting ? 'AWAITING_VERIFICATION' : 'REACHES_NOBODY';
  }
  if (failingSinceUnix !== undefined) return 'FAILING';
  return email ? 'VERIFIED' : 'ACTIVE';
}

export interface LastFailure {
  readonly deliveryName: string;
  readonly attempt: Attempt;
}

/**
 * The newest finished attempt, if it was not accepted; undefined if it was, or if there is none.
 */
export function lastFailureOf(deliveries: readonly Delivery[]): LastFailure | undefined {
  const ended = deliveries.flatMap(({ name, attempts }) =>
    attempts
      .filter(({ outcome }) => outcome !== '')
      .map((attempt) => ({ deliveryName: name, attempt })),
  );
  const newest = ended.reduce<LastFailure | undefined>((best, one) => {
    const isNewer = best && Number(best.attempt.startedUnix) >= Number(one.attempt.startedUnix);
    return isNewer ? best : one;
  }, undefined);
  return newest?.attempt.outcome === 'accepted' ? undefined : newest;
}

const LATER = new Set([408, 425, 429]);
const GONE = new Set([401, 403, 404, 410]);

/** What to do about a failed attempt, in a sentence. */
export function helpAfter(kind: Kind | undefined, { outcome, httpStatus }: Attempt): string {
  const { failure } = texts;
  if (outcome === 'unknown') return failure.mayHave;
  if (kind === 'email') return outcome === 'refused' ? failure.refusedMail : failure.mail;
  if (httpStatus === undefined) return failure.unreachable;
  if (httpStatus >= 300 && httpStatus < 400) return failure.url;
  if (GONE.has(httpStatus)) return failure.gone;
  if (httpStatus >= 500 || LATER.has(httpStatus)) return failure.later;
  return failure.refusedMessage;
}
