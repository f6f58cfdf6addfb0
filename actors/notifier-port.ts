/** What the deliverer asks of a channel: one attempt, told as data. Implemented in `src/notifiers`. */

export interface AttemptRequest {
  readonly deliveryId: string;
  readonly attemptId: string;
  /** `incident.firing`, `incident.repeated`, `incident.recovered` or `test`. */
  readonly event: string;
  /** Rendered once, stored, sent unchanged. */
  readonly body: Uint8Array;
  readonly url: string;
  /** Signing secrets (`whsec_...`), current first, previous during overlap. Never logged. */
  readonly secrets: readonly string[];
  /** Unix seconds of this attempt. */
  readonly timestampUnix: number;
  /** The attempt must be over by then (Clock.elapsed, ms); checked before the first byte too. */
  readonly deadlineElapsedMs: number;
}

export type AttemptOutcome =
  | { readonly kind: 'accepted'; readonly httpStatus: number }
  /** Trying again can help. `unknown`: the endpoint may have accepted (time-out after sending). */
  | {
      readonly kind: 'failed';
      readonly unknown: boolean;
      readonly httpStatus?: number;
      readonly retryAfterMs?: number;
      readonly error: string;
      /** First 4 KiB of the answer at most. */
      readonly excerpt?: string;
    }
  /** Trying again cannot help, or the endpoint asked to stop (410). */
  | {
      readonly kind: 'refused';
      readonly httpStatus?: number;
      readonly error: string;
      readonly pauseDestination: boolean;
      readonly excerpt?: string;
    };

export interface Notifier {
  /** Never throws for what the outside does: every such thing is an outcome. */
  attempt(request: AttemptRequest): Promise<AttemptOutcome>;
  close(): Promise<void>;
}
