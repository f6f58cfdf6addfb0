/**
 * Writes ticks into the sample log of each partition that has a project. The evaluator measures
 * gaps against them. A tick that could not be written is not repeated, because the next one carries
 * the time just as well.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { pause } from '../../streams/platform/pause.ts';
import { partitionOf, type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import type { LivenessReport } from '../../streams/telemetry/entry.ts';
import type { Host } from '../platform/host/host-port.ts';
import { appendEntry } from './sample-log.ts';

export interface TickerDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
  /** The tick's content beside its time; undefined: unknown now. Absent: never any. */
  readonly livenessReport?: (partition: number, atMs: number) => LivenessReport | undefined;
  /** A tick that the stream did not take. */
  readonly onLost?: (error: StreamUnavailable) => void;
}

/** Half a sampling interval: a gap is noticed at most this much later than possible. */
export const TICK_MS = 15_000;

/** Ticks until `signal`. Rejects on a fault that is not the stream's. */
export async function tick(deps: TickerDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const projects = deps.host.projects().filter((project) => project !== SYSTEM_PROJECT);
    const atMs = deps.clock.now();
    await Promise.all([...new Set(projects.map(partitionOf))].map((p) => tickOne(deps, p, atMs)));
    await pause(deps.clock, TICK_MS, signal);
  }
}

async function tickOne(deps: TickerDeps, partition: number, atMs: number): Promise<void> {
  try {
    const livenessReport = deps.livenessReport?.(partition, atMs);
    await appendEntry(deps.stream, partition, {
      kind: 'tick',
      atMs,
      ...(livenessReport && { livenessReport }),
    });
  } catch (error) {
    if (!(error instanceof StreamUnavailable)) throw error;
    deps.onLost?.(error);
  }
}
