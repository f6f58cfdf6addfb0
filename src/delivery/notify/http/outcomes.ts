/** What an answer means for its attempt, in the words that all HTTP channels share. */
import type { AttemptOutcome } from '../../../../actors/delivery/notifier-port.ts';
import type { Answer } from './exchange.ts';

/** It asks for less, or is itself in trouble (HOOK-16). */
const SLOWING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export function accepted({ httpStatus, excerpt }: Answer): AttemptOutcome {
  return { kind: 'accepted', httpStatus, ...excerptField(excerpt) };
}

/** Trying again can help. */
export function failed(answer: Answer, error: string): Extract<AttemptOutcome, { kind: 'failed' }> {
  const { httpStatus, excerpt, retryAfterMs } = answer;
  return {
    ...{ kind: 'failed', unknown: false, httpStatus, error },
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(SLOWING.has(httpStatus) && { slows: true }),
    ...excerptField(excerpt),
  };
}

/** Trying again cannot help; `pauses`: nor can any other message to that address. */
export function refused(
  { httpStatus, excerpt }: Answer,
  error: string,
  { pauses }: { readonly pauses: boolean },
): AttemptOutcome {
  return {
    ...{ kind: 'refused', httpStatus, error, pauseDestination: pauses },
    ...excerptField(excerpt),
  };
}

function excerptField(excerpt: string) {
  return excerpt === '' ? {} : { excerpt };
}
