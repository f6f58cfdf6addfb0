/**
 * Turns recorded rows into the log that a partition would have had: rows in batches as they
 * arrived, and a tick every 15 s between them. If a recording has a sampling interval above 30 s,
 * its time runs faster by that factor (`pace`), so that "three intervals without a sample" means
 * the same as live. The rules' durations run faster too, and the report uses the original times.
 */
import type { ObservedRow } from '../../actors/telemetry/collectors/collector.ts';
import { TICK_MS } from '../../actors/telemetry/ticker.ts';
import type { LogEntry } from '../../streams/telemetry/entry.ts';
import { BatchBuilder, VM_STATES } from '../../streams/telemetry/samples/batch.ts';

/** The sampling interval for which the evaluator's tolerances are made, ms. */
export const LIVE_INTERVAL_MS = 30_000;

/** Relation of recorded time and the evaluator's time. */
export interface Pace {
  /** Time that both have in common, Unix ms. */
  readonly originMs: number;
  /** Recorded ms per ms of the evaluator. */
  readonly factor: number;
}

export function paceOf(originMs: number, intervalMs: number): Pace {
  return { originMs, factor: intervalMs / LIVE_INTERVAL_MS };
}

export function evaluatorMs({ originMs, factor }: Pace, recordedMs: number): number {
  return Math.round(originMs + (recordedMs - originMs) / factor);
}

export function recordedMs({ originMs, factor }: Pace, evaluatorMs: number): number {
  return Math.round(originMs + (evaluatorMs - originMs) * factor);
}

/**
 * The log of rows in the order of arrival: each arrives when it was observed, or, if its time goes
 * back, with the row before it. Ticks cover the time from the first row to the last, or `span`,
 * which is in the evaluator's time.
 */
export function* logOf(
  project: string,
  rows: readonly ObservedRow[],
  pace: Pace,
  span?: { readonly fromMs: number; readonly untilMs: number },
): Generator<LogEntry> {
  let tickMs = span?.fromMs ?? Number.NaN;
  let arrivedMs = Number.NEGATIVE_INFINITY;
  let builder = new BatchBuilder();
  for (const [index, row] of rows.entries()) {
    const observedMs = evaluatorMs(pace, row.observedMs);
    const arrivesMs = Math.max(arrivedMs, observedMs);
    if (arrivesMs > arrivedMs && builder.count > 0) {
      yield { kind: 'batch', batch: builder.build(arrivedMs) };
      builder = new BatchBuilder();
    }
    if (Number.isNaN(tickMs)) tickMs = arrivesMs;
    for (; tickMs <= arrivesMs; tickMs += TICK_MS) yield { kind: 'tick', atMs: tickMs };
    arrivedMs = arrivesMs;
    add(builder, { project, row, observedMs, index });
  }
  if (builder.count > 0) yield { kind: 'batch', batch: builder.build(arrivedMs) };
  for (; span && tickMs <= span.untilMs; tickMs += TICK_MS) yield { kind: 'tick', atMs: tickMs };
}

function add(
  builder: BatchBuilder,
  at: { project: string; row: ObservedRow; observedMs: number; index: number },
): void {
  const { project, row, observedMs, index } = at;
  builder.add({
    project,
    vm: row.vm,
    observedMs,
    sequence: index,
    boot: row.bootId,
    vcpus: row.vcpus ?? Number.NaN,
    state: VM_STATES.indexOf(row.state),
    stateReason: row.stateReason,
    series: row.values.map(([key]) => key),
    values: row.values.map(([, value]) => value),
  });
}
