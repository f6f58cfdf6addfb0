/**
 * State of a value that a page loads: the value, its time, and why there is no newer one.
 * `DataView` shows each of these states; stale data never looks live.
 */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { type Clock, serverClock } from './clock.ts';
import { RpcError } from './rpc-error.ts';
import { visibility } from './visibility.ts';

export interface Loaded<T> {
  /** The last response; kept while a newer one is pending or fails. */
  readonly value: T | undefined;
  /** When `value` arrived, server's time, Unix ms. */
  readonly loadedMs: number | undefined;
  readonly isLoading: boolean;
  /** Why the latest attempt failed; undefined after a response. */
  readonly error: RpcError | undefined;
  /** Time of the next automatic attempt; undefined if absent. */
  readonly retryMs: number | undefined;
}

/** What to show: the relevant parts, in order. */
export type Displayed<T> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'denied'; readonly error: RpcError }
  | { readonly kind: 'failed'; readonly error: RpcError; readonly retryMs: number | undefined }
  | {
      readonly kind: 'value';
      readonly value: T;
      /** Since when the value is stale, and why; undefined if it is current. */
      readonly stale: { readonly sinceMs: number; readonly error: RpcError } | undefined;
    };

/**
 * A refusal replaces the value, because a user who lost access must not continue reading. A failure
 * keeps it.
 */
export function displayedOf<T>(state: Loaded<T>): Displayed<T> {
  const { value, error, loadedMs, retryMs } = state;
  if (error?.isDenied) return { kind: 'denied', error };
  if (value !== undefined && loadedMs !== undefined && error?.reason !== 'NOT_FOUND') {
    return { kind: 'value', value, stale: error && { sinceMs: loadedMs, error } };
  }
  if (error !== undefined) return { kind: 'failed', error, retryMs };
  return { kind: 'loading' };
}

/** How to load a value. Throws an `RpcError`. */
export type Load<T> = (options: {
  readonly signal: AbortSignal;
  readonly onRetry: (error: RpcError, retryAtMs: number) => void;
}) => Promise<T>;

/** Seconds until the next load: constant, or depending on the last response. */
export type PollSeconds<T> = number | ((value: T | undefined) => number);

export interface LoaderPorts {
  readonly clock: Clock;
  /** True while the page is visible. */
  readonly visibility: { isVisible(): boolean; onVisible(call: () => void): () => void };
}

export interface Loader<T> {
  readonly state: Signal<Loaded<T>>;
  /** Loads now and abandons a load in progress. */
  reload(): void;
  /** Loads once in another way, such as the next pages of a list. */
  update(load: Load<T>): void;
  /** Replaces the value with one from elsewhere, such as the response of a mutation. */
  set(value: T): void;
  /** Starts loading and polling; the returned function stops both. */
  start(): () => void;
}

/** A loader that reloads its value every `pollSeconds` while the page is visible. */
export function createLoader<T>(
  load: Load<T>,
  pollSeconds: PollSeconds<T> | undefined,
  ports: LoaderPorts,
): Loader<T> {
  const state = signal<Loaded<T>>({ ...NOTHING, value: undefined });
  let current = new AbortController();
  let cancelPoll: () => void = () => undefined;
  let isStarted = false;

  const pollMs = (): number | undefined => {
    const isByAnswer = typeof pollSeconds === 'function';
    const seconds = isByAnswer ? pollSeconds(state.peek().value) : pollSeconds;
    return seconds === undefined ? undefined : seconds * 1_000;
  };

  const poll = (): void => {
    const ms = pollMs();
    if (!isStarted || ms === undefined) return;
    cancelPoll = ports.clock.wakeAfter(ms, () => {
      // A hidden page loads when it becomes visible again.
      if (ports.visibility.isVisible()) reload();
    });
  };

  const update = (load: Load<T>): void => {
    current.abort();
    cancelPoll();
    const own = new AbortController();
    current = own;
    state.value = { ...state.peek(), isLoading: true, retryMs: undefined };
    const onRetry = (error: RpcError, retryMs: number): void => {
      if (!own.signal.aborted) state.value = { ...state.peek(), error, retryMs };
    };
    const settle = (outcome: Partial<Loaded<T>>): void => {
      if (own.signal.aborted) return;
      state.value = { ...state.peek(), isLoading: false, retryMs: undefined, ...outcome };
      poll();
    };
    load({ signal: own.signal, onRetry }).then(
      (value) => settle({ value, loadedMs: ports.clock.now(), error: undefined }),
      (error: unknown) => settle({ error: asRpcError(error) }),
    );
  };
  const reload = (): void => update(load);

  return {
    state,
    reload,
    update,
    set(value) {
      state.value = { ...state.peek(), value, loadedMs: ports.clock.now(), error: undefined };
    },
    start() {
      isStarted = true;
      reload();
      const forget = ports.visibility.onVisible(() => {
        if (isDue(state.peek(), pollMs(), ports.clock)) reload();
      });
      return () => {
        isStarted = false;
        forget();
        cancelPoll();
        current.abort();
      };
    },
  };
}

const NOTHING = { loadedMs: undefined, isLoading: true, error: undefined, retryMs: undefined };

function isDue(state: Loaded<unknown>, pollMs: number | undefined, clock: Clock): boolean {
  if (pollMs === undefined || state.isLoading) return false;
  return state.loadedMs === undefined || clock.now() - state.loadedMs >= pollMs;
}

/** A bug in the dashboard itself is shown like a refusal, with its message. */
function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  return new RpcError({ code: 'unknown', reason: 'INTERNAL', message: String(error) });
}

/**
 * A loader while the component is mounted. It restarts when `key` changes: include the resource and
 * the filters in it.
 */
export function useLoaded<T>(key: string, load: Load<T>, pollSeconds?: PollSeconds<T>): Loader<T> {
  // `key` covers everything that `load` depends on. A function for `pollSeconds` must be stable.
  const loader = useMemo(
    () => createLoader(load, pollSeconds, { clock: serverClock, visibility }),
    [key, pollSeconds],
  );
  useEffect(() => loader.start(), [loader]);
  return loader;
}
