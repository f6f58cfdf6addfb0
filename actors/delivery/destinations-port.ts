/**
 * What the API asks of destinations and of their mail recipients, and what is asked of the mail
 * server's side in turn. Secrets and tokens pass through answers and mails once, never commits.
 */
import type { DestinationKind } from '../../machines/delivery/destination.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Committed, Host, Instance, RequestKey } from '../platform/host/host-port.ts';
import type { SealedValues } from './sealed-values.ts';

interface Caller {
  /** Project id. */
  readonly project: string;
  readonly by: Actor;
  readonly request: RequestKey;
}

/** Where a destination sends to. */
export type NewTarget =
  | { readonly kind: DestinationKind; readonly url: string }
  /** Each the verified address of a member of the project. */
  | { readonly kind: 'email'; readonly addresses: readonly string[] };

export interface CreateDestination extends Caller {
  readonly displayName: string;
  readonly target: NewTarget;
}

export interface OneDestination extends Caller {
  /** The destination's id. */
  readonly id: string;
}

export interface UpdateDestination extends OneDestination {
  /** Absent = as it is. */
  readonly displayName?: string;
  /** Absent = as it is; of the kind that the destination has. */
  readonly target?: NewTarget;
}

export interface PauseDestination extends OneDestination {
  /** In words, for people. */
  readonly reason: string;
}

export interface RotateSecret extends OneDestination {
  /** How long the present secret signs beside the new one; 0 = older ones are discarded at once. */
  readonly overlapMs: number;
}

export interface Changed {
  /** As committed. */
  readonly destination: Instance<'destination'>;
  readonly sequence: number;
}

export interface WithSecret extends Changed {
  /**
   * `whsec_...`, in the first answer only; undefined when the request had been answered before, and
   * of a destination that signs nothing.
   */
  readonly webhookSecret?: string;
}

export interface Verifying extends Changed {
  readonly mails: number;
  readonly notMailed: number;
}

/** Each throws a `Refusal`, besides those of the host: NOT_FOUND, INVALID_FIELD, INVALID_STATE. */
export interface Destinations {
  /**
   * Throws INVALID_FIELD (an address that may not be called, or none), LIMIT_EXCEEDED,
   * RECIPIENT_NOT_MEMBER (`addresses`: which), INVALID_STATE (mail without a mail server).
   */
  create(creation: CreateDestination): Promise<WithSecret>;
  /** Throws as `create`; INVALID_FIELD for another kind. Who stays a recipient stays as they are. */
  update(update: UpdateDestination): Promise<Changed>;
  /** Deletes a destination, its recipients, and what is sealed for it. */
  delete(deletion: OneDestination): Promise<Committed<Record<string, never>>>;
  /** Throws INVALID_STATE where it is paused already. */
  pause(pause: PauseDestination): Promise<Changed>;
  /** Throws INVALID_STATE where it is not paused. Ends the notice that told of the pause. */
  resume(act: OneDestination): Promise<Changed>;
  /** Throws INVALID_STATE where nothing is signed. */
  rotateSecret(rotation: RotateSecret): Promise<WithSecret>;
  /**
   * Sends the verification mails of those who have not confirmed their address again; earlier links
   * end. Who unsubscribed is left alone until the address is added anew. Throws INVALID_STATE for other kinds, TOO_MANY_REQUESTS (`retryAfterSeconds`) when so many
   * were sent that none may go out now.
   *
   * @returns how many mails are on their way, and how many are not: asked a moment ago, or no room
   */
  verify(act: OneDestination): Promise<Verifying>;
  /**
   * Starts a test delivery, or one for each verified recipient. Throws INVALID_STATE where it is
   * paused, or no recipient is verified; TOO_MANY_REQUESTS (`retryAfterSeconds`) for so many that
   * they are no tests.
   *
   * @returns ids of the deliveries
   */
  sendTest(act: OneDestination): Promise<Committed<{ readonly deliveries: readonly string[] }>>;
}

export interface DestinationsDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealed: SealedValues;
  /** The reason a destination of the kind must not have this URL; undefined when it may. */
  readonly refuseUrl: (kind: DestinationKind, url: string) => string | undefined;
  /** A fresh `whsec_...` secret. */
  readonly makeSecret: (random: Random) => string;
  /** Absent when no mail server is configured. */
  readonly mail?: { readonly tokens: RecipientTokens; readonly mails: VerificationMails };
}

/** What the holder of an address does with the links in mails. */
export interface RecipientLinks {
  /** Confirms the address. Throws a `Refusal` INVALID_STATE for a link that does not work (any more). */
  confirm(token: string): Promise<void>;
  /** Wants no more mail; harmless again, and for one who is no recipient any more. */
  unsubscribe(recipient: { readonly project: string; readonly recipient: string }): Promise<void>;
}

/** A mail that asks the holder of an address to confirm it. */
export interface VerificationMail {
  /** Project id. */
  readonly project: string;
  readonly destinationDisplayName: string;
  /** To whom. */
  readonly address: string;
  /** The secret in its link. */
  readonly token: string;
  /** Unix ms. */
  readonly expiresMs: number;
  /** Does the link work still? A newer one, or a removal, ends it. */
  readonly isCurrent: () => boolean;
  /** Told when the mail server says, with this status, that the address takes no mail. */
  readonly onBounced: (status: number) => Promise<void>;
}

/** The mail server's side. */
export interface VerificationMails {
  /** How many more of the project can be on their way now. */
  room(project: string): number;
  /** Counts a mail that is wanted; how long it must wait, ms: 0 = it may go out now. */
  take(project: string, address: string): number;
  /** Takes it on its way, without waiting; false: there was no room. */
  send(mail: VerificationMail): boolean;
}

/** The secrets of verification mails: their form is known to `src` alone. */
export interface RecipientTokens {
  /** A new secret with 256 random bits for a recipient's id; `hash`: SHA-256, hex. */
  mint(recipient: string): { readonly text: string; readonly hash: string };
  /** Recipient's id in a well-formed secret; undefined when it is none. */
  parse(text: string): string | undefined;
  hash(text: string): string;
}
