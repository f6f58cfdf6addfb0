/**
 * The interface of destinations and their recipients for the API, and the ports to the mail side.
 * Secrets and tokens appear once in a response or a mail, never in a commit.
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

/** The target of a destination. */
export type NewTarget =
  | { readonly kind: DestinationKind; readonly url: string }
  /** Each must be the verified address of a member of the project. */
  | { readonly kind: 'email'; readonly addresses: readonly string[] };

/** A new destination. The kind of its target can never change. */
export interface CreateDestination extends Caller {
  readonly displayName: string;
  readonly target: NewTarget;
  /** Absent: 0 for a webhook, otherwise the service's default; see `DestinationContext`. */
  readonly groupWaitMs?: number;
}

/** A change of the destination with this id. */
export interface OneDestination extends Caller {
  /** The destination's id. */
  readonly id: string;
}

/** A new name or target. Absent fields are unchanged. */
export interface UpdateDestination extends OneDestination {
  /** Absent = unchanged. */
  readonly displayName?: string;
  /** Absent = unchanged. Must be of the destination's kind. */
  readonly target?: NewTarget;
  /** Absent = unchanged. */
  readonly groupWaitMs?: number;
}

/** Nothing is sent to the destination until it is resumed. */
export interface PauseDestination extends OneDestination {
  /** The reason in words, for users. */
  readonly reason: string;
}

/** A new signing secret. Both secrets sign during the overlap, so that receivers can switch. */
export interface RotateSecret extends OneDestination {
  /** Time for which the current secret also signs, ms; 0 = older secrets are discarded at once. */
  readonly overlapMs: number;
}

/** The destination after the change. */
export interface Changed {
  /** As committed. */
  readonly destination: Instance<'destination'>;
  readonly sequence: number;
}

/** The destination, and its new signing secret if there is one. */
export interface WithSecret extends Changed {
  /**
   * `whsec_...`, in the first response only; undefined for a repeated request, and for a
   * destination that does not sign.
   */
  readonly webhookSecret?: string;
}

/** Number of recipients who were mailed a link, and of those who could not be mailed now. */
export interface Verifying extends Changed {
  readonly mails: number;
  readonly notMailed: number;
}

/**
 * Besides the `Refusal`s of the host, each method throws NOT_FOUND, INVALID_FIELD, INVALID_STATE.
 */
export interface Destinations {
  /**
   * Throws INVALID_FIELD (an address that may not be called, or no address), LIMIT_EXCEEDED,
   * RECIPIENT_NOT_MEMBER (`addresses`: which), INVALID_STATE (mail without a mail server).
   */
  create(creation: CreateDestination): Promise<WithSecret>;
  /** Throws like `create`; INVALID_FIELD for another kind. Recipients that stay are unchanged. */
  update(update: UpdateDestination): Promise<Changed>;
  /** Deletes a destination, its recipients, and its sealed values. */
  delete(deletion: OneDestination): Promise<Committed<Record<string, never>>>;
  /** Throws INVALID_STATE if it is already paused. */
  pause(pause: PauseDestination): Promise<Changed>;
  /** Throws INVALID_STATE if it is not paused. Ends the notice about the pause. */
  resume(act: OneDestination): Promise<Changed>;
  /** Throws INVALID_STATE if the destination does not sign. */
  rotateSecret(rotation: RotateSecret): Promise<WithSecret>;
  /**
   * Resends verification mails to recipients who have not confirmed. Earlier links become invalid.
   * Recipients who unsubscribed get no mail. Throws INVALID_STATE for other kinds,
   * TOO_MANY_REQUESTS (`retryAfterSeconds`) if no mail may be sent now.
   *
   * @returns the number of mails queued, and not queued because one was sent a moment ago or the
   * queue is full
   */
  verify(act: OneDestination): Promise<Verifying>;
  /**
   * Starts a test delivery, or one for each verified recipient. Throws INVALID_STATE if it is
   * paused or no recipient is verified; TOO_MANY_REQUESTS (`retryAfterSeconds`) for too many tests.
   *
   * @returns ids of the deliveries
   */
  sendTest(act: OneDestination): Promise<Committed<{ readonly deliveries: readonly string[] }>>;
}

/** Sources of rows, secrets and links. */
export interface DestinationsDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealed: SealedValues;
  /** The reason why a destination of the kind must not have this URL; undefined if it may. */
  readonly refuseUrl: (kind: DestinationKind, url: string) => string | undefined;
  /** Time for which new mail and chat destinations wait for further incidents of a rule, ms. */
  readonly groupWaitMs: number;
  /** A fresh `whsec_...` secret. */
  readonly makeSecret: (random: Random) => string;
  /** Absent if no mail server is configured. */
  readonly mail?: { readonly tokens: RecipientTokens; readonly mails: VerificationMails };
}

/** The actions behind the links in mails. */
export interface RecipientLinks {
  /** Confirms the address. Throws a `Refusal` INVALID_STATE for a link that is not valid. */
  confirm(token: string): Promise<void>;
  /** Ends the subscription. No-op if repeated, and for a removed recipient. */
  unsubscribe(recipient: { readonly project: string; readonly recipient: string }): Promise<void>;
}

/** A mail that requests the holder of an address to confirm it. */
export interface VerificationMail {
  /** Project id. */
  readonly project: string;
  readonly destinationDisplayName: string;
  /** Address to verify. */
  readonly address: string;
  /** The secret in its link. */
  readonly token: string;
  /** Unix ms. */
  readonly expiresMs: number;
  /** True while the link works. A newer link or a removal invalidates it. */
  readonly isCurrent: () => boolean;
  /** Called with the reason if the address accepts no mail. */
  readonly onBounced: (reason: string) => Promise<void>;
  /** Called with the problem of the mail, in a sentence; null once the mail server accepts it. */
  readonly onProblem: (problem: string | null) => Promise<void>;
}

/** The queue of verification mails. */
export interface VerificationMails {
  /** Number of further mails of the project that fit into the queue. */
  room(project: string): number;
  /** Counts a mail and returns the wait before it may be sent, ms; 0 = now. */
  take(project: string, address: string): number;
  /** Queues the mail; false if the queue is full. */
  send(mail: VerificationMail): boolean;
}

/** The tokens of verification mails. Only `src` knows their form. */
export interface RecipientTokens {
  /** A new secret with 256 random bits for a recipient's id; `hash`: SHA-256, hex. */
  mint(recipient: string): { readonly text: string; readonly hash: string };
  /** Recipient id in a well-formed token; undefined otherwise. */
  parse(text: string): string | undefined;
  hash(text: string): string;
}
