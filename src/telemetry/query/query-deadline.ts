/**
 * How long a query may take (LIMIT-03): 10 s from the moment that it may begin. How many
 * of a project may begin at once is decided before, for calls of every kind (`ProjectGate`).
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { QUERY_MS_MAX } from './limits.ts';

export interface QueryDeadlineOptions {
  readonly clock: Clock;
  /** The asker has gone. */
  readonly signal: AbortSignal;
  /** Default 10 s. */
  readonly timeoutMs?: number;
}

/**
 * Runs `work` until it ends, its time is over or the asker has gone; the work may be slow to notice
 * the last two, the caller is not. Throws a `Refusal` QUERY_TIMEOUT, what `work` throws, or the
 * reason of `signal`.
 */
export async function withDeadline<T>(
  { clock, timeoutMs = QUERY_MS_MAX, signal }: QueryDeadlineOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const ended = new AbortController();
  const { promise: end, reject } = Promise.withResolvers<never>();
  ended.signal.addEventListener('abort', () => reject(ended.signal.reason));
  const cancel = clock.wakeAfter(timeoutMs, () => ended.abort(timedOut(timeoutMs)));
  const onAbort = () => ended.abort(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([end, work(ended.signal)]);
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

function timedOut(timeoutMs: number): Refusal {
  const message = `The query took longer than ${timeoutMs / 1000} seconds: ask for less`;
  return new Refusal('QUERY_TIMEOUT', message);
}
