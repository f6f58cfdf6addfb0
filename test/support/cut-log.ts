/**
 * A sample log whose older entries were cut, and the history that has their rows: a real embedded
 * stream in memory and a real history. Entry i of the log has sequence i + 1.
 */
import Database from 'better-sqlite3';
import {
  appendEntry,
  partitionSubject,
  SAMPLES_STREAM,
  samplesSpec,
} from '../../actors/telemetry/sample-log.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import type { History } from '../../sqlite/telemetry/history/store/store.ts';
import { timeOf } from '../../streams/alerting/evaluation/pipeline.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { LogEntry } from '../../streams/telemetry/entry.ts';
import { openStore } from './history-from-log.ts';

export const LOG_PARTITION = 7;

export interface CutLog {
  readonly stream: Stream;
  readonly history: History;
  readonly clock: VirtualClock;
  /** Cuts the partition's log below entry `index`, whose rows are already in chunks. */
  cut(index: number): Promise<void>;
  close(): Promise<void>;
}

/** Stores the entries when they were received, in an empty folder for history. */
export async function openCutLog(folder: string, entries: readonly LogEntry[]): Promise<CutLog> {
  const [first] = entries;
  const clock = new VirtualClock(first ? timeOf(first) : 0);
  const database = new Database(':memory:');
  const stream = openEmbeddedStream({ storage: database, clock });
  await stream.ensure(samplesSpec);
  const history = openStore({ folder, clock });
  for (const entry of entries) {
    await clock.advance(Math.max(0, timeOf(entry) - clock.now()));
    const sequence = await appendEntry(stream, LOG_PARTITION, entry);
    const position = { partition: LOG_PARTITION, sequence };
    if (entry.kind === 'batch') history.append(entry.batch, position);
    else history.pass(position);
  }
  const subject = partitionSubject(LOG_PARTITION);
  return {
    stream,
    history,
    clock,
    async cut(index) {
      await history.flush();
      await stream.truncate({ stream: SAMPLES_STREAM, subject, belowSequence: index + 1 });
    },
    async close() {
      await history.close();
      await stream.close();
      database.close();
    },
  };
}
