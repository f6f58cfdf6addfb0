/** Lets log entries pass at the pace at which they were received, under any scheduler. */
import {
  concatMap,
  defer,
  delay,
  type MonoTypeOperatorFunction,
  of,
  type SchedulerLike,
} from 'rxjs';
import type { LogEntry } from '../../telemetry/entry.ts';

/**
 * Each entry waits until as much time has passed since the first as between their receipts, divided
 * by `speed`. With a `VirtualTimeScheduler` no time passes at all. Entries received at one moment
 * pass together; receipts that go back are not waited for.
 */
export function pacedByLog<T extends { readonly entry: LogEntry }>(
  scheduler: SchedulerLike,
  speed = 1,
): MonoTypeOperatorFunction<T> {
  return (entries) =>
    defer(() => {
      const startedMs = scheduler.now();
      let firstMs: number | undefined;
      return entries.pipe(
        concatMap((next) => {
          firstMs ??= timeOf(next.entry);
          const dueMs = startedMs + (timeOf(next.entry) - firstMs) / speed;
          const waitMs = dueMs - scheduler.now();
          return waitMs > 0 ? of(next).pipe(delay(waitMs, scheduler)) : of(next);
        }),
      );
    });
}

function timeOf(entry: LogEntry): number {
  return entry.kind === 'batch' ? entry.batch.receivedMs : entry.atMs;
}
