/**
 * Truncates the sample log: entries that are in chunks on disk and older than the longest window of
 * any rule are no longer needed.
 */
import { FLOOR_MARGIN_MS } from '../../../streams/alerting/evaluation/notification-diff.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../../streams/platform/membership/membership.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { type Stream, StreamUnavailable } from '../../../streams/platform/stream.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { liveInstances } from '../../platform/host/live-instances.ts';
import { SAMPLES_STREAM } from '../../telemetry/sample-log.ts';
import type { HistoryWriter, SamplePipeline } from './sample-pipeline.ts';

/**
 * The consumers that still need entries, history and the evaluator, and the stream that holds them.
 */
export interface SampleRetentionDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
  readonly history: Pick<HistoryWriter, 'floor'>;
  readonly pipeline: Pick<SamplePipeline, 'partitions' | 'throughSequence' | 'floorOf' | 'stored'>;
  /** One member truncates the log, by a valid clock. */
  readonly ownership: Pick<Ownership, 'owns'>;
  /**
   * `sampleFloor` of every live member, possibly including this one. Absent: there are no others.
   */
  readonly memberFloors?: () => readonly number[];
  /** The stream did not answer, so nothing was truncated this time. */
  readonly onLost?: (error: StreamUnavailable) => void;
  /** Minimum time for which entries are kept, ms. Absent: four hours. */
  readonly keptMsMin?: number;
}

/**
 * Minimum time for which entries are kept, ms, because a new rule looks back over earlier samples.
 */
const KEPT_MS_MIN = 4 * 3_600_000;
const CHECK_MS = 600_000;

/** Truncates every ten minutes until `signal`, while this member acts for `_system`. */
export async function retainSamples(deps: SampleRetentionDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(deps.clock, CHECK_MS, signal);
    if (signal.aborted) return;
    if (!deps.ownership.owns(SYSTEM_PROJECT)) continue;
    try {
      await truncateSamples(deps);
    } catch (error) {
      if (!(error instanceof StreamUnavailable)) throw error;
      deps.onLost?.(error);
    }
  }
}

/** Removes the entries that neither history nor the evaluator needs any longer. */
async function truncateSamples(deps: SampleRetentionDeps): Promise<void> {
  const { clock, stream } = deps;
  const state = await stream.state(SAMPLES_STREAM);
  const windowStart = await firstSince(
    stream,
    clock.now() - (await keptMs(deps)),
    state.lastSequence + 1,
  );
  // This member's current floor, because the announced one may be a second old.
  const floors = [sampleFloor(deps), ...(deps.memberFloors?.() ?? [])];
  const below = Math.min(windowStart, ...floors);
  if (below <= state.firstSequence) return;
  await stream.truncate({ stream: SAMPLES_STREAM, belowSequence: below });
}

/**
 * First sequence of SAMPLES that this member still needs. Everything below is in chunks on its disk
 * and evaluated. A member announces it, and the log is never truncated above the smallest one.
 */
export function sampleFloor({
  history,
  pipeline,
}: Pick<SampleRetentionDeps, 'history' | 'pipeline'>): number {
  const floors = [...pipeline.partitions()].map((partition) => {
    return Math.min(history.floor(partition), pipeline.floorOf(partition));
  });
  return Math.min(...floors, pipeline.throughSequence() + 1, pipeline.stored.sequence + 1);
}

/** Look-back of a rebuilt evaluator, ms: the longest active window and its margin. */
async function keptMs({ host, keptMsMin }: SampleRetentionDeps): Promise<number> {
  let kept = keptMsMin ?? KEPT_MS_MIN;
  for (const project of host.projects()) {
    for await (const { context } of liveInstances(host.view(project), 'alertRule')) {
      const { spec } = context;
      const windowMs = Math.max(spec.sustainedSeconds, spec.recoverySeconds ?? 0) * 1000;
      kept = Math.max(kept, windowMs + FLOOR_MARGIN_MS);
    }
  }
  return kept;
}

async function firstSince(stream: Stream, timeMs: number, none: number): Promise<number> {
  const read = stream.read({ stream: SAMPLES_STREAM, from: { timeMs }, untilEnd: true });
  try {
    for await (const { sequence } of read) return sequence;
    return none;
  } finally {
    await read.close();
  }
}
