/**
 * A process that appends the log of `history-log.ts` and flushes constantly, until it is killed:
 * `node history-writer.ts <folder> <last sequence>`. Reports each flush.
 */
import { openHistory } from '../../sqlite/telemetry/history/store/store.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { LOG_PARTITION, LOG_START_MS, LOG_STEP_MS, logBatch } from './history-log.ts';

const [folder = '', last = '0'] = process.argv.slice(2);
const history = openHistory({
  folder,
  clock: systemClock,
  logIdentity: 'log',
  background: false,
  readers: 1,
  retentionMs: 1e12,
});
let sequence = history.floor(LOG_PARTITION);
for (let isReady = false; sequence <= Number(last); isReady = true) {
  // The first flush has started the writing thread. Kills make sense from here on.
  if (isReady) process.stdout.write('flushed\n');
  // A few batches per flush, so that most kills hit one.
  for (let i = 0; i < 4 && sequence <= Number(last); i++, sequence++) {
    history.append(logBatch(sequence), { partition: LOG_PARTITION, sequence });
  }
  await history.flush();
  if (sequence % 36 < 4) await history.retain(LOG_START_MS + sequence * LOG_STEP_MS);
}
await history.close();
