/**
 * The part that all chat services share: the URL check, the stored body, and the sender. A service
 * adds its own hosts, renderer and judgement of answers (`ChatService`).
 *
 * A body has two forms, both rendered once, so that every attempt sends the same bytes. The sender
 * sends the full form. If the service rejects it for its size, the next attempt sends the short
 * form. One attempt never sends both, because services limit the rate of messages.
 */

import type {
  AttemptOutcome,
  Channel,
  UrlTarget,
} from '../../../../actors/delivery/notifier-port.ts';
import { BoundedCache } from '../../../../streams/platform/bounded-cache.ts';
import { type Answer, accepted, failed, refused, requestTarget } from '../http/exchange.ts';
import { type Message, messageOf } from '../message/message.ts';
import {
  type ChannelDeps,
  HTTP_LIMITS,
  type NotificationKind,
  type UrlGuard,
} from '../message/notification-kind.ts';
import type { Judgement } from './judgement.ts';

/** The differences between chat services. Pure. */
export interface ChatService {
  /**
   * Only the service's own hosts are allowed, because a pasted URL alone decides where messages go.
   */
  isHost(host: string): boolean;
  /** Pattern of the path and query. */
  readonly target: RegExp;
  /** The URL to use instead, displayed when a URL is rejected. */
  readonly urlHelp: string;
  render(message: Message): ChatForms;
  judge(answer: Answer): Judgement;
  /** Returns the URL to call. Default: the saved URL. */
  readonly callUrl?: (text: string) => string;
  /** Minimum interval between the starts of two attempts to one destination, ms; default 0. */
  readonly spacingMs?: number;
}

/** Two forms of one message, each a whole JSON document. */
export interface ChatBody {
  readonly full: string;
  readonly short: string;
}

/** A rendered message: the two forms of its first delivery, and the form of a second one. */
export interface ChatForms extends ChatBody {
  /** Text and links as text, nothing else: for a service that rejected the content of `full`. */
  readonly plain: string;
}

/** The first items that fit into `max`, and the number of the others. */
export function firstThatFit<T>(
  items: readonly T[],
  max: number,
  sizeOf: (item: T) => number,
): { readonly kept: readonly T[]; readonly left: number } {
  let size = 0;
  const end = items.findIndex((item) => {
    size += sizeOf(item);
    return size > max;
  });
  const kept = end < 0 ? items : items.slice(0, end);
  return { kept, left: items.length - kept.length };
}

/** Makes a kind of destination from a chat service, for `registered-kinds.ts`. */
export function chatKind(service: ChatService): NotificationKind {
  return {
    limits: { ...HTTP_LIMITS, spacingMs: service.spacingMs ?? 0 },
    render(view, delivery, options) {
      const { plain, ...forms } = service.render(messageOf(view, delivery, options));
      return encodeChatBody(delivery.isPlain ? { full: plain, short: plain } : forms);
    },
    refuseUrl: (url, guard) => refuseChatUrl(service, url, guard),
    open: (deps) => createChatSender(service, deps),
  };
}

/** Both forms as one stored body, UTF-8 JSON. */
export function encodeChatBody({ full, short }: ChatBody): Uint8Array {
  return Buffer.from(JSON.stringify({ full, short }));
}

/** Throws for bytes that `encodeChatBody` did not make, which is a bug. */
export function decodeChatBody(bytes: Uint8Array): ChatBody {
  const body = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<ChatBody>;
  if (typeof body.full !== 'string' || typeof body.short !== 'string') {
    throw new Error('A stored chat message lacks one of its two forms');
  }
  return { full: body.full, short: body.short };
}

/**
 * The reason why the URL does not belong to the chat service, as a sentence; undefined if it does.
 * Hosts that the operator allows (`SVC_WEBHOOK_ALLOW`) may replace the service's, for labs and
 * tests.
 */
function refuseChatUrl(
  { isHost, target, urlHelp }: ChatService,
  text: string,
  guard: UrlGuard,
): string | undefined {
  const refusal = guard.refuseUrl(text);
  if (refusal) return refusal;
  if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(text)) {
    return 'The URL must consist of printable ASCII characters. Paste it exactly as the service displays it';
  }
  const url = new URL(text);
  if (guard.isExempt(url)) return undefined;
  if (/(?:^|\.)webhook\.office\.com$/.test(url.hostname)) {
    return 'Microsoft has retired webhook.office.com. Create a Teams workflow and enter its URL';
  }
  const isKnown = isHost(url.hostname) && url.port === '';
  if (isKnown && target.test(requestTarget(text))) return undefined;
  return isKnown ? urlHelp : `${urlHelp}. The operator can allow other hosts in SVC_WEBHOOK_ALLOW`;
}

/**
 * Maximum number of deliveries remembered as rejected for their size. A forgotten one is sent in
 * full again.
 */
const SHORTENED_MAX = 1_000;

const HEADERS = { 'user-agent': 'svc-chat/1' };

function createChatSender(
  service: ChatService,
  { exchange, guard }: ChannelDeps,
): Channel<UrlTarget> {
  const { judge, callUrl = (text: string) => text } = service;
  /** Deliveries whose full form was rejected for its size. Lost at a restart. */
  const shortened = new BoundedCache<string, true>(SHORTENED_MAX);
  return {
    async attempt({ target, body, deadlineElapsedMs, deliveryId }) {
      const refusal = refuseChatUrl(service, target.url, guard);
      if (refusal) return { kind: 'failed', unknown: false, error: `${refusal}. Fix the URL` };
      const url = callUrl(target.url);
      const { full, short } = decodeChatBody(body);
      const isShort = shortened.has(deliveryId);
      const form = Buffer.from(isShort ? short : full);
      const answer = await exchange.post({ url, headers: HEADERS, body: form, deadlineElapsedMs });
      if (answer.kind === 'unanswered') return answer.outcome;
      const judged = judge(answer);
      if (judged.kind === 'tooLarge' && !isShort) {
        shortened.set(deliveryId, true);
        return failed(
          answer,
          'The service rejected the message for its size. The next attempt sends a short form',
        );
      }
      if (judged.kind !== 'failed') shortened.delete(deliveryId);
      return outcomeOf(answer, judged);
    },
    close: () => Promise.resolve(),
  };
}

function outcomeOf(answer: Answer, judged: Judgement): AttemptOutcome {
  switch (judged.kind) {
    case 'accepted':
      return accepted(answer);
    case 'tooLarge':
      return refused(
        answer,
        'The service rejected even the short form of the message for its size',
        { pauses: false, content: true },
      );
    case 'refused':
      return refused(answer, judged.error, { pauses: judged.pauses, content: !judged.pauses });
    case 'failed': {
      const waits = [answer.retryAfterMs, judged.retryAfterMs].filter((ms) => ms !== undefined);
      const retryAfterMs = waits.length === 0 ? undefined : Math.max(...waits);
      const outcome = failed(
        { ...answer, ...(retryAfterMs !== undefined && { retryAfterMs }) },
        judged.error,
      );
      return judged.isGlobalLimit ? { ...outcome, isGlobalLimit: true } : outcome;
    }
  }
}
