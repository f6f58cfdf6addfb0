/**
 * Writes ticks to the sample log of each partition that has a project and is owned by this member.
 * The evaluator measures gaps against them. A tick that could not be written is not retried,
 * because the next one carries the time just as well.
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
  /** The tick's content besides its time; undefined: unknown now. Absent: ticks never have any. */
  readonly livenessReport?: (partition: number, atMs: number) => LivenessReport | undefined;
  /** Called for a tick that the stream did not accept. */
  readonly onLost?: (error: StreamUnavailable) => void;
}

/** Tick interval, ms: half a sampling interval. It bounds the delay with which a gap is noticed. */
export const TICK_MS = 15_000;

/**
 * Writes ticks until `signal`, and also as soon as this member becomes the owner of a partition.
 * Rejects on a fault other than the stream's.
 */
export async function tick(deps: TickerDeps, signal: AbortSignal): Promise<void> {
  const { clock, host, ownership } = deps;
  const between = new Sleep(clock);
  const begun = new Map<number, number>();
  // A change during a round counts too: the round may already have passed that partition.
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

/** @param begun epochs whose first marker is in the log, by partition */
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
    // A marker first: readers of markers alone then judge stale entries like readers of all
    // entries.
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
