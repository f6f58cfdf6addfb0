/**
 * The entry of a replay thread. It reads history through its own connection and replays a rule
 * there, so that neither ingest nor alerting nor a query ever waits for it.
 */
import { HistoryView } from '../../sqlite/telemetry/history/store/history-view.ts';
import { serveThread } from '../../sqlite/telemetry/history/threads/supervised-thread.ts';
import type { QueryThreadData } from '../telemetry/query/threads/query-threads.ts';
import { ruleReplayMethods } from './rule-replay.ts';

// Like the query threads: far below ingest and alerting.
const NICENESS = 10;

export const thread = serveThread(NICENESS, openReplayThread);

function openReplayThread({ history: share }: QueryThreadData) {
  const history = new HistoryView(share);
  return { methods: ruleReplayMethods(history), close: () => history.close() };
}
