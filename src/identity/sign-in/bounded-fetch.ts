/**
 * Fetch as openid-client uses it, with a bound on what an answer may hold. Its time is bounded by
 * the signal that comes with the request.
 */
import type { CustomFetch } from 'openid-client';

/** Keys and metadata of large providers are some 20 KB. */
const ANSWER_BYTES_MAX = 512 * 1024;

class AnswerTooLarge extends Error {
  readonly code = 'ANSWER_TOO_LARGE';
  constructor() {
    super(`The answer has more than ${ANSWER_BYTES_MAX} bytes`);
    this.name = 'AnswerTooLarge';
  }
}

/** Rejects with `AnswerTooLarge`, and as fetch does. Follows no redirects. */
export const boundedFetch: CustomFetch = async (url, options) => {
  const { method, headers, body, signal } = options;
  const answer = await fetch(url, {
    ...{ method, headers, redirect: 'manual' },
    ...(body != null && { body }),
    ...(signal && { signal }),
  });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > ANSWER_BYTES_MAX) throw new AnswerTooLarge();
    chunks.push(chunk);
  }
  const hasBody = chunks.length > 0;
  const { status, headers: told } = answer;
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers: told });
};
