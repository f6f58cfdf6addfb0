/** Reloads every second until a saved version is applied by the evaluator. */
import { useEffect } from 'preact/hooks';
import { serverClock } from '../../../data/clock.ts';
import type { Loader } from '../../../data/loaded.ts';

const POLL_MS = 1_000;

/** @param isPending whether the value has not been applied yet */
export function useUntilApplied<T>(loader: Loader<T>, isPending: (value: T) => boolean): void {
  const { value, loadedMs, isLoading } = loader.state.value;
  const mustWait = value !== undefined && !isLoading && isPending(value);
  // Each pending response triggers the next request.
  useEffect(() => {
    if (mustWait) return serverClock.wakeAfter(POLL_MS, loader.reload);
    return undefined;
  }, [mustWait, loadedMs, loader.reload]);
}
