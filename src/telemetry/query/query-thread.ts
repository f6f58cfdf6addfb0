/**
 * The entry of a query thread: it reads history through a connection of its own, evaluates, and
 * writes the answer's bytes, so that neither ingest nor alerting ever waits for a query.
 */

import { RecordReader } from '../../../sqlite/platform/control/record-reader.ts';
import { HistoryView } from '../../../sqlite/telemetry/history/store/history-view.ts';
import { serveThread } from '../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { recomputeMethods } from './explain/recompute-incident.ts';
import { previewMethods } from './preview/alert-preview.ts';
import { promqlMethods } from './promql/promql-evaluation.ts';
import { SeriesThread } from './series/series-thread.ts';
import type { QueryThreadData } from './threads/query-threads.ts';
import { vmMethods } from './vm/vm-queries.ts';

// Far below ingest and alerting: two threads full of queries leave them nine tenths of a core.
const NICENESS = 10;

serveThread(NICENESS, openQueryThread);

function openQueryThread({ controlPath, history: share }: QueryThreadData) {
  const records = new RecordReader(controlPath);
  const history = new HistoryView(share);
  const series = new SeriesThread({ share, records });
  return {
    methods: {
      ...promqlMethods(series, systemClock),
      ...vmMethods(history),
      ...previewMethods(history, records),
      ...recomputeMethods(history),
    },
    close() {
      history.close();
      series.close();
      records.close();
    },
  };
}
