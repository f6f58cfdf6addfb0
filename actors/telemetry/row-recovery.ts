/**
 * Stores rows that found no memory in history when they arrived. Their entries are still in the
 * log, because the floor waits for them, and are read again once there is memory. Until then every
 * read of their times fails, so that nobody takes an incomplete answer for a complete one.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { TimeSlices } from '../../streams/platform/operators.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import { pastEntries } from './sample-log.ts';

/** Rows of one project for which history had no memory. */
interface RefusedRows {
  readonly project: string;
  readonly partition: number;
  /** Entries of the log that have some: from the first to the last. */
  readonly firstSequence: number;
  readonly lastSequence: number;
}

/** The part of history that this file uses; `sqlite/telemetry/history` implements it. */
export interface RowRecovery {
  refused(): readonly RefusedRows[];
  /**
   * Stores the project's rows of the entry. false: not now; the entry must be offered again.
   */
  takeAgain(
    project: string,
    batch: SampleBatch,
    position: { readonly partition: number; readonly sequence: number },
  ): boolean;
  /** Everything of the project up to this sequence was taken in, or is in the log no more. */
  tookThrough(project: string, sequence: number): void;
}

export interface RowRecoveryDeps {
  readonly clock: Clock;
  readonly stream: Stream;
  readonly recovery: RowRecovery;
}

/** Time between two tries, ms. */
const LOOK_MS = 5_000;

/** Runs until `signal`. Rejects with what broke the stream. */
export async function recoverRows(deps: RowRecoveryDeps, signal: AbortSignal): Promise<void> {
  const slices = new TimeSlices(deps.clock);
  while (!signal.aborted) {
    await pause(deps.clock, LOOK_MS, signal);
    for (const refused of deps.recovery.refused()) {
      if (signal.aborted) return;
      // Where there is still no room the first row says so: no share of the memory is waited for,
      // which a project whose series alone fill it would never have free.
      await recover(deps, refused, slices);
    }
  }
}

async function recover(
  { stream, recovery }: RowRecoveryDeps,
  { project, partition, firstSequence, lastSequence }: RefusedRows,
  slices: TimeSlices,
): Promise<void> {
  const filter = { partition, kind: 'batch' } as const;
  for await (const placed of pastEntries(stream, { sequence: firstSequence }, filter)) {
    const { entry, sequence } = placed;
    if (entry.kind !== 'batch' || sequence > lastSequence) break;
    await slices.yieldIfDue();
    if (!recovery.takeAgain(project, entry.batch, { partition, sequence })) return;
  }
  recovery.tookThrough(project, lastSequence);
}
