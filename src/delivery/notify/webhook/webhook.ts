/** Webhooks: signed requests to any https URL (HOOK-01, HOOK-16). The kind, and its sender. */
import type {
  AttemptOutcome,
  Channel,
  UrlTarget,
} from '../../../../actors/delivery/notifier-port.ts';
import { type Answer, accepted, failed, refused } from '../http/exchange.ts';
import {
  type ChannelDeps,
  HTTP_LIMITS,
  type NotificationKind,
} from '../message/notification-kind.ts';
import { signatureHeaders } from './signatures.ts';
import { renderWebhookBody } from './webhook-body.ts';

export const webhook: NotificationKind = {
  limits: HTTP_LIMITS,
  render: renderWebhookBody,
  refuseUrl: (url, guard) => guard.refuseUrl(url),
  open: createWebhookSender,
};

const USER_AGENT = 'svc-webhook/1';
/** Maximum bytes of a body, because receivers reject more (LIMIT-16). Ours have at most 16 KiB. */
const BODY_BYTES_MAX = 1024 * 1024;

export function createWebhookSender({
  exchange,
}: Pick<ChannelDeps, 'exchange'>): Channel<UrlTarget> {
  return {
    async attempt({ target, event, body, deadlineElapsedMs, ...signed }) {
      if (body.length > BODY_BYTES_MAX) {
        throw new RangeError(`A webhook's body has ${body.length} bytes, more than 1 MiB`);
      }
      const { url, secrets = [] } = target;
      const signature = signatureHeaders({ ...signed, body, secrets });
      const headers = { 'user-agent': USER_AGENT, 'svc-event': event, ...signature };
      const answer = await exchange.post({ url, secrets, headers, body, deadlineElapsedMs });
      return answer.kind === 'unanswered' ? answer.outcome : outcomeOf(answer);
    },
    close: () => Promise.resolve(),
  };
}

function outcomeOf(answer: Answer): AttemptOutcome {
  const { httpStatus } = answer;
  if (httpStatus >= 200 && httpStatus < 300) return accepted(answer);
  if (httpStatus === 410) {
    return refused(answer, 'The endpoint answered 410 (gone)', { pauses: true });
  }
  const redirect = httpStatus >= 300 && httpStatus < 400;
  const hint = redirect ? '. Redirects are not followed. Enter the final URL' : '';
  return failed(answer, `The endpoint answered ${httpStatus}${hint}`);
}
