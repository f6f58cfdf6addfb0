/**
 * A chat service's judgement of a message: the meaning of its answer, before it becomes an outcome.
 */
import type { Answer } from '../http/exchange.ts';

/**
 * `failed` may pass when retried. `refused` cannot; with `pauses`, it pauses the destination at
 * once.
 */
export type Judgement =
  | { readonly kind: 'accepted' }
  /** The full form is too large for the service. The short one may pass. */
  | { readonly kind: 'tooLarge' }
  /** `retryAfterMs` comes from the body. The longer of it and the header applies. */
  | {
      readonly kind: 'failed';
      readonly error: string;
      readonly retryAfterMs?: number;
      /** The platform limits this address, not only this URL. */
      readonly isGlobalLimit?: boolean;
    }
  | { readonly kind: 'refused'; readonly error: string; readonly pauses: boolean };

/** Constructors of judgements, so that services can name them in one word. */
export const judgement = {
  accepted: { kind: 'accepted' },
  tooLarge: { kind: 'tooLarge' },
  failed: (error: string): Judgement => ({ kind: 'failed', error }),
} as const satisfies Record<string, Judgement | ((error: string) => Judgement)>;

/** 4xx statuses that a retry may cure: a timeout, an early replay, a rate limit. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Judges by status alone. 5xx, 408, 425 and 429 are retried; so is 3xx, because a URL can be fixed.
 * Every other 4xx is final, because the same bytes would be rejected again.
 *
 * @param pausing statuses that reject the URL itself, so that every other message would be rejected
 * too
 */
export function judgeByStatus(
  service: string,
  { httpStatus }: Answer,
  { pausing }: { readonly pausing: readonly number[] },
): Judgement {
  const error = `${service} answered ${httpStatus}`;
  if (pausing.includes(httpStatus)) {
    return { kind: 'refused', error: `${error}: it accepts nothing at this URL`, pauses: true };
  }
  if (httpStatus >= 300 && httpStatus < 400) {
    return judgement.failed(`${error}. Redirects are not followed. Enter the final URL`);
  }
  if (httpStatus >= 400 && httpStatus < 500 && !RETRYABLE.has(httpStatus)) {
    return { kind: 'refused', error: `${error}: it rejected the message`, pauses: false };
  }
  return judgement.failed(error);
}
