/**
 * Hands rule markers the entries before them, from memory: for replays, where the log is at hand
 * as it passes. A running evaluator reads them from the stored log instead.
 */
import { defer, map, type OperatorFunction, scan } from 'rxjs';
import type { LogEntry } from '../../telemetry/entry.ts';
import type { PositionedEntry } from './fold-log.ts';

/** Keeps the batches received in the last `retainMs`; a new rule's duration and tolerance fit in. */
export function withPast(retainMs: number): OperatorFunction<PositionedEntry, PositionedEntry> {
  return (entries) =>
    defer(() => {
      const none: readonly LogEntry[] = [];
      return entries.pipe(
        scan(
          ({ kept }, next) => ({
            next: attach(next, kept),
            kept: keep(kept, next.entry, retainMs),
          }),
          { next: undefined as PositionedEntry | undefined, kept: none },
        ),
        map(({ next }) => {
          if (!next) throw new Error('A scan emits only what has come in');
          return next;
        }),
      );
    });
}

function attach(next: PositionedEntry, kept: readonly LogEntry[]): PositionedEntry {
  return next.entry.kind === 'rules' ? { ...next, past: kept } : next;
}

function keep(kept: readonly LogEntry[], entry: LogEntry, retainMs: number): readonly LogEntry[] {
  if (entry.kind !== 'batch') return kept;
  const fromMs = entry.batch.receivedMs - retainMs;
  const first = kept.findIndex((one) => one.kind === 'batch' && one.batch.receivedMs >= fromMs);
  return [...(first < 0 ? [] : kept.slice(first)), entry];
}
