/**
 * Previews of alert rules as the main thread sees them: a checked question in, an answer out. They
 * are queries like any other: in the same threads, 10 s each.
 */
import type { Clock } from '../../../../streams/platform/clock.ts';
import { Refusal } from '../../../../streams/platform/refusal.ts';
import type { Log } from '../../../platform/log.ts';
import { withDeadline } from '../query-deadline.ts';
import { withinMemory } from '../thread/memory-refusal.ts';
import type { QueryThreads } from '../thread/query-threads.ts';
import type { AlertPreview, AlertPreviewCall } from './alert-preview.ts';
import type { PreviewReply } from './preview-work.ts';

export interface AlertPreviews {
  /**
   * Throws a `Refusal` (TOO_MANY_POINTS, RESPONSE_TOO_LARGE, QUERY_TIMEOUT), a
   * `HistoryError`, or the reason of `signal`.
   */
  preview(call: AlertPreviewCall, signal: AbortSignal): Promise<AlertPreview>;
}

export interface AlertPreviewsDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts VMs whose history could not be read. */
  readonly failures: { inc(count?: number): void };
}

export function createAlertPreviews(deps: AlertPreviewsDeps): AlertPreviews {
  const { threads, clock, log, failures } = deps;
  return {
    async preview(call, signal) {
      const { project } = call.rule;
      const reply = await withDeadline({ clock, signal }, (ended) =>
        withinMemory(threads.call(project, 'alertPreview', () => call, ended)),
      );
      // The threads run our own file, whose method answers so.
      const answer = reply as PreviewReply;
      if (answer.kind === 'refused') {
        throw new Refusal(answer.reason, answer.message, answer.metadata);
      }
      const { unreadable } = answer.preview;
      if (unreadable.vms > 0) {
        failures.inc(unreadable.vms);
        log.error(unreadable, 'The history of some VMs could not be read for a preview');
      }
      return answer.preview;
    },
  };
}
