/** Reads again each second while a saved version is on its way to the evaluator. */
import { useEffect } from 'preact/hooks';
import { serverClock } from '../../../data/clock.ts';
import type { Loader } from '../../../data/loaded.ts';

const POLL_MS = 1_000;

/** @param isPending whether the value still waits for its application */
export function useUntilApplied<T>(loader: Loader<T>, isPending: (value: T) => boolean): void {
  const { value, loadedMs, isLoading } = loader.state.value;
  const mustWait = value !== undefined && !isLoading && isPending(value);
  // Each answer that is still pending leads to the next question.
  useEffect(() => {
    if (mustWait) return serverClock.wakeAfter(POLL_MS, loader.reload);
    return undefined;
  }, [mustWait, loadedMs, loader.reload]);
}
