/**
 * Runs a whole log through the evaluation pipeline, from memory. The past of its markers is the log
 * itself.
 */
import { from, map } from 'rxjs';
import { pastFromMs } from '../../streams/alerting/evaluation/catch-up.ts';
import { evaluate, type PlacedMarker, timeOf } from '../../streams/alerting/evaluation/pipeline.ts';
import { valuesNow } from '../../streams/platform/operators.ts';
import type { Edge, LogEntry } from '../../streams/telemetry/entry.ts';
import type { PlacedEntry } from '../../streams/telemetry/entry-codec.ts';

/** The edges of one entry. */
export interface LoggedEdges {
  readonly sequence: number;
  readonly edges: readonly Edge[];
}

/** Edges of a log, one element for each entry. Nothing was decided before. */
export function evaluateLog(log: readonly PlacedEntry[]): LoggedEdges[] {
  const past = { entries: (marker: PlacedMarker) => from(pastOf(log, marker)) };
  return valuesNow(
    from(log).pipe(
      evaluate({ states: new Map(), past }),
      map(({ sequence, edges }) => ({ sequence, edges })),
    ),
  );
}

/** The entries of one partition, stored when they were received; sequences count from 1. */
export function logOf(entries: readonly LogEntry[]): PlacedEntry[] {
  return entries.map((entry, i) => {
    return { sequence: i + 1, partition: 0, storedMs: timeOf(entry), entry };
  });
}

/** Batches stored before the marker, within the windows of its rules. */
function* pastOf(log: readonly PlacedEntry[], marker: PlacedMarker): Generator<LogEntry> {
  const fromMs = pastFromMs(marker.entry, marker.storedMs);
  for (const { sequence, partition, storedMs, entry } of log) {
    if (sequence >= marker.sequence) return;
    if (partition === marker.partition && storedMs >= fromMs) yield entry;
  }
}
