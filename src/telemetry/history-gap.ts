/**
 * Reports at start which rows history has lost for good. If `history.db` was removed or replaced by
 * an older copy, the missing rows are read again from the sample log, which covers the last few
 * hours. Rows between the two are lost, and an operator has to know.
 */
import { SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import type { StoredStatistics } from '../../sqlite/telemetry/history/store/stored-statistics.ts';
import type { Stream, StreamState } from '../../streams/platform/stream.ts';
import type { Log } from '../platform/log.ts';

export interface HistoryGapOptions {
  readonly history: {
    readonly retentionMs: number;
    newestFloor(): number;
    stored(): Promise<StoredStatistics>;
    recordLost(stretch: { readonly fromMs: number; readonly toMs: number }): void;
  };
  /** Unix ms. */
  readonly nowMs: number;
  readonly stream: Pick<Stream, 'read'>;
  /** State of the sample log. */
  readonly samples: Pick<StreamState, 'firstSequence'>;
}

/** The lost rows: those received between the two times, Unix ms. */
export interface HistoryGap {
  /** Newest observation in chunks; absent: there are none. */
  readonly afterMs?: number;
  /** The log's first entry; absent: the log is empty. */
  readonly beforeMs?: number;
}

/**
 * undefined = nothing is missing. The log is only truncated below a floor that is on disk. A log
 * that begins after every floor was therefore truncated for another history than this one.
 */
async function findHistoryGap(options: HistoryGapOptions): Promise<HistoryGap | undefined> {
  const { history, stream, samples } = options;
  const sequence = samples.firstSequence;
  if (sequence <= history.newestFloor()) return undefined;
  const { newestMs } = await history.stored();
  const beforeMs = await storedMs(stream, sequence);
  return {
    ...(newestMs !== undefined && { afterMs: newestMs }),
    ...(beforeMs !== undefined && { beforeMs }),
  };
}

/**
 * Maximum age of the oldest row outside of chunks relative to the newest chunk, ms: a VM's rows
 * wait for an hour, and a fleet is flushed to chunks over minutes.
 */
const UNFLUSHED_MS = 2 * 3_600_000;

/**
 * Warns the operator once per start, until history has caught up and moved its floors. Queries
 * report `HISTORY_LOST` for missing rows in that range, as long as it is within retention.
 */
export async function reportHistoryGap(options: HistoryGapOptions, log: Log): Promise<void> {
  const gap = await findHistoryGap(options);
  if (gap === undefined) return;
  const { afterMs, beforeMs } = gap;
  const toMs = beforeMs ?? options.nowMs;
  const fromMs = (afterMs ?? options.nowMs - options.history.retentionMs) - UNFLUSHED_MS;
  options.history.recordLost({ fromMs, toMs });
  const from = afterMs === undefined ? 'all of it' : `from ${timeText(afterMs)}`;
  const to = beforeMs === undefined ? 'to now' : `to ${timeText(beforeMs)}`;
  log.warn(
    { part: 'history', ...gap },
    `history.db was removed or is an older copy: readings are missing, ${from} ${to}. ` +
      'Later readings are read again from the sample log',
  );
}

async function storedMs(stream: Pick<Stream, 'read'>, sequence: number) {
  const read = stream.read({ stream: SAMPLES_STREAM, from: { sequence }, untilEnd: true });
  try {
    for await (const { timeMs } of read) return timeMs;
    return undefined;
  } finally {
    await read.close();
  }
}

function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
