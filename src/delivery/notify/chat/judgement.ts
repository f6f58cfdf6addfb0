/** A chat service's judgement of a message: the meaning of its answer, before the outcome. */
import type { Answer } from '../http/exchange.ts';

/**
 * `failed` can pass when retried; `refused` cannot, and with `pauses` the destination is paused at
 * once.
 */
export type Judgement =
  | { readonly kind: 'accepted' }
  /** The full form is too large for the service: the short one may pass. */
  | { readonly kind: 'tooLarge' }
  /** `retryAfterMs`: from the body; the longer of it and the header's counts. */
  | {
      readonly kind: 'failed';
      readonly error: string;
      readonly retryAfterMs?: number;
    }
  | { readonly kind: 'refused'; readonly error: string; readonly pauses: boolean };

/** Makes judgements, so that services state them in one word. */
export const judgement = {
  accepted: { kind: 'accepted' },
  tooLarge: { kind: 'tooLarge' },
  failed: (error: string): Judgement => ({ kind: 'failed', error }),
} as const satisfies Record<string, Judgement | ((error: string) => Judgement)>;

/** 4xx that a retry may cure: a timeout, an early replay, a rate limit. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Judges by status alone. 5xx, 408, 425 and 429 are retried; so is 3xx, because a URL can be fixed.
 * Every other 4xx is final, because the same bytes would be refused again.
 *
 * @param pausing statuses that refuse the URL itself: every other message would be refused too
 */
export function judgeByStatus(
  service: string,
  { httpStatus }: Answer,
  { pausing }: { readonly pausing: readonly number[] },
): Judgement {
  const error = `${service} answered ${httpStatus}`;
  if (pausing.includes(httpStatus)) {
    return { kind: 'refused', error: `${error}: it takes nothing at this URL`, pauses: true };
  }
  if (httpStatus >= 300 && httpStatus < 400) {
    return judgement.failed(`${error}: redirects are not followed, fix the URL`);
  }
  if (httpStatus >= 400 && httpStatus < 500 && !RETRYABLE.has(httpStatus)) {
    return { kind: 'refused', error: `${error}: it refuses the message`, pauses: false };
  }
  return judgement.failed(error);
}
