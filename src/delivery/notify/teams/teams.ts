/**
 * Teams, by a workflow: one Adaptive Card 1.2 in the message that the workflow takes. Its texts are
 * a subset of Markdown, so names are escaped. The URL is signed, so it is sent byte for byte.
 */

import { cutTo } from '../../../../actors/platform/plain-text.ts';
import { oneLine } from '../../../../streams/alerting/wording.ts';
import { type ChatBody, type ChatService, chatKind } from '../chat/chat-kind.ts';
import { type Judgement, judgeByStatus, judgement } from '../chat/judgement.ts';
import type { Answer } from '../http/exchange.ts';
import type { Message } from '../message/message.ts';

/** Teams accepts 28,672 bytes of the card as it wraps it; ours have at most 20,000 (HOOK-20). */
export const TEAMS_BYTES_MAX = 20_000;
/** Bytes of a text as sent. With these limits, the largest message has about 17,000. */
const TITLE_MAX = 1_000;
const SUMMARY_MAX = 1_500;
const NAME_MAX = 100;
const VALUE_MAX = 600;
const FACTS_MAX = 18;
const SHORT_MAX = 200;
const RUNBOOK_MAX = 1_200;

export const teamsService: ChatService = {
  isHost: (host) => /^[a-z0-9.-]+\.(?:logic\.azure\.com|api\.powerplatform\.com)$/.test(host),
  target: /^\/./,
  urlHelp:
    'A Teams URL belongs to a workflow: https://....logic.azure.com/... or https://....api.powerplatform.com/...',
  render: renderTeams,
  judge: judgeTeams,
};

export const teams = chatKind(teamsService);

function renderTeams(message: Message): ChatBody {
  const facts = message.facts.slice(0, FACTS_MAX);
  const more = message.facts.length - facts.length;
  const rest = more === 0 ? [] : [{ title: '…', value: `${more} more` }];
  return {
    full: card(message, [
      title(message, TITLE_MAX),
      ...runbookBlocks(message),
      { type: 'TextBlock', text: fit(message.summary, SUMMARY_MAX), wrap: true },
      {
        type: 'FactSet',
        facts: [
          ...facts.map(({ name, value }) => ({
            // Teams hides a fact with an empty text, or displays it broken.
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

function runbookBlocks({ runbook }: Message) {
  if (!runbook?.text) return [];
  return [{ type: 'TextBlock', text: fit(`Runbook: ${runbook.text}`, RUNBOOK_MAX), wrap: true }];
}

function card({ url, linkText, runbook }: Message, body: readonly object[]): string {
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
          actions: [
            ...(runbook?.url ? [openUrl('Open the runbook', runbook.url)] : []),
            openUrl(linkText, url),
          ],
        },
      },
    ],
  });
}

function openUrl(title: string, url: string) {
  return { type: 'Action.OpenUrl', title, url };
}

function title({ title: text, event, severity }: Message, max: number) {
  const urgent = severity === 'CRITICAL' ? 'attention' : 'warning';
  const color = event === 'RECOVERED' ? 'good' : event === 'TEST' ? 'accent' : urgent;
  const look = { size: 'medium', weight: 'bolder', wrap: true, color };
  return { type: 'TextBlock', text: fit(text, max), ...look };
}

/**
 * Escapes every character with a meaning in Markdown, its links, `{{DATE()}}` and tags; at the
 * start also the characters that would begin a list.
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

/**
 * A flow answers 202 when it has accepted the message; one with its own response answers another
 * 2xx.
 */
function judgeTeams(answer: Answer): Judgement {
  const { httpStatus, text } = answer;
  if (httpStatus >= 200 && httpStatus < 300) return judgement.accepted;
  const isSize = /RequestEntityTooLarge|RequestContentTooLarge|message size/i.test(text);
  if (httpStatus === 413 || (httpStatus === 400 && isSize)) return judgement.tooLarge;
  return judgeByStatus('Teams', answer, { pausing: [401, 403, 404, 410] });
}
