/**
 * A process that runs the merges and drops that are due in a history, until it is killed or
 * finishes: `node history-keeper.ts <folder> <now, Unix ms>`. Reports when it begins.
 */
import { openHistory } from '../../sqlite/telemetry/history/store/store.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

const [folder = '', now = '0'] = process.argv.slice(2);
const nowMs = Number(now);
const history = openHistory({
  folder,
  clock: new VirtualClock(nowMs),
  logIdentity: 'log-1',
  background: false,
  readers: 1,
});
// Nothing is due at that time. The writing thread starts, so that every later moment is worth a
// kill.
await history.retain(0);
process.stdout.write('keeping\n');
await history.retain(nowMs);
await history.close();
