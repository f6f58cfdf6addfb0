/**
 * Slack, by an app's incoming webhook: a fallback text and Block Kit. Names are sent as plain text,
 * in which Slack renders no formatting, mentions or links; & < > must be entities.
 */

import { cutTo } from '../../../../actors/platform/plain-text.ts';
import { linesOf, oneLine } from '../../../../streams/alerting/wording.ts';
import { type ChatForms, type ChatService, chatKind, firstThatFit } from '../chat/chat-kind.ts';
import { type Judgement, judgeByStatus, judgement } from '../chat/judgement.ts';
import type { Answer } from '../http/exchange.ts';
import type { Fact, Message } from '../message/message.ts';

/** Limits in characters, as sent (HOOK-19). */
const HEADER_MAX = 150;
const SECTION_MAX = 3_000;
const SUMMARY_MAX = 1_500;
const RUNBOOK_MAX = 1_000;
/** The notification on a phone. */
const TEXT_MAX = 500;
/** Slack's limit is higher, but longer messages are folded. */
const MESSAGE_MAX = 7_900;
const LINK_MAX = 1_000;
const VALUE_MAX = 400;
const SHORT_MAX = 80;

export const slackService: ChatService = {
  isHost: (host) => host === 'hooks.slack.com' || host === 'hooks.slack-gov.com',
  // Slack's workflows use /triggers/ and /workflows/, and take another form.
  target: /^\/(?!triggers\/|workflows\/)[\w/-]+$/,
  urlHelp: "A Slack URL belongs to an app's incoming webhook: https://hooks.slack.com/services/...",
  render: renderSlack,
  judge: judgeSlack,
  // Slack accepts one message per second (HOOK-19).
  spacingMs: 1_000,
};

export const slack = chatKind(slackService);

function renderSlack(message: Message): ChatForms {
  const { title, summary, facts, members = [], url, runbook } = message;
  const links = [...(runbook?.url ? [runbook.url] : []), url];
  const blocks = [
    { type: 'header', text: plain(title, HEADER_MAX) },
    ...runbookBlocks(message),
    { type: 'section', text: plain(summary, SUMMARY_MAX) },
    ...factBlocks(facts),
  ];
  const text = fit(title, TEXT_MAX);
  const left =
    MESSAGE_MAX - JSON.stringify({ text, blocks: [...blocks, linkBlock(message)] }).length;
  return {
    full: JSON.stringify({
      text,
      blocks: [...blocks, ...memberBlocks(members, left), linkBlock(message)],
    }),
    short: JSON.stringify({
      text: fit(title, SHORT_MAX),
      blocks: [
        { type: 'header', text: plain(title, SHORT_MAX) },
        ...runbookLink(message),
        linkBlock(message),
      ],
    }),
    plain: JSON.stringify({
      text: [
        fit(title, TEXT_MAX),
        fit(summary, SUMMARY_MAX),
        ...links.map((link) => fit(link, LINK_MAX)),
      ].join('\n'),
      mrkdwn: false,
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
function factBlocks(facts: readonly Fact[]): object[] {
  return sections(linesThatFit(facts, SECTION_MAX - SHORT_MAX));
}

/** Incidents of a group, as many as fit into the message. */
function memberBlocks(members: readonly Fact[], charsMax: number): object[] {
  const sectionsMax = Math.ceil(MESSAGE_MAX / SECTION_MAX) + 1;
  return sections(linesThatFit(members, charsMax - SHORT_MAX - sectionsMax * SECTION_CHARS));
}

/** Characters of a section as sent, without its text. */
const SECTION_CHARS = 80;

function linesThatFit(facts: readonly Fact[], charsMax: number): readonly string[] {
  const lines = facts.map(
    ({ name, value }) => `${fit(name, SHORT_MAX) || '–'}: ${fit(value, VALUE_MAX) || '–'}`,
  );
  const { kept, left } = firstThatFit(lines, charsMax, lineLength);
  return left === 0 ? kept : [...kept, `… (${left} more)`];
}

/** As sent, with the line break. */
function lineLength(line: string): number {
  return JSON.stringify(line).length;
}

function sections(lines: readonly string[]): object[] {
  if (lines.length === 0) return [];
  const { kept } = firstThatFit(lines, SECTION_MAX, lineLength);
  const text = { type: 'plain_text', text: kept.join('\n'), emoji: false };
  return [{ type: 'section', text }, ...sections(lines.slice(Math.max(1, kept.length)))];
}

/** The rule's runbook: its text in the author's lines, then a link button. */
function runbookBlocks(message: Message) {
  const text = message.runbook?.text ?? '';
  if (text === '') return runbookLink(message);
  const written = (cut: string) => linesOf(`Runbook: ${cut}`).map(escapeSlack).join('\n');
  const length = (cut: string) => JSON.stringify(written(cut)).length - 2;
  const lines = {
    type: 'plain_text',
    text: written(cutTo(text, RUNBOOK_MAX, length)),
    emoji: false,
  };
  return [{ type: 'section', text: lines }, ...runbookLink(message)];
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
    // Any other 200 answer is not from Slack, but from a captive portal, for example.
    return word === 'ok' ? judgement.accepted : judgement.failed('Slack answered 200 without "ok"');
  }
  if (httpStatus === 413 || (httpStatus === 400 && SIZE_ERRORS.test(word))) {
    return judgement.tooLarge;
  }
  return judgeByStatus('Slack', answer, { pausing: [403, 404, 410] });
}
