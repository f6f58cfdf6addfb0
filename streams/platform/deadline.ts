/** Work that may take only so long, on the clock port. */
import type { Clock } from './clock.ts';

/**
 * Runs `work` with a signal that aborts after `ms`, with `reason`, or together with `signal`. It
 * ends when the work does: wrap what may ignore its signal in `unlessAborted`.
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

/** As `promise`, but rejects with the signal's reason as soon as that aborts. */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  return callingOnAbort(signal, onAbort, Promise.race([aborted, promise]));
}

/** As `promise`. `onAbort` is called if `signal` aborts before it settles; it may settle it. */
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

/** What `promise` resolves to; undefined when it has not after `ms`: nobody waits for it then. */
export function withinTime<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.wakeAfter(ms, () => resolve(undefined));
  return Promise.race([promise, over]).finally(cancel);
}
