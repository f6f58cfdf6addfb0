/** Webhooks: signed requests to any https URL (HOOK-01, HOOK-16). */
import type {
  AttemptOutcome,
  Channel,
  UrlTarget,
} from '../../../../actors/delivery/notifier-port.ts';
import { type Answer, accepted, failed, refused } from '../http/outcomes.ts';
import {
  type ChannelDeps,
  HTTP_LIMITS,
  type NotificationKind,
} from '../message/notification-kind.ts';
import { renderWebhookBody } from './payload.ts';
import { signatureHeaders } from './signature.ts';

export const webhook: NotificationKind = {
  limits: HTTP_LIMITS,
  render: renderWebhookBody,
  refuseUrl: (url, guard) => guard.refuseUrl(url),
  open: createWebhookSender,
};

const USER_AGENT = 'svc-webhook/1';
/** Bytes of a body: receivers refuse more (LIMIT-16). Ours are 16 KiB at most. */
const BODY_BYTES_MAX = 1024 * 1024;

export function createWebhookSender({
  exchange,
}: Pick<ChannelDeps, 'exchange'>): Channel<UrlTarget> {
  return {
    async attempt({ target, event, body, deadlineElapsedMs, ...signed }) {
      if (body.length > BODY_BYTES_MAX) {
        throw new RangeError(`A webhook's body has ${body.length} bytes: more than 1 MiB`);
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
    return refused(answer, 'The endpoint answered 410: it is gone', { pauses: true });
  }
  const redirect = httpStatus >= 300 && httpStatus < 400;
  const hint = redirect ? ': redirects are not followed, fix the URL' : '';
  return failed(answer, `The endpoint answered ${httpStatus}${hint}`);
}
