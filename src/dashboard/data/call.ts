/**
 * API calls: JSON over `fetch` using the Connect protocol. Only reads are retried automatically. A
 * mutation is sent once per button press, always with the same bytes, so that the service
 * recognizes it and the user knows the outcome.
 *
 * Every response carries a position token. A request sends all tokens that no later response has
 * replaced, and the service responds from a state that includes them. A change that was just saved
 * therefore appears in the next list.
 */
import { browserMs, type Clock, learnServerTime, serverClock } from './clock.ts';
import { connection } from './connection.ts';
import { Positions } from './positions.ts';
import { createRequestIds, type RequestIds } from './request-ids.ts';
import { parseRpcError, RpcError, retryDelayMs } from './rpc-error.ts';
import {
  type MethodName,
  type MutationName,
  type ReadName,
  type RequestOf,
  type ResponseOf,
  type ServiceName,
  servicePackages,
} from './rpc-types.ts';
import { session } from './session.ts';

/** Maximum wait for a response, ms; the service aborts a query after 10 s. */
const ANSWER_MS_MAX = 25_000;
const SEQUENCE_HEADER = 'svc-sequence';

/** Dependencies of a caller. */
export interface CallPorts {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>;
  readonly clock: Clock;
  /** Notified of each response and of each failure to get one. */
  readonly connection: { reached(): void; lost(): void };
  /** `ended` resolves when the user is signed in again. */
  readonly session: { ended(): Promise<void>; answered(): void; identified(name: string): boolean };
  readonly requestIds: RequestIds;
}

export interface ReadOptions {
  readonly signal?: AbortSignal;
  /** Called before each wait for another attempt. */
  readonly onRetry?: (error: RpcError, retryAtMs: number) => void;
}

/** A mutation with fixed bytes: it takes effect at most once, however often it is sent. */
export interface PreparedMutation<T> {
  readonly requestId: string;
  /** Sends it once. Throws an `RpcError`; `isDefinite` tells whether it may have been saved. */
  send(): Promise<T>;
}

export interface Caller {
  /**
   * Reads; retries while the service is unreachable, until `signal` aborts. Throws an `RpcError`.
   */
  read<S extends ServiceName, N extends ReadName<S>>(
    service: S,
    method: N,
    request: RequestOf<S, N>,
    options?: ReadOptions,
  ): Promise<ResponseOf<S, N>>;
  /**
   * Fixes the bytes of a mutation and gives it a new request id, or the earlier id if the response
   * to an identical request has been missing since before a reload.
   */
  prepare<S extends ServiceName, N extends MutationName<S>>(
    service: S,
    method: N,
    request: Omit<RequestOf<S, N>, 'requestId'>,
  ): PreparedMutation<ResponseOf<S, N>>;
  /** Checks once who is signed in, and resumes the tab if it is the same user. */
  probe(): Promise<void>;
  /** Headers of a request, with the positions that its response must include. */
  headers(contentType: string): Record<string, string>;
  /** Records the position that a response has reached. */
  record(answer: Response): void;
}

