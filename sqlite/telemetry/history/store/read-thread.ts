/**
 * The thread that reads history for others: one request after another, each over the head and its
 * own connection, so that neither ingest nor alerting ever waits for a query.
 */
import type { RowsRequest } from '../chunk/chunk-reader.ts';
import type { VmRows } from '../rows.ts';
import { serveThread } from '../threads/supervised-thread.ts';
import { type HistoryShare, HistoryView } from './history-view.ts';

// Below ingest and alerting, above the writing of chunks: a client is waiting.
const NICENESS = 3;

export const thread = serveThread(NICENESS, (share: HistoryShare) => {
  const view = new HistoryView(share);
  return {
    methods: {
      read: (request: RowsRequest, isCancelled) => {
        const result = view.read(request, isCancelled);
        return { result, transfer: buffersOf(result) };
      },
      check: (after: number) => ({ result: view.check(after) }),
      stored: () => ({ result: view.stored() }),
    },
    close: () => view.close(),
  };
});

/** Memory of the columns, each once: transferred to the caller, not copied. */
function buffersOf(rows: VmRows): ArrayBuffer[] {
  const { timesMs, vcpus, state, boot, stateReason, conflicted } = rows;
  const columns = [timesMs, vcpus, state, boot, stateReason, conflicted, ...rows.series.values()];
  const buffers = new Set<ArrayBuffer>();
  for (const { buffer } of columns) if (buffer instanceof ArrayBuffer) buffers.add(buffer);
  return [...buffers];
}
