/**
 * Teams' dialect: one Adaptive Card 1.2 in the message that a workflow takes. Its texts are a
 * subset of Markdown, so names are escaped; the URL of a workflow is signed and sent byte for byte.
 */

import { oneLine } from '../../../../streams/alerting/wording.ts';
import { cutTo } from '../cut.ts';
import type { Answer } from '../http/exchange.ts';
import type { Message } from '../message.ts';
import type { ChatBody } from './chat-body.ts';
import { type Judgement, judgeCommon, judgement } from './judgement.ts';

/** Teams takes 28,672 bytes of the card as it wraps it; ours are 20,000 (HOOK-20). */
export const TEAMS_BYTES_MAX = 20_000;
/** Bytes of a text as it is sent; with these the largest message has some 17,000. */
const TITLE_MAX = 1_000;
const SUMMARY_MAX = 1_500;
const NAME_MAX = 100;
const VALUE_MAX = 600;
const FACTS_MAX = 18;
const SHORT_MAX = 200;

export function renderTeams(message: Message): ChatBody {
  const facts = message.facts.slice(0, FACTS_MAX);
  const more = message.facts.length - facts.length;
  const rest = more === 0 ? [] : [{ title: '…', value: `${more} more` }];
  return {
    full: card(message, [
      title(message, TITLE_MAX),
      { type: 'TextBlock', text: fit(message.summary, SUMMARY_MAX), wrap: true },
      {
        type: 'FactSet',
        facts: [
          ...facts.map(({ name, value }) => ({
            // A fact without a text is not shown, or shown as a broken one.
            title: fit(name, NAME_MAX) || '–',
            value: fit(value, VALUE_MAX) || '–',
          })),
          ...rest,
        ],
      },
    ]),
    short: card(message, [title(message, SHORT_MAX)]),
  };
}

function card({ url, linkText }: Message, body: readonly object[]): string {
  return JSON.stringify({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.2',
          msteams: { width: 'Full' },
          body,
          actions: [{ type: 'Action.OpenUrl', title: linkText, url }],
        },
      },
    ],
  });
}

function title({ title: text, event, severity }: Message, max: number) {
  const urgent = severity === 'CRITICAL' ? 'attention' : 'warning';
  const color = event === 'RECOVERED' ? 'good' : event === 'TEST' ? 'accent' : urgent;
  const look = { size: 'medium', weight: 'bolder', wrap: true, color };
  return { type: 'TextBlock', text: fit(text, max), ...look };
}

/**
 * Every character with a meaning in Markdown, in links of it, in `{{DATE()}}` and in tags, behind a
 * backslash; at the beginning also what would make a list.
 */
export function escapeTeams(text: string): string {
  return text
    .replaceAll(/[\\`*_~{}[\]()#<>&|!:@]/g, '\\$&')
    .replace(/^(?:[-+]|\d{1,9}(?=[.]))/, (start) => (/\d/.test(start) ? start : `\\${start}`))
    .replace(/^(\d{1,9})\./, '$1\\.');
}

function sentBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(escapeTeams(text))) - 2;
}

function fit(text: string, max: number): string {
  return escapeTeams(cutTo(oneLine(text), max, sentBytes));
}

/** A flow answers 202 once it has the message; one with a response of its own answers another 2xx. */
export function judgeTeams(answer: Answer): Judgement {
  const { httpStatus, text } = answer;
  if (httpStatus >= 200 && httpStatus < 300) return judgement.accepted;
  const isSize = /RequestEntityTooLarge|RequestContentTooLarge|message size/i.test(text);
  if (httpStatus === 413 || (httpStatus === 400 && isSize)) return judgement.tooLarge;
  return judgeCommon('Teams', answer, { pausing: [401, 403, 404, 410] });
}
