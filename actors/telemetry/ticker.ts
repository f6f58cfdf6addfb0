/**
 * Writes ticks into the sample log of each partition that has a project and that this member acts
 * for. The evaluator measures gaps against them. A tick that could not be written is not repeated, because the next one carries
 * the time just as well.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { Sleep } from '../../streams/platform/pause.ts';
import { partitionOf, type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import type { LivenessReport } from '../../streams/telemetry/entry.ts';
import type { Host } from '../platform/host/host-port.ts';
import { appendEntry } from './sample-log.ts';

export interface TickerDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
  readonly ownership: Ownership;
  /** The tick's content beside its time; undefined: unknown now. Absent: never any. */
  readonly livenessReport?: (partition: number, atMs: number) => LivenessReport | undefined;
  /** A tick that the stream did not take. */
  readonly onLost?: (error: StreamUnavailable) => void;
}

/** Half a sampling interval: a gap is noticed at most this much later than possible. */
export const TICK_MS = 15_000;

/**
 * Ticks until `signal`, also as soon as this member begins to act for something. Rejects on a fault
 * that is not the stream's.
 */
export async function tick(deps: TickerDeps, signal: AbortSignal): Promise<void> {
  const { clock, host, ownership } = deps;
  const between = new Sleep(clock);
  const begun = new Map<number, number>();
  // A change while a round is under way counts too: the round may have passed what it is about.
  let isChanged = false;
  const undo = ownership.onChange(() => {
    isChanged = true;
    between.wake();
  });
  try {
    while (!signal.aborted) {
      isChanged = false;
      const projects = host.projects().filter((project) => project !== SYSTEM_PROJECT);
      const atMs = clock.now();
      await Promise.all(
        [...new Set(projects.map(partitionOf))].map((p) => tickOne(deps, begun, p, atMs)),
      );
      if (!isChanged) await between.pause(TICK_MS, signal);
    }
  } finally {
    undo();
  }
}

/** @param begun epochs whose beginning the log has, by partition */
async function tickOne(
  { ownership, stream, ...deps }: TickerDeps,
  begun: Map<number, number>,
  partition: number,
  atMs: number,
): Promise<void> {
  const epoch = ownership.epochOf(partition);
  if (epoch === undefined) return;
  const under = { atMs, ...(epoch > 0 && { epoch }) };
  try {
    // A marker first: who reads markers alone then judges the stale ones as who reads all entries.
    if (epoch > (begun.get(partition) ?? 0)) {
      await appendEntry(stream, partition, { kind: 'rules', ...under, upserts: [], removals: [] });
      begun.set(partition, epoch);
    }
    const livenessReport = deps.livenessReport?.(partition, atMs);
    await appendEntry(stream, partition, {
      kind: 'tick',
      ...under,
      ...(livenessReport && { livenessReport }),
    });
  } catch (error) {
    if (!(error instanceof StreamUnavailable)) throw error;
    deps.onLost?.(error);
  }
}
