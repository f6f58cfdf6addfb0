/**
 * The thread that answers queries: reads history through a connection of its own, evaluates, and
 * makes the answer's bytes, so that neither ingest nor alerting ever waits for a query.
 */
import { HistoryView } from '../../../sqlite/history/history-view.ts';
import { serveThread } from '../../../sqlite/history/threads/thread-port.ts';
import { RecordReader } from '../../../sqlite/record-reader.ts';
import { systemClock } from '../../../streams/clock.ts';
import { vmWork } from '../vm/vm-work.ts';
import type { QueryThreadData } from './query-threads.ts';
import type { ThreadContext, ThreadWork } from './thread-work.ts';

// Below ingest and alerting, above the writing of chunks: somebody waits for an answer.
const NICENESS = 3;

/** The areas of work, each with its own methods. */
const AREAS: readonly ThreadWork[] = [vmWork];

serveThread(NICENESS, (data: QueryThreadData) => {
  const context: ThreadContext = {
    history: new HistoryView(data.history),
    records: new RecordReader(data.controlPath),
    clock: systemClock,
  };
  return {
    methods: Object.assign({}, ...AREAS.map((work) => work(context))),
    close() {
      context.history.close();
      context.records.close();
    },
  };
});
