/**
 * Discord, by a channel webhook: one embed in Markdown. Names are escaped and mentions are off.
 * Discord blocks addresses that collect many 401, 403 and 404 answers, so the first one pauses the
 * destination.
 */

import { cutTo } from '../../../../actors/platform/plain-text.ts';
import { linesOf, oneLine } from '../../../../streams/alerting/wording.ts';
import { type ChatForms, type ChatService, chatKind, firstThatFit } from '../chat/chat-kind.ts';
import { type Judgement, judgeByStatus, judgement } from '../chat/judgement.ts';
import type { Answer } from '../http/exchange.ts';
import type { Fact, Message } from '../message/message.ts';

/** Limits in characters, as sent (HOOK-21; the field limits are Discord's). */
const TITLE_MAX = 256;
/** Discord allows 4,096, but title, description and fields together at most 6,000. */
const SUMMARY_MAX = 500;
const RUNBOOK_MAX = 500;
const FIELDS_MAX = 25;
const NAME_MAX = 100;
const VALUE_MAX = 400;
/** Characters of all fields together, and beside the incidents of a group. */
const FIELD_CHARS_MAX = 4_000;
const FIELD_CHARS_MAX_IN_GROUP = 1_500;
const DESCRIPTION_MAX = 4_096;
/** Characters of the line that states the number of omitted incidents. */
const MORE_MAX = 20;
/** Characters of a message without an embed. */
const CONTENT_MAX = 2_000;
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
  // The clients for testing hand out their own hosts, and older URLs have the former one.
  isHost: (host) => /^(?:(?:ptb|canary)\.)?discord(?:app)?\.com$/.test(host),
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

function renderDiscord(message: Message): ChatForms {
  const { title, runbook, members = [] } = message;
  const lines = [...runbookLines(message), fit(message.summary, SUMMARY_MAX), ...linkLine(message)];
  const left = DESCRIPTION_MAX - lines.join('\n').length - 1;
  const fieldCharsMax = members.length > 0 ? FIELD_CHARS_MAX_IN_GROUP : FIELD_CHARS_MAX;
  return {
    full: document(message, {
      title: fit(title, TITLE_MAX),
      description: [...lines, ...memberLines(members, left)].join('\n'),
      fields: fields(message.facts, fieldCharsMax),
    }),
    short: document(message, {
      title: fit(title, SHORT_MAX),
      ...(runbook?.url && { description: linkTo(runbook.url) }),
    }),
    plain: JSON.stringify({ content: plainText(message), allowed_mentions: { parse: [] } }),
  };
}

/** URLs are text here, because Discord rejects a message for a URL that it does not like. */
function plainText({ title, summary, url, runbook }: Message): string {
  const texts = [fit(title, TITLE_MAX), fit(summary, SUMMARY_MAX)];
  const links = [...(runbook?.url ? [runbook.url] : []), url].map(linkTo);
  return firstThatFit([...texts, ...links], CONTENT_MAX, (line) => line.length + 1).kept.join('\n');
}

function runbookLines({ runbook }: Message): string[] {
  if (!runbook) return [];
  const text = runbook.text === '' ? [] : [fitLines(runbook.text, RUNBOOK_MAX)];
  return [fit('Runbook:', RUNBOOK_MAX), ...text, ...(runbook.url ? [linkTo(runbook.url)] : [])];
}

/** The link of an embed that Discord would reject: a host without a dot, as in a local network. */
function linkLine({ url }: Message): string[] {
  return isTaken(url) ? [] : [linkTo(url)];
}

/** True if Discord takes the URL as the link of an embed. */
function isTaken(url: string): boolean {
  return /^https?:\/\/[^/?#:]+\.[^/?#:]+/.test(url);
}

/** A URL of printable ASCII in angle brackets is a link, whatever punctuation it contains. */
function linkTo(url: string): string {
  return `<${url.replaceAll('<', '%3C').replaceAll('>', '%3E')}>`;
}

function document({ event, severity, url }: Message, embed: object): string {
  const isUrgent = event !== 'FIRING' || severity === 'CRITICAL';
  const color = isUrgent ? COLORS[event] : WARNING_COLOR;
  return JSON.stringify({
    embeds: [{ ...embed, ...(isTaken(url) && { url }), color }],
    allowed_mentions: { parse: [] },
  });
}

/** Incidents of a group, as many as fit. Only the name is of others. */
function memberLines(members: readonly Fact[], charsMax: number): readonly string[] {
  const lines = members.map(({ name, value }) => `${fit(name, NAME_MAX) || '–'}: ${value}`);
  const { kept, left } = firstThatFit(lines, charsMax - MORE_MAX, (line) => line.length + 1);
  return left === 0 ? kept : [...kept, `… ${left} more`];
}

function fields(facts: readonly Fact[], charsMax: number) {
  const all = facts.map((fact) => {
    // Discord rejects a field without a name or a value.
    const name = fit(fact.name, NAME_MAX) || '–';
    const value = fit(fact.value, VALUE_MAX) || '–';
    return { name, value, inline: value.length <= 40 };
  });
  // The last field is reserved for the number of omitted facts.
  const { kept } = firstThatFit(
    all.slice(0, FIELDS_MAX - 1),
    charsMax,
    ({ name, value }) => name.length + value.length,
  );
  const more = facts.length - kept.length;
  return more === 0 ? kept : [...kept, { name: '…', value: `${more} more`, inline: true }];
}

/** Escapes all ASCII punctuation. Discord displays an escaped character literally. */
export function escapeDiscord(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&');
}

function fit(text: string, max: number): string {
  return escapeDiscord(cutTo(oneLine(text), max, (cut) => escapeDiscord(cut).length));
}

/** The author's lines, each escaped. */
function fitLines(text: string, max: number): string {
  const written = (cut: string) => linesOf(cut).map(escapeDiscord).join('\n');
  return written(cutTo(text, max, (cut) => written(cut).length));
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

/** Reads `{"retry_after": 0.65, "global": true}`: seconds, with a fraction. */
function limitOf(text: string): { retryAfterMs?: number; isGlobalLimit?: boolean } {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    // A proxy in front of Discord answers in HTML. Then the header applies.
    return {};
  }
  const { retry_after: seconds, global } = Object(answer) as Record<string, unknown>;
  const isWait = typeof seconds === 'number' && seconds >= 0;
  return {
    ...(isWait && { retryAfterMs: Math.ceil(seconds * 1000) }),
    ...(global === true && { isGlobalLimit: true }),
  };
}
