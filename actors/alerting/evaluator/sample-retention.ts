/**
 * Truncates the sample log, each partition by itself: entries that are in chunks on disk and older
 * than the longest window of the partition's rules are no longer needed. A tenant's long window
 * keeps the log of its own partition only.
 *
 *     truncation point of a partition = min(start of its longest window, floors of all live
 *     members)
 */
import { FLOOR_MARGIN_MS } from '../../../streams/alerting/evaluation/notification-diff.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../../streams/platform/membership/membership.ts';
import { lowestOf, positionsOf } from '../../../streams/platform/membership/positions.ts';
import type { MemberProgress } from '../../../streams/platform/membership/roster.ts';
import { pause } from '../../../streams/platform/pause.ts';
import {
  PARTITIONS,
  partitionOf,
  type Stream,
  StreamUnavailable,
} from '../../../streams/platform/stream.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { liveInstances } from '../../platform/host/live-instances.ts';
import { partitionSubject, SAMPLES_STREAM } from '../../telemetry/sample-log.ts';
import type { HistoryWriter, SamplePipeline } from './sample-pipeline.ts';

/** The two consumers on this member that still need entries: history and the evaluator. */
interface LocalNeeds {
  readonly history: Pick<HistoryWriter, 'floor'>;
  readonly pipeline: Pick<SamplePipeline, 'partitions' | 'throughOf' | 'floorOf'>;
}

/** The consumers that still need entries, and the stream that holds them. */
export interface SampleRetentionDeps extends LocalNeeds {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
  /** One member truncates the log, and its clock must be valid. */
  readonly ownership: Pick<Ownership, 'owns'>;
  /**
   * Floors of every live member, possibly including this one, for a partition. Absent: there are no
   * others.
   */
  readonly memberFloors?: (partition: number) => readonly number[];
  /** The stream did not answer, so nothing was truncated this time. */
  readonly onLost?: (error: StreamUnavailable) => void;
  /** Minimum time for which entries are kept, ms. Absent: four hours. */
  readonly keptMsMin?: number;
}

/**
 * Minimum time for which entries are kept, ms: a new rule looks back over them, a member that was
 * away reads the missed entries, and rows without room in memory are read again.
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

/** Removes the entries that neither history nor the evaluator of any member needs any longer. */
async function truncateSamples(deps: SampleRetentionDeps): Promise<void> {
  const { stream } = deps;
  const { firstSequence, lastSequence } = await stream.state(SAMPLES_STREAM);
  const cuts = await cutsOf(deps, lastSequence + 1);
  // Entries that no partition needs are removed at once, which is cheaper than by subject.
  const base = Math.min(...cuts);
  if (base > firstSequence) await stream.truncate({ stream: SAMPLES_STREAM, belowSequence: base });
  for (const partition of deps.pipeline.partitions()) {
    const belowSequence = cuts[partition] ?? base;
    if (belowSequence <= Math.max(base, firstSequence)) continue;
    const subject = partitionSubject(partition);
    await stream.truncate({ stream: SAMPLES_STREAM, subject, belowSequence });
  }
}

/**
 * Sequence below which each partition's log may be truncated.
 *
 * @param end one past the log's last entry
 */
async function cutsOf(deps: SampleRetentionDeps, end: number): Promise<number[]> {
  const { clock, stream, memberFloors } = deps;
  const nowMs = clock.now();
  const kept = await keptMs(deps);
  const starts = new Map<number, number>();
  for (const windowMs of new Set(kept)) {
    starts.set(windowMs, await firstSince(stream, nowMs - windowMs, end));
  }
  return kept.map((windowMs, partition) => {
    // This member's current floor, because the announced one may be a second old.
    const floors = [sampleFloorOf(deps, partition), ...(memberFloors?.(partition) ?? [])];
    return Math.min(starts.get(windowMs) ?? 1, ...floors);
  });
}

/**
 * First sequence of a partition that this member still needs. Everything below is in chunks on its
 * disk and evaluated.
 */
function sampleFloorOf({ history, pipeline }: LocalNeeds, partition: number): number {
  const floor = pipeline.floorOf(partition);
  // Without an entry, history knows no position.
  const isKnown = pipeline.partitions().has(partition);
  return isKnown ? Math.min(floor, history.floor(partition)) : floor;
}

/**
 * This member's progress in the log, for its record. The log is never truncated above the lowest
 * floor of all live members.
 */
export function sampleProgress(
  needs: LocalNeeds,
): Required<Pick<MemberProgress, 'decided' | 'decidedOf' | 'floor' | 'floors'>> {
  const decidedOf = positionsOf((partition) => needs.pipeline.throughOf(partition));
  const floors = positionsOf((partition) => sampleFloorOf(needs, partition));
  return { decided: lowestOf(decidedOf), decidedOf, floor: lowestOf(floors), floors };
}

/**
 * Look-back of a rebuilt evaluator for each partition, ms: the longest window of its active rules
 * and its margin, at least the minimum.
 */
async function keptMs({ host, keptMsMin = KEPT_MS_MIN }: SampleRetentionDeps): Promise<number[]> {
  const kept: number[] = Array(PARTITIONS).fill(keptMsMin);
  for (const project of host.projects()) {
    const partition = partitionOf(project);
    for await (const { context } of liveInstances(host.view(project), 'alertRule')) {
      const { enabled, sustainedSeconds, recoverySeconds = 0 } = context.spec;
      if (!enabled) continue;
      const windowMs = Math.max(sustainedSeconds, recoverySeconds) * 1000 + FLOOR_MARGIN_MS;
      kept[partition] = Math.max(kept[partition] ?? 0, windowMs);
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
