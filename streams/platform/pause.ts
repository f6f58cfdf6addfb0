/** Waiting on the clock port, in a way that an abort ends at once. */
import type { Clock } from './clock.ts';

/** Resolves after `ms` of elapsed time, or as soon as `signal` aborts; never rejects. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.wakeAfter(ms, end);
    signal?.addEventListener('abort', end, { once: true });
  });
}
