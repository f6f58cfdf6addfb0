/** The bounds of the HTTP servers, each with its reason: what a slow or hostile client may hold. */

/** Largest request body: `WriteSamples` is the largest request (API-26). */
export const BODY_BYTES_MAX = 1024 * 1024;
/**
 * Largest body where no credential is asked for, and of every plain route that does not say
 * otherwise: the largest is a CI identity token of 16 KiB beside short names.
 */
export const ANONYMOUS_BODY_BYTES_MAX = 24 * 1024;
/** Form of a PromQL request: what the same parameters may take in a URL. */
export const FORM_BYTES_MAX = 64 * 1024;
/** Path and headers together: a PromQL expression of 16 KiB in a URL, each byte written as `%xx`. */
export const HEADER_BYTES_MAX = 64 * 1024;
/** Until the headers are complete: ends connections that send a byte now and then. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** Until the whole request has arrived: 1 MiB at 35 KiB/s. Answers may take longer. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** How often the two above are looked at. */
export const TIMEOUT_CHECK_MS = 2_000;
/** An idle connection is kept longer than common proxies keep theirs (60 s), so they close first. */
export const KEEP_ALIVE_MS = 75_000;
/** An idle connection while nearly all that may be open are: long enough for a reader's next request. */
export const KEEP_ALIVE_BUSY_MS = 5_000;
/** Until a TLS handshake is done: Node's own 120 s would let one be held open for nothing. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Open connections: each costs some 10 KiB; an evaluator and a hundred dashboards need few. */
export const CONNECTIONS_MAX = 10_000;
/** At a stop, how long requests in flight may go on. */
export const STOP_WAIT_MS = 10_000;
/** Largest answer before compression (LIMIT-07). */
export const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
