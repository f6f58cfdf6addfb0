/**
 * Secures the rows of a sample log that was deleted and recreated under the running service. Rows
 * in memory are flushed to history at once, since no restart can read them from the log any more.
 * Rows that this process appended and has not read back are appended again. The evaluator keeps its
 * state and continues with the new entries.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { pause } from '../../streams/platform/pause.ts';
import { type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import { appendUnread, SAMPLES_STREAM } from './sample-log.ts';

export interface SampleLogWatchDeps {
  readonly stream: Stream;
  readonly clock: Clock;
  readonly history: { flush(): Promise<void> };
  /** Position in the log up to which history has stored everything. */
  readonly stored: { readonly sequence: number };
  /** Called once for each loss, before the rows are secured. */
  readonly onMadeAgain: () => void;
  /** Called if rows could not be secured; it is retried. */
  readonly onFault: (error: unknown) => void;
}

const LOOK_MS = 2_000;

/** Runs until `signal`. Rejects with the errors of the stream, except `StreamUnavailable`. */
export async function watchSampleLog(deps: SampleLogWatchDeps, signal: AbortSignal): Promise<void> {
  const { stream, clock, history, stored } = deps;
  let { lastSequence: last } = await stream.state(SAMPLES_STREAM);
  let madeAt = 0;
  let isAppended = true;
  let isFlushed = true;
  while (!signal.aborted) {
    await pause(clock, LOOK_MS, signal);
    if (signal.aborted) return;
    try {
      const { firstSequence, lastSequence } = await stream.state(SAMPLES_STREAM);
      // A truncation never removes later entries.
      if (firstSequence > last + 1) {
        madeAt = firstSequence;
        [isAppended, isFlushed] = [false, false];
        deps.onMadeAgain();
      }
      last = lastSequence;
      if (!isAppended) await appendUnread(stream);
      isAppended = true;
      if (isFlushed) continue;
      // Repeated until the floors on disk are within the new log: otherwise a restart would take
      // the sequences that it leaves out for lost rows.
      const isPast = stored.sequence >= madeAt;
      await history.flush();
      isFlushed = isPast;
    } catch (error) {
      if (isFlushed && !(error instanceof StreamUnavailable)) throw error;
      deps.onFault(error);
    }
  }
}
