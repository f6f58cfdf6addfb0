/**
 * The port to the outside: the deliverer passes one attempt to the notifier and gets its outcome as
 * data. Implemented in `src/delivery/notify`.
 */
import type { DestinationKind } from '../../machines/delivery/destination.ts';

/** The target of one attempt, read when it opens. A rotation or a new URL applies from then on. */
export type Target = UrlTarget | MailTarget;

/** An endpoint with a URL: webhooks and chats. */
export interface UrlTarget {
  readonly kind: DestinationKind;
  readonly url: string;
  /** Signing secrets (`whsec_...`), current first, previous during overlap. Never logged. */
  readonly secrets?: readonly string[];
}

/** A mail recipient, with the unsubscribe link that every mail must have. */
export interface MailTarget {
  readonly kind: 'email';
  readonly address: string;
  readonly unsubscribeUrl: string;
}

/** The pool of attempts that a kind shares. Mails take longer, and all use one server. */
export type SlotKind = 'web' | 'mail';

/** Limits of sending to one kind of destination. */
export interface SendingLimits {
  /** Longest duration of one attempt, ms. */
  readonly attemptMs: number;
  readonly slots: SlotKind;
  /** Maximum attempts to one destination that may be open at a time. */
  readonly attemptsMax: number;
  /** Minimum interval between the starts of two attempts to one destination, ms; 0 = none. */
  readonly spacingMs: number;
}

/** Everything that is needed to send one attempt; the notifier reads nothing else. */
export interface AttemptRequest<T extends Target = Target> {
  readonly deliveryId: string;
  readonly attemptId: string;
  /** `incident.firing`, `incident.repeated`, `incident.recovered` or `test`. */
  readonly event: string;
  /** Made by the kind's renderer: rendered once, stored, sent unchanged. */
  readonly body: Uint8Array;
  readonly target: T;
  /** Incident id; '' for a test. Mails of one incident form a thread. */
  readonly incident: string;
  /** Unix seconds of this attempt. */
  readonly timestampUnix: number;
  /** Deadline of the attempt (Clock.elapsed, ms); also checked before the first byte. */
  readonly deadlineElapsedMs: number;
}

/** Outcome of an attempt. It is never thrown, because a network fault is an outcome too. */
export type AttemptOutcome =
  | { readonly kind: 'accepted'; readonly httpStatus?: number; readonly excerpt?: string }
  /** A retry can help. `unknown`: the endpoint may have accepted (timeout after sending). */
  | {
      readonly kind: 'failed';
      readonly unknown: boolean;
      readonly httpStatus?: number;
      readonly retryAfterMs?: number;
      /** The platform says that the wait applies to all messages from this address. */
      readonly isGlobalLimit?: boolean;
      /**
       * The endpoint asks for fewer requests (429, 502, 503, 504): its queue drops to one at a
       * time.
       */
      readonly slows?: boolean;
      /**
       * This service is at fault (its mail server refuses its login, its resolver is dead, a stored
       * value cannot be read). The attempt is retried and not counted against the destination.
       */
      readonly ours?: true;
      readonly error: string;
      /** At most the first 4 KiB of the answer, without the target's address and secrets. */
      readonly excerpt?: string;
    }
  /** A retry cannot help, or the endpoint asked to stop (410; most refusals of a chat). */
  | {
      readonly kind: 'refused';
      readonly httpStatus?: number;
      readonly error: string;
      readonly pauseDestination: boolean;
      /** The mail server reports that the address accepts no mail. This ends only the recipient. */
      readonly bounced?: boolean;
      /**
       * The service rejected the content of this message. One new delivery sends it in the plainest
       * form (`repeatPlainly`).
       */
      readonly content?: boolean;
      readonly excerpt?: string;
    };

/** Sends to one kind of target. */
export interface Channel<T extends Target = Target> {
  /** Never throws for a fault of the network or the endpoint; those are outcomes. */
  attempt(request: AttemptRequest<T>): Promise<AttemptOutcome>;
  close(): Promise<void>;
}

/** Sends to every kind of destination for which this service is configured. */
export interface Notifier extends Channel {
  /** True if this service is configured to send to the kind. */
  sendsTo(kind: DestinationKind): boolean;
  limitsOf(kind: DestinationKind): SendingLimits;
}
