/**
 * Sends one webhook attempt, signed, and returns its outcome as data (HOOK-01, HOOK-16).
 */
import type { AttemptOutcome, Channel } from '../../../../actors/delivery/notifier-port.ts';
import type { Answer, HttpExchange } from '../http/exchange.ts';
import { accepted, failed, refused } from '../http/outcomes.ts';
import { signatureHeaders } from './signature.ts';

const USER_AGENT = 'svc-webhook/1';
/** Of a body, in bytes: receivers refuse more (LIMIT-16). Ours are 16 KiB at most. */
const BODY_BYTES_MAX = 1024 * 1024;

/** The exchange is shared with other channels, and is theirs who opened it to close. */
export function createWebhookSender(exchange: Pick<HttpExchange, 'post'>): Channel<'webhook'> {
  return {
    async attempt({ target, event, body, deadlineElapsedMs, ...signed }) {
      if (body.length > BODY_BYTES_MAX) {
        throw new RangeError(`A webhook's body has ${body.length} bytes: more than 1 MiB`);
      }
      const { url, secrets } = target;
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
