/**
 * Slack, by an app's incoming webhook: a fallback text and Block Kit. Names are sent as plain text,
 * in which Slack renders no formatting, mentions or links; & < > must be entities.
 */

import { cutTo } from '../../../../actors/platform/plain-text.ts';
import { oneLine } from '../../../../streams/alerting/wording.ts';
import { type ChatBody, type ChatService, chatKind } from '../chat/chat-kind.ts';
import { type Judgement, judgeByStatus, judgement } from '../chat/judgement.ts';
import type { Answer } from '../http/exchange.ts';
import type { Fact, Message } from '../message/message.ts';

/** Limits in characters, as sent (HOOK-19). */
const HEADER_MAX = 150;
const SECTION_MAX = 3_000;
const SUMMARY_MAX = 1_500;
const RUNBOOK_MAX = 1_000;
/** The notification on a phone. The whole message stays under 8,000. */
const TEXT_MAX = 500;
const VALUE_MAX = 400;
const SHORT_MAX = 80;

export const slackService: ChatService = {
  isHost: (host) => host === 'hooks.slack.com',
  // Slack's workflows use /triggers/ and /workflows/, and take another form.
  target: /^\/(?!triggers\/|workflows\/)[\w/-]+$/,
  urlHelp: "A Slack URL belongs to an app's incoming webhook: https://hooks.slack.com/services/...",
  render: renderSlack,
  judge: judgeSlack,
  // Slack accepts one message per second (HOOK-19).
  spacingMs: 1_000,
};

export const slack = chatKind(slackService);

function renderSlack(message: Message): ChatBody {
  return {
    full: JSON.stringify({
      text: fit(message.title, TEXT_MAX),
      blocks: [
        { type: 'header', text: plain(message.title, HEADER_MAX) },
        ...runbookBlocks(message),
        { type: 'section', text: plain(message.summary, SUMMARY_MAX) },
        ...factBlocks(message.facts),
        linkBlock(message),
      ],
    }),
    short: JSON.stringify({
      text: fit(message.title, SHORT_MAX),
      blocks: [
        { type: 'header', text: plain(message.title, SHORT_MAX) },
        ...runbookLink(message),
        linkBlock(message),
      ],
    }),
  };
}

/** Slack displays `&amp;`, `&lt;` and `&gt;` as the characters and decodes no other entity. */
export function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Length in the JSON document, including the escapes of quotes and backslashes. */
function sentLength(text: string): number {
  return JSON.stringify(escapeSlack(text)).length - 2;
}

function fit(text: string, max: number): string {
  return escapeSlack(cutTo(oneLine(text), max, sentLength));
}

function plain(text: string, max: number) {
  return { type: 'plain_text', text: fit(text, max), emoji: false };
}

/** One section of lines. The number of omitted facts is stated. */
function factBlocks(facts: readonly Fact[]) {
  const lines: string[] = [];
  let length = 0;
  for (const { name, value } of facts) {
    const line = `${fit(name, SHORT_MAX)}: ${fit(value, VALUE_MAX)}`;
    length += JSON.stringify(line).length;
    if (length > SECTION_MAX - SHORT_MAX) break;
    lines.push(line);
  }
  const more = facts.length - lines.length;
  if (more > 0) lines.push(`… (${more} more)`);
  const text = { type: 'plain_text', text: lines.join('\n'), emoji: false };
  return lines.length === 0 ? [] : [{ type: 'section', text }];
}

/** The rule's runbook: its text, then a link button. */
function runbookBlocks(message: Message) {
  const text = message.runbook?.text ?? '';
  if (text === '') return runbookLink(message);
  const section = { type: 'section', text: plain(`Runbook: ${text}`, RUNBOOK_MAX) };
  return [section, ...runbookLink(message)];
}

function runbookLink({ runbook }: Message) {
  return runbook?.url ? [linkBlock({ url: runbook.url, linkText: 'Open the runbook' })] : [];
}

/** The only place with markup. The only user input in it is checked URLs. */
function linkBlock({ url, linkText }: Pick<Message, 'url' | 'linkText'>) {
  const link = `<${escapeSlack(url).replaceAll('|', '%7C')}|${linkText}>`;
  return { type: 'context', elements: [{ type: 'mrkdwn', text: link }] };
}

/** Slack's errors for a message that is too long. */
const SIZE_ERRORS = /^(?:msg_too_long|msg_blocks_too_long|too_many_blocks|invalid_blocks)\b/;

function judgeSlack(answer: Answer): Judgement {
  const { httpStatus, text } = answer;
  const word = text.trim();
  if (httpStatus === 200) {
    // Any other 200 answer does not come from Slack, but from a captive portal, for example.
    return word === 'ok' ? judgement.accepted : judgement.failed('Slack answered 200 without "ok"');
  }
  if (httpStatus === 413 || (httpStatus === 400 && SIZE_ERRORS.test(word))) {
    return judgement.tooLarge;
  }
  return judgeByStatus('Slack', answer, { pausing: [403, 404, 410] });
}
