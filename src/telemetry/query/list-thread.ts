/**
 * Entry of the thread for lists of VMs: the part of a query thread that reads the newest rows of
 * each VM.
 */
import { HistoryView } from '../../../sqlite/telemetry/history/store/history-view.ts';
import { serveThread } from '../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import { QUERY_NICENESS } from './threads/limits.ts';
import type { QueryThreadData } from './threads/query-threads.ts';
import { vmMethods } from './vm/vm-queries.ts';

export const thread = serveThread(QUERY_NICENESS, ({ history: share }: QueryThreadData) => {
  const history = new HistoryView(share);
  return { methods: vmMethods(history), close: () => history.close() };
});
