/**
 * Discord, by a channel webhook: one embed in Markdown. Names are escaped and mentions are off.
 * Discord blocks addresses that collect many 401, 403 and 404 answers, so the first one pauses the
 * destination.
 */

import { cutTo } from '../../../../actors/platform/plain-text.ts';
import { oneLine } from '../../../../streams/alerting/wording.ts';
import { type ChatBody, type ChatService, chatKind } from '../chat/chat-kind.ts';
import { type Judgement, judgeByStatus, judgement } from '../chat/judgement.ts';
import type { Answer } from '../http/exchange.ts';
import type { Message } from '../message/message.ts';

/** Limits in characters, as sent (HOOK-21; the field limits are Discord's). */
const TITLE_MAX = 256;
/** Discord allows 4,096, but title, description and fields together at most 6,000. */
const SUMMARY_MAX = 500;
const RUNBOOK_MAX = 500;
const FIELDS_MAX = 25;
const NAME_MAX = 100;
const VALUE_MAX = 400;
/** Characters of all fields together. */
const FIELD_CHARS_MAX = 4_000;
const SHORT_MAX = 80;

const COLORS = {
  FIRING: 0xd3_2f_2f,
  REPEATED: 0xd3_2f_2f,
  RECOVERED: 0x2e_7d_32,
  TEST: 0x15_65_c0,
};
const WARNING_COLOR = 0xed_6c_02;

/** Limits and answers: Discord's developer documentation, "Webhook" and "Rate Limits". */
export const discordService: ChatService = {
  isHost: (host) => host === 'discord.com',
  // No suffix is allowed, because /slack and /github take other forms.
  target: /^\/api\/(?:v\d{1,2}\/)?webhooks\/\w+\/[\w-]+\/?(?:\?|$)/,
  urlHelp:
    'A Discord URL belongs to a channel webhook: https://discord.com/api/webhooks/<id>/<token>',
  render: renderDiscord,
  judge: judgeDiscord,
  callUrl: discordUrl,
};

/** The kind, as registered. */
export const discord = chatKind(discordService);

function renderDiscord(message: Message): ChatBody {
  const summary = fit(message.summary, SUMMARY_MAX);
  const description = [...runbookLines(message), summary].join('\n');
  return {
    full: document(message, {
      title: fit(message.title, TITLE_MAX),
      description,
      ...fields(message),
    }),
    short: document(message, {
      title: fit(message.title, SHORT_MAX),
      ...(message.runbook?.url && { description: linkTo(message.runbook.url) }),
    }),
  };
}

function runbookLines({ runbook }: Message): string[] {
  if (!runbook) return [];
  const text = runbook.text === '' ? [] : [fit(runbook.text, RUNBOOK_MAX)];
  return [fit('Runbook:', RUNBOOK_MAX), ...text, ...(runbook.url && [linkTo(runbook.url)])];
}

/** A URL of printable ASCII in angle brackets is a link, whatever punctuation it contains. */
function linkTo(url: string): string {
  return `<${url.replaceAll('<', '%3C').replaceAll('>', '%3E')}>`;
}

function document({ event, severity, url }: Message, embed: object): string {
  const isUrgent = event !== 'FIRING' || severity === 'CRITICAL';
  const color = isUrgent ? COLORS[event] : WARNING_COLOR;
  return JSON.stringify({
    embeds: [{ ...embed, url, color }],
    allowed_mentions: { parse: [] },
  });
}

function fields({ facts }: Message) {
  const kept: { name: string; value: string; inline: boolean }[] = [];
  let chars = 0;
  // The last field is reserved for the number of omitted facts.
  for (const fact of facts) {
    // Discord rejects a field without a name or a value.
    const name = fit(fact.name, NAME_MAX) || '–';
    const value = fit(fact.value, VALUE_MAX) || '–';
    chars += name.length + value.length;
    if (chars > FIELD_CHARS_MAX || kept.length === FIELDS_MAX - 1) break;
    kept.push({ name, value, inline: value.length <= 40 });
  }
  const more = facts.length - kept.length;
  if (more > 0) kept.push({ name: '…', value: `${more} more`, inline: true });
  return { fields: kept };
}

/** Escapes all ASCII punctuation. Discord displays an escaped character literally. */
export function escapeDiscord(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&');
}

function fit(text: string, max: number): string {
  return escapeDiscord(cutTo(oneLine(text), max, (cut) => escapeDiscord(cut).length));
}

/** Adds `wait=true`. Without it, Discord answers before it has checked the message. */
function discordUrl(text: string): string {
  const [address = ''] = text.split('#', 1);
  if (/[?&]wait=true(?:&|$)/.test(address)) return address;
  return `${address}${address.includes('?') ? '&' : '?'}wait=true`;
}

/** Discord's error codes for a message that is too long. */
const SIZE_ERRORS = /BASE_TYPE_MAX_LENGTH|MAX_EMBED_SIZE_EXCEEDED|BASE_TYPE_BAD_LENGTH/;

function judgeDiscord(answer: Answer): Judgement {
  const { httpStatus, text } = answer;
  // 204: a proxy dropped the query, and Discord accepted the message.
  if (httpStatus === 200 || httpStatus === 204) return judgement.accepted;
  if (httpStatus === 413 || (httpStatus === 400 && SIZE_ERRORS.test(text))) {
    return judgement.tooLarge;
  }
  const judged = judgeByStatus('Discord', answer, { pausing: [401, 403, 404, 410] });
  return judged.kind === 'failed' && httpStatus === 429 ? { ...judged, ...limitOf(text) } : judged;
}

/** Reads `{"retry_after": 0.65}`: seconds, with a fraction. */
function limitOf(text: string): { retryAfterMs?: number } {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    // A proxy in front of Discord answers in HTML. Then the header applies.
    return {};
  }
  const { retry_after: seconds } = Object(answer) as Record<string, unknown>;
  const isWait = typeof seconds === 'number' && seconds >= 0;
  return isWait ? { retryAfterMs: Math.ceil(seconds * 1000) } : {};
}
