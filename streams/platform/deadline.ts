/** Work with a time limit, on the clock port. */
import type { Clock } from './clock.ts';

/**
 * Runs `work` with a signal that aborts after `ms`, with `reason`, or together with `signal`. It
 * ends when the work does: wrap work that may ignore its signal in `unlessAborted`.
 */
export async function withDeadline<T>(
  clock: Clock,
  limit: { readonly ms: number; readonly reason?: () => unknown; readonly signal?: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const overdue = new AbortController();
  const cancel = clock.wakeAfter(limit.ms, () => overdue.abort(limit.reason?.()));
  try {
    const { signal } = overdue;
    return await work(limit.signal ? AbortSignal.any([limit.signal, signal]) : signal);
  } finally {
    cancel();
  }
}

/** Like `promise`, but rejects with the signal's reason as soon as that aborts. */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  return callingOnAbort(signal, onAbort, Promise.race([aborted, promise]));
}

/** Like `promise`. `onAbort` is called if `signal` aborts before it settles; it may settle it. */
export async function callingOnAbort<T>(
  signal: AbortSignal | undefined,
  onAbort: () => void,
  promise: Promise<T>,
): Promise<T> {
  signal?.addEventListener('abort', onAbort);
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Result of `promise`; undefined if it has not resolved after `ms`, when its result is ignored. */
export function withinTime<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.wakeAfter(ms, () => resolve(undefined));
  return Promise.race([promise, over]).finally(cancel);
}
