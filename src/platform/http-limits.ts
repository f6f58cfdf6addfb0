/** Bounds of the HTTP servers against slow and hostile clients, each with its reason. */

/** Largest request body: `WriteSamples` is the largest request (API-26). */
export const BODY_BYTES_MAX = 1024 * 1024;
/**
 * Largest body of a method without a credential, and the default of plain routes. The largest such
 * request is a CI identity token of 16 KiB beside short names.
 */
export const ANONYMOUS_BODY_BYTES_MAX = 24 * 1024;
/** Form of a PromQL request: as large as the same parameters may be in a URL. */
export const FORM_BYTES_MAX = 64 * 1024;
/** Path and headers together: a PromQL expression of 16 KiB in a URL, each byte written as `%xx`. */
export const HEADER_BYTES_MAX = 64 * 1024;
/** Time until the headers are complete, ms: ends connections that send a byte now and then. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** Time until the whole request has arrived, ms: 1 MiB at 35 KiB/s. Responses may take longer. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** Interval at which Node checks the two timeouts above. */
export const TIMEOUT_CHECK_MS = 2_000;
/**
 * Idle time of a connection, ms: longer than common proxies keep one (60 s), so that they close
 * first.
 */
export const KEEP_ALIVE_MS = 75_000;
/**
 * Idle time while the connection limit is nearly reached, ms; enough for a reader's next request.
 */
export const KEEP_ALIVE_BUSY_MS = 5_000;
/**
 * Time until a TLS handshake is complete, ms. Node's default of 120 s is too generous for
 * strangers.
 */
export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Open connections: each costs some 10 KiB; an evaluator and a hundred dashboards need few. */
export const CONNECTIONS_MAX = 10_000;
/** Time that requests in flight get to finish at a stop, ms. */
export const STOP_WAIT_MS = 10_000;
/** Largest response before compression (LIMIT-07). */
export const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
