/**
 * The thread that answers queries: reads history through a connection of its own, evaluates, and
 * makes the answer's bytes, so that neither ingest nor alerting ever waits for a query.
 */

import { RecordReader } from '../../../../sqlite/platform/control/record-reader.ts';
import { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import { serveThread } from '../../../../sqlite/telemetry/history/threads/thread-port.ts';
import { systemClock } from '../../../../streams/platform/clock.ts';
import { explainWork } from '../explain/explain-work.ts';
import { previewWork } from '../preview/preview-work.ts';
import { SeriesThread } from '../series/series-thread.ts';
import { vmWork } from '../vm/vm-work.ts';
import { promqlWork } from './promql-work.ts';
import type { QueryThreadData } from './query-threads.ts';
import type { ThreadContext, ThreadWork } from './thread-work.ts';

// Far below ingest and alerting: two threads full of queries leave them nine tenths of a core.
const NICENESS = 10;

/** The areas of work, each with its own methods. */
const AREAS: readonly ThreadWork[] = [promqlWork, vmWork, previewWork, explainWork];

serveThread(NICENESS, (data: QueryThreadData) => {
  const records = new RecordReader(data.controlPath);
  const context: ThreadContext = {
    ...{ records, clock: systemClock },
    history: new HistoryView(data.history),
    series: new SeriesThread({ share: data.history, records }),
  };
  return {
    methods: Object.assign({}, ...AREAS.map((work) => work(context))),
    close() {
      context.history.close();
      context.series.close();
      context.records.close();
    },
  };
});
