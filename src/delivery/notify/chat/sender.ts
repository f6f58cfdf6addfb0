/**
 * Sends one attempt to a chat service. The service's host is checked again, the full form is sent,
 * and where it is refused for its size the short one in the next attempt: both at once would be two
 * messages within the time that a service grants for one.
 */
import type { AttemptOutcome, AttemptRequest } from '../../../../actors/delivery/notifier-port.ts';
import type { AddressGuard } from '../http/address-guard.ts';
import type { Answer, HttpExchange } from '../http/exchange.ts';
import { accepted, failed, refused } from '../http/outcomes.ts';
import type { Message } from '../message.ts';
import { type ChatBody, decodeChatBody } from './chat-body.ts';
import { discordUrl, judgeDiscord, renderDiscord } from './discord.ts';
import { type ChatKind, refuseChatUrl } from './hosts.ts';
import type { Judgement } from './judgement.ts';
import { judgeSlack, renderSlack } from './slack.ts';
import { judgeTeams, renderTeams } from './teams.ts';

/** What differs from one chat service to another. Pure. */
export interface Dialect {
  render(message: Message): ChatBody;
  judge(answer: Answer): Judgement;
  /** The URL that is called; default: as it is. */
  readonly url?: (text: string) => string;
}

export const DIALECTS: Readonly<Record<ChatKind, Dialect>> = {
  slack: { render: renderSlack, judge: judgeSlack },
  teams: { render: renderTeams, judge: judgeTeams },
  discord: { render: renderDiscord, judge: judgeDiscord, url: discordUrl },
};

export interface ChatSenderDeps {
  /** Shared with other channels; theirs who opened it to close. */
  readonly exchange: Pick<HttpExchange, 'post'>;
  readonly guard: Pick<AddressGuard, 'refuseUrl' | 'isExempt'>;
}

/** Deliveries to be sent in short at most: an older one is sent in full again, and refused again. */
const SHORTENED_MAX = 1_000;

const HEADERS = { 'user-agent': 'svc-chat/1' };

type ChatRequest = AttemptRequest & { readonly target: { readonly url: string } };

/** The channel of one chat service. */
export function createChatSender(
  kind: ChatKind,
  { exchange, guard }: ChatSenderDeps,
): { attempt(request: ChatRequest): Promise<AttemptOutcome>; close(): Promise<void> } {
  const { judge, url: urlOf = (text) => text } = DIALECTS[kind];
  /** Soft state: by delivery, those whose full form was refused for its size, oldest first. */
  const shortened = new Set<string>();
  return {
    async attempt({ target, body, deadlineElapsedMs, deliveryId }) {
      const refusal = refuseChatUrl(kind, target.url, guard);
      if (refusal) return { kind: 'failed', unknown: false, error: `${refusal}: fix the URL` };
      const url = urlOf(target.url);
      const { full, short } = decodeChatBody(body);
      const isShort = shortened.has(deliveryId);
      const form = Buffer.from(isShort ? short : full);
      const answer = await exchange.post({ url, headers: HEADERS, body: form, deadlineElapsedMs });
      if (answer.kind === 'unanswered') return answer.outcome;
      const judged = judge(answer);
      if (judged.kind === 'tooLarge' && !isShort) {
        remember(shortened, deliveryId);
        return failed(answer, 'It refuses the message for its size: a short form is sent next');
      }
      if (judged.kind !== 'failed') shortened.delete(deliveryId);
      return outcomeOf(answer, judged);
    },
    close: () => Promise.resolve(),
  };
}

function remember(shortened: Set<string>, deliveryId: string): void {
  shortened.add(deliveryId);
  const [oldest] = shortened;
  if (shortened.size > SHORTENED_MAX && oldest !== undefined) shortened.delete(oldest);
}

function outcomeOf(answer: Answer, judged: Judgement): AttemptOutcome {
  switch (judged.kind) {
    case 'accepted':
      return accepted(answer);
    case 'tooLarge':
      return refused(answer, 'It refuses the message for its size, the shortest form too', {
        pauses: false,
      });
    case 'refused':
      return refused(answer, judged.error, judged);
    case 'failed': {
      const waits = [answer.retryAfterMs, judged.retryAfterMs].filter((ms) => ms !== undefined);
      const retryAfterMs = waits.length === 0 ? undefined : Math.max(...waits);
      return failed(
        { ...answer, ...(retryAfterMs !== undefined && { retryAfterMs }) },
        judged.error,
      );
    }
  }
}
