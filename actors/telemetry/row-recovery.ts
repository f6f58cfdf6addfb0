/**
 * Stores rows for which history had no memory when they arrived. Their entries are still in the
 * log, because the floor waits for them, and are read again once there is memory. Until then every
 * read of their times fails, so that an incomplete result is never taken for a complete one. Only a
 * member that its cluster has declared dead for hours may find that the log no longer has them.
 * Responses then report that they are lost.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { TimeSlices } from '../../streams/platform/operators.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import { firstBatchOf, pastEntries } from './sample-log.ts';

/** Rows of one project for which history had no memory. */
interface RefusedRows {
  readonly project: string;
  readonly partition: number;
  /** First and last entry of the log that contain such rows. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Times of the rows, Unix ms, inclusive. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** The part of history that this file uses; `sqlite/telemetry/history` implements it. */
export interface RowRecovery {
  refused(): readonly RefusedRows[];
  /**
   * Stores the project's rows of the entry. false: not possible now, so offer the entry again
   * later.
   */
  takeAgain(
    project: string,
    batch: SampleBatch,
    position: { readonly partition: number; readonly sequence: number },
  ): boolean;
  /** Records that the project's rows up to this sequence are stored, or left the log. */
  tookThrough(project: string, sequence: number): void;
  /** Records that rows of these times are lost, so that responses report it. Unix ms, inclusive. */
  recordLost(stretch: { readonly fromMs: number; readonly toMs: number }): void;
}

export interface RowRecoveryDeps {
  readonly clock: Clock;
  readonly stream: Stream;
  readonly recovery: RowRecovery;
}

/** Interval between two attempts, ms. */
const LOOK_MS = 5_000;

/** Runs until `signal`. Rejects with the error that broke the stream. */
export async function recoverRows(deps: RowRecoveryDeps, signal: AbortSignal): Promise<void> {
  const slices = new TimeSlices(deps.clock);
  while (!signal.aborted) {
    await pause(deps.clock, LOOK_MS, signal);
    for (const refused of deps.recovery.refused()) {
      if (signal.aborted) return;
      // If there is still no memory, the first row reports it. The code does not wait for a free
      // share of the memory: a project whose series alone fill it would never have one.
      await recover(deps, refused, slices);
    }
  }
}

async function recover(
  { stream, recovery }: RowRecoveryDeps,
  { project, partition, firstSequence, lastSequence, fromMs, toMs }: RefusedRows,
  slices: TimeSlices,
): Promise<void> {
  const first = await firstBatchOf(stream, partition);
  // The log was truncated above all of them: other members did not know that this one needs it.
  if (first === undefined || first.sequence > lastSequence) recovery.recordLost({ fromMs, toMs });
  const filter = { partition, kind: 'batch' } as const;
  for await (const placed of pastEntries(stream, { sequence: firstSequence }, filter)) {
    const { entry, sequence, unreadable } = placed;
    if (sequence > lastSequence) break;
    if (unreadable) recovery.recordLost({ fromMs, toMs });
    if (entry.kind !== 'batch') continue;
    await slices.yieldIfDue();
    if (!recovery.takeAgain(project, entry.batch, { partition, sequence })) return;
  }
  recovery.tookThrough(project, lastSequence);
}
