/** What the deliverer asks of a channel: one attempt, told as data. Implemented in `src/delivery/notify`. */
import type { DestinationKind } from '../../machines/delivery/destination.ts';

/** Where one attempt goes, read when it opens: a rotation or a new address counts from then on. */
export type Target =
  | {
      readonly kind: 'webhook';
      readonly url: string;
      /** Signing secrets (`whsec_...`), current first, previous during overlap. Never logged. */
      readonly secrets: readonly string[];
    }
  | { readonly kind: 'slack'; readonly url: string }
  | { readonly kind: 'teams'; readonly url: string }
  | { readonly kind: 'discord'; readonly url: string }
  | { readonly kind: 'email'; readonly address: string; readonly unsubscribeUrl: string };

/** How long one attempt of each kind may take in all, ms (HOOK-14; mail 30 s in all). */
export const ATTEMPT_MS: Readonly<Record<DestinationKind, number>> = {
  webhook: 10_000,
  slack: 10_000,
  teams: 10_000,
  discord: 10_000,
  email: 30_000,
};

export interface AttemptRequest {
  readonly deliveryId: string;
  readonly attemptId: string;
  /** `incident.firing`, `incident.repeated`, `incident.recovered` or `test`. */
  readonly event: string;
  /** Rendered once, stored, sent unchanged: as the channel's own renderer made it. */
  readonly body: Uint8Array;
  readonly target: Target;
  /** Incident id; '' for a test. Mails of one incident are one thread. */
  readonly incident: string;
  /** Unix seconds of this attempt. */
  readonly timestampUnix: number;
  /** The attempt must be over by then (Clock.elapsed, ms); checked before the first byte too. */
  readonly deadlineElapsedMs: number;
}

export type AttemptOutcome =
  | { readonly kind: 'accepted'; readonly httpStatus?: number; readonly excerpt?: string }
  /** Trying again can help. `unknown`: the endpoint may have accepted (time-out after sending). */
  | {
      readonly kind: 'failed';
      readonly unknown: boolean;
      readonly httpStatus?: number;
      readonly retryAfterMs?: number;
      /** It asks for less (429, 502, 503, 504): its lane goes back to one at a time at once. */
      readonly slows?: boolean;
      /**
       * The fault is of this service (its mail server refuses its login, its resolver is dead, what
       * it keeps cannot be read): tried again, and said of neither the destination nor its lane.
       */
      readonly ours?: true;
      readonly error: string;
      /** First 4 KiB of the answer at most, without the target's address and secrets. */
      readonly excerpt?: string;
    }
  /** Trying again cannot help, or the endpoint asked to stop (410; most refusals of a chat). */
  | {
      readonly kind: 'refused';
      readonly httpStatus?: number;
      readonly error: string;
      readonly pauseDestination: boolean;
      /** The mail server says that the address takes no mail: the recipient ends, not the rest. */
      readonly bounced?: boolean;
      readonly excerpt?: string;
    };

/** The part of a notifier that sends to one kind of target. */
export interface Channel<K extends Target['kind']> {
  /** Never throws for what the outside does: every such thing is an outcome. */
  attempt(
    request: AttemptRequest & { readonly target: Extract<Target, { readonly kind: K }> },
  ): Promise<AttemptOutcome>;
  close(): Promise<void>;
}

export interface Notifier {
  /** Is this service set up to send there at all? */
  sendsTo(kind: Target['kind']): boolean;
  /** Never throws for what the outside does: every such thing is an outcome. */
  attempt(request: AttemptRequest): Promise<AttemptOutcome>;
  close(): Promise<void>;
}