export function createCaller(ports: CallPorts): Caller {
  const positions = new Positions();
  /** True after a refusal that made the user sign in again, perhaps as another one. */
  let mustIdentify = false;

  async function post(path: string, body: string, signal?: AbortSignal): Promise<unknown> {
    const sent = positions.held();
    const sentMs = browserMs();
    const response = await exchange(ports, path, headersOf('application/json', sent), body, signal);
    learnServerTime(response.headers.get('date'), sentMs);
    ports.connection.reached();
    positions.replace(sent, response.headers.get(SEQUENCE_HEADER));
    const answer = await jsonOf(response);
    if (!response.ok) throw parseRpcError(answer, response.headers.get('retry-after'));
    ports.session.answered();
    return answer;
  }

  /** Resolves to false if another user is signed in. */
  async function identify(): Promise<boolean> {
    const answer = await post(pathOf('ProjectService', 'getSelf'), '{}');
    return ports.session.identified((answer as ResponseOf<'ProjectService', 'getSelf'>).name);
  }

  return {
    async read<S extends ServiceName, N extends ReadName<S>>(
      service: S,
      method: N,
      request: RequestOf<S, N>,
      options: ReadOptions = {},
    ) {
      const path = pathOf(service, method);
      const body = JSON.stringify(request);
      const answer = await repeat(ports, () => post(path, body, options.signal), options);
      // The types are those of the service itself, so responses are not validated again.
      return answer as ResponseOf<S, N>;
    },
    prepare<S extends ServiceName, N extends MutationName<S>>(
      service: S,
      method: N,
      request: Omit<RequestOf<S, N>, 'requestId'>,
    ) {
      const path = pathOf(service, method);
      const requested = JSON.stringify(request);
      const { requestIds } = ports;
      const requestId = requestIds.idFor(path, requested);
      const body = JSON.stringify({ ...request, requestId });
      return {
        requestId,
        async send() {
          try {
            if (mustIdentify && !(await identify())) throw otherUser();
            mustIdentify = false;
            requestIds.sent(path, requested, requestId);
            const answer = await post(path, body);
            requestIds.saved();
            return answer as ResponseOf<S, N>;
          } catch (error) {
            if (!(error instanceof RpcError)) throw error;
            if (error.isDefinite) requestIds.refused(path);
            if (error.isSignInTooOld) mustIdentify = true;
            // This opens the dialog; the user decides whether to send it again.
            if (error.isSignedOut) void ports.session.ended();
            throw error;
          }
        },
      };
    },
    async probe() {
      await identify();
    },
    headers: (contentType) => headersOf(contentType, positions.held()),
    record: (answer) => positions.replace([], answer.headers.get(SEQUENCE_HEADER)),
  };
}

/** The page reloads, so the user reads no message. */
function otherUser(): RpcError {
  return new RpcError({ code: 'permission_denied', reason: '', message: '' });
}

/** The caller of the dashboard. */
export const { read, prepare, probe, headers, record } = createCaller({
  fetch: (path, init) => fetch(path, init),
  clock: serverClock,
  connection,
  session,
  requestIds: createRequestIds(() => sessionStorage),
});

/** Path of a method: `/svc.monitoring.v1.AlertService/ListIncidents`. */
export function pathOf<S extends ServiceName>(service: S, method: MethodName<S>): string {
  const name = method.charAt(0).toUpperCase() + method.slice(1);
  return `/${servicePackages[service]}.${service}/${name}`;
}

/**
 * Retries until there is a response or a refusal; waits for a sign-in if the session is missing.
 */
async function repeat(
  ports: CallPorts,
  call: () => Promise<unknown>,
  options: ReadOptions,
): Promise<unknown> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      if (error.isSignedOut) await ports.session.ended();
      else if (!error.isRetryable) throw error;
      else {
        const delayMs = retryDelayMs(error, attempt);
        options.onRetry?.(error, ports.clock.now() + delayMs);
        await pause(ports.clock, delayMs, options.signal);
      }
    }
  }
}

function headersOf(contentType: string, sent: readonly string[]): Record<string, string> {
  return {
    'content-type': contentType,
    'connect-protocol-version': '1',
    ...(sent.length > 0 && { [SEQUENCE_HEADER]: sent.join(',') }),
  };
}

/** One request. Throws `NO_CONNECTION` or `NO_ANSWER`, or the reason of `signal`. */
async function exchange(
  ports: CallPorts,
  path: string,
  requestHeaders: Record<string, string>,
  body: string,
  signal?: AbortSignal,
): Promise<Response> {
  const limit = new AbortController();
  const cancel = ports.clock.wakeAfter(ANSWER_MS_MAX, () => limit.abort());
  const stop = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
  try {
    return await ports.fetch(path, {
      method: 'POST',
      headers: requestHeaders,
      body,
      signal: stop,
      credentials: 'same-origin',
      redirect: 'error',
    });
  } catch (cause) {
    signal?.throwIfAborted();
    ports.connection.lost();
    const reason = limit.signal.aborted ? 'NO_ANSWER' : 'NO_CONNECTION';
    throw new RpcError({ code: 'unknown', reason, message: String(cause) });
  } finally {
    cancel();
  }
}

async function jsonOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    // A proxy's page, or a truncated response.
    throw new RpcError({ code: 'unknown', reason: 'BAD_ANSWER', message: String(cause) });
  }
}

function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.wakeAfter(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}
