/**
 * The interface of destinations and their recipients for the API, and the ports they need from the
 * mail side. Secrets and tokens appear once in a response or a mail, never in a commit.
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
  /** Each the verified address of a member of the project. */
  | { readonly kind: 'email'; readonly addresses: readonly string[] };

/** A new destination. The kind of its target never changes. */
export interface CreateDestination extends Caller {
  readonly displayName: string;
  readonly target: NewTarget;
  /** Absent: none for a webhook, else the service's; see `DestinationContext`. */
  readonly groupWaitMs?: number;
}

/** A change of the destination with this id. */
export interface OneDestination extends Caller {
  /** The destination's id. */
  readonly id: string;
}

/** New name or target. What is absent stays as it is. */
export interface UpdateDestination extends OneDestination {
  /** Absent = unchanged. */
  readonly displayName?: string;
  /** Absent = unchanged; must be of the destination's kind. */
  readonly target?: NewTarget;
  /** Absent = unchanged. */
  readonly groupWaitMs?: number;
}

/** Nothing is sent to it until it is resumed. */
export interface PauseDestination extends OneDestination {
  /** In words, for people. */
  readonly reason: string;
}

/** A new signing secret; during the overlap both sign, so that receivers can change over. */
export interface RotateSecret extends OneDestination {
  /** How long the current secret also signs, ms; 0 = older secrets are discarded at once. */
  readonly overlapMs: number;
}

/** The destination after the change. */
export interface Changed {
  /** As committed. */
  readonly destination: Instance<'destination'>;
  readonly sequence: number;
}

/** The destination, and its signing secret where there is a new one. */
export interface WithSecret extends Changed {
  /**
   * `whsec_...`, in the first response only; undefined for a repeated request, and for a destination
   * that signs nothing.
   */
  readonly webhookSecret?: string;
}

/** How many recipients were mailed a link, and how many could not be mailed now. */
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
  /** Throws as `create`; INVALID_FIELD for another kind. Recipients that stay are unchanged. */
  update(update: UpdateDestination): Promise<Changed>;
  /** Deletes a destination, its recipients, and what is sealed for it. */
  delete(deletion: OneDestination): Promise<Committed<Record<string, never>>>;
  /** Throws INVALID_STATE when it is paused already. */
  pause(pause: PauseDestination): Promise<Changed>;
  /** Throws INVALID_STATE when it is not paused. Ends the notice about the pause. */
  resume(act: OneDestination): Promise<Changed>;
  /** Throws INVALID_STATE where nothing is signed. */
  rotateSecret(rotation: RotateSecret): Promise<WithSecret>;
  /**
   * Resends verification mails to recipients who have not confirmed; earlier links end. Those who
   * unsubscribed get none. Throws INVALID_STATE for other kinds, TOO_MANY_REQUESTS
   * (`retryAfterSeconds`) when no mail may be sent now.
   *
   * @returns the number of mails queued, and not queued: sent a moment ago, or the queue is full
   */
  verify(act: OneDestination): Promise<Verifying>;
  /**
   * Starts a test delivery, or one for each verified recipient. Throws INVALID_STATE when it is
   * paused, or no recipient is verified; TOO_MANY_REQUESTS (`retryAfterSeconds`) for too many tests.
   *
   * @returns ids of the deliveries
   */
  sendTest(act: OneDestination): Promise<Committed<{ readonly deliveries: readonly string[] }>>;
}

/** Where rows, secrets and links come from. */
export interface DestinationsDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealed: SealedValues;
  /** The reason a destination of the kind must not have this URL; undefined when it may. */
  readonly refuseUrl: (kind: DestinationKind, url: string) => string | undefined;
  /** Wait of new mail and chat destinations for further incidents of a rule, ms. */
  readonly groupWaitMs: number;
  /** A fresh `whsec_...` secret. */
  readonly makeSecret: (random: Random) => string;
  /** Absent when no mail server is configured. */
  readonly mail?: { readonly tokens: RecipientTokens; readonly mails: VerificationMails };
}

/** The acts behind the links in mails. */
export interface RecipientLinks {
  /** Confirms the address. Throws a `Refusal` INVALID_STATE for a link that does not work. */
  confirm(token: string): Promise<void>;
  /** Ends the subscription. No-op when repeated, and for a removed recipient. */
  unsubscribe(recipient: { readonly project: string; readonly recipient: string }): Promise<void>;
}

/** A mail that asks the holder of an address to confirm it. */
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
  /** True while the link works. A newer one, or a removal, ends it. */
  readonly isCurrent: () => boolean;
  /** Called when the mail server says, with this status, that the address takes no mail. */
  readonly onBounced: (status: number) => Promise<void>;
}

/** The queue of verification mails. */
export interface VerificationMails {
  /** Number of further mails of the project that fit in the queue. */
  room(project: string): number;
  /** Counts a mail and returns the wait before it may be sent, ms; 0 = now. */
  take(project: string, address: string): number;
  /** Queues the mail; false when the queue is full. */
  send(mail: VerificationMail): boolean;
}

/** The tokens of verification mails: only `src` knows their form. */
export interface RecipientTokens {
  /** A new secret with 256 random bits for a recipient's id; `hash`: SHA-256, hex. */
  mint(recipient: string): { readonly text: string; readonly hash: string };
  /** Recipient id in a well-formed token; undefined otherwise. */
  parse(text: string): string | undefined;
  hash(text: string): string;
}
