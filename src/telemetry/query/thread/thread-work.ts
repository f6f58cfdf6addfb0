/**
 * What a query thread can be asked to do: each area of work names its methods, made once a thread
 * over what the thread has open. Adding an area is adding a line to `query-thread.ts`.
 */

import type { RecordReader } from '../../../../sqlite/platform/control/record-reader.ts';
import type { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import type { ThreadMethod } from '../../../../sqlite/telemetry/history/threads/thread-port.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { SeriesThread } from '../series/series-thread.ts';

/** What a thread has open, for all its work. */
export interface ThreadContext {
  readonly history: HistoryView;
  readonly series: SeriesThread;
  /** Records of the projection, as applied when they are read. */
  readonly records: RecordReader;
  readonly clock: Clock;
}

/** The methods of one area by name. They run one at a time and block the thread alone. */
export type ThreadWork = (context: ThreadContext) => Readonly<Record<string, ThreadMethod>>;
