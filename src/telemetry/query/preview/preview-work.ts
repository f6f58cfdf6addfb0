/** What a query thread does for `PreviewAlertRule`; the VMs' records are read there too. */
import { recordsOf } from '../../../../actors/platform/host/host-port.ts';
import { Refusal, type RefusalReason } from '../../../../streams/platform/refusal.ts';
import type { ThreadWork } from '../thread/thread-work.ts';
import { type AlertPreview, type AlertPreviewCall, previewAlert } from './alert-preview.ts';

/** What comes back: refusals, which a thread's faults do not carry, come as values. */
export type PreviewReply =
  | { readonly kind: 'preview'; readonly preview: AlertPreview }
  | {
      readonly kind: 'refused';
      readonly reason: RefusalReason;
      readonly message: string;
      readonly metadata: Readonly<Record<string, string>>;
    };

export const previewWork: ThreadWork = ({ history, records }) => ({
  alertPreview: (call: AlertPreviewCall, isCancelled) => {
    const known = recordsOf(records, call.rule.project, 'vm').map(({ id, body }) => {
      const { registeredMs, retiredMs, generationMs } = body;
      return {
        ...{ id, registeredMs },
        ...(retiredMs !== undefined && { retiredMs }),
        ...(generationMs !== undefined && { generationMs }),
      };
    });
    return { result: replyOf(() => previewAlert(history, { ...call, known }, isCancelled)) };
  },
});

function replyOf(make: () => AlertPreview): PreviewReply {
  try {
    return { kind: 'preview', preview: make() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { reason, message, metadata } = error;
    return { kind: 'refused', reason, message, metadata };
  }
}
