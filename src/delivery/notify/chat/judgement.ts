/** What a chat service's answer means, before it becomes the attempt's outcome. */
import type { Answer } from '../http/exchange.ts';

export type Judgement =
  | { readonly kind: 'accepted' }
  /** The full form is too large for the service: the short one may pass. */
  | { readonly kind: 'tooLarge' }
  /** `retryAfterMs`: as the body tells it; the header counts as well. */
  | {
      readonly kind: 'failed';
      readonly error: string;
      readonly retryAfterMs?: number;
    }
  | { readonly kind: 'refused'; readonly error: string; readonly pauses: boolean };

export const judgement = {
  accepted: { kind: 'accepted' },
  tooLarge: { kind: 'tooLarge' },
  failed: (error: string): Judgement => ({ kind: 'failed', error }),
} as const satisfies Record<string, Judgement | ((error: string) => Judgement)>;

/** 4xx that another time may cure: a time-out, an early replay, a limit. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * By status alone: 5xx, 408, 425 and 429 are tried again, 3xx too, for a URL can be mended; every
 * other 4xx is final, because the same bytes are refused again. `pausing`: the address itself is
 * refused, so that every other message would be.
 */
export function judgeCommon(
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
  if (httpStatus >= 400 && httpStatus < 500 && !PASSING.has(httpStatus)) {
    return { kind: 'refused', error: `${error}: it refuses the message`, pauses: false };
  }
  return judgement.failed(error);
}
