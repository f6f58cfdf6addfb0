/**
 * Entry of a query thread: it reads history through its own connection, evaluates, and writes the
 * bytes of the response, so that neither ingest nor alerting ever waits for a query. The evaluation
 * of alert rules is half of the code, and is loaded by the first call that needs it.
 */

import { RecordReader } from '../../../sqlite/platform/control/record-reader.ts';
import { HistoryView } from '../../../sqlite/telemetry/history/store/history-view.ts';
import { serveThread } from '../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { promqlMethods } from './promql/promql-evaluation.ts';
import { SeriesThread } from './series/series-thread.ts';
import { QUERY_NICENESS } from './threads/limits.ts';
import { onDemand } from './threads/on-demand.ts';
import type { QueryThreadData } from './threads/query-threads.ts';
import { vmMethods } from './vm/vm-queries.ts';

export const thread = serveThread(QUERY_NICENESS, openQueryThread);

function openQueryThread({ controlPath, history: share }: QueryThreadData) {
  const records = new RecordReader(controlPath);
  const history = new HistoryView(share);
  const series = new SeriesThread({ share, records });
  return {
    methods: {
      ...promqlMethods(series, systemClock),
      ...vmMethods(history),
      ...onDemand(['alertPreview'], async () => {
        const { previewMethods } = await import('./preview/alert-preview.ts');
        return previewMethods(history, records);
      }),
      ...onDemand(['recomputeIncident', 'recomputeInstancePath'], async () => {
        const { recomputeMethods } = await import('./explain/recompute-incident.ts');
        return recomputeMethods(history);
      }),
    },
    close() {
      history.close();
      series.close();
      records.close();
    },
  };
}
