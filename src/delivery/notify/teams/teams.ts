/**
 * Teams, by a workflow: one Adaptive Card 1.2 in the message that the workflow takes. All texts are
 * TextRuns, which every client displays as written. A TextBlock is a subset of Markdown, and clients
 * differ in which escapes they take: those on phones display each backslash. The URL is signed, so
 * it is sent byte for byte.
 */

import { cutTo } from '../../../../actors/platform/plain-text.ts';
import { linesOf, oneLine } from '../../../../streams/alerting/wording.ts';
import { type ChatForms, type ChatService, chatKind, firstThatFit } from '../chat/chat-kind.ts';
import { type Judgement, judgeByStatus, judgement } from '../chat/judgement.ts';
import type { Answer } from '../http/exchange.ts';
import type { Fact, Message } from '../message/message.ts';

/** Teams accepts 28,672 bytes of the card as it wraps it; ours have at most 20,000 (HOOK-20). */
export const TEAMS_BYTES_MAX = 20_000;
/** Bytes of a text as sent, including its TextRuns. */
const TITLE_MAX = 1_100;
const SUMMARY_MAX = 1_600;
const NAME_MAX = 200;
const VALUE_MAX = 700;
const SHORT_MAX = 300;
const LINK_MAX = 1_000;
const RUNBOOK_MAX = 2_500;
/** Bytes of all facts; incidents of a group fill the rest of the card. */
const FACTS_MAX = 12_000;
/** Bytes of the line that states the number of omitted incidents. */
const MORE_MAX = 200;

/** Clouds of Microsoft in which workflows get their own hosts: public, US government, China. */
const HOSTS = [
  /\.logic\.azure\.(?:com|us|cn)$/,
  /\.api\.powerplatform\.com$/,
  /\.api\.(?:gov|high)\.powerplatform\.microsoft\.us$/,
  /\.api\.appsplatform\.us$/,
  /\.api\.powerplatform\.partner\.microsoftonline\.cn$/,
];

export const teamsService: ChatService = {
  isHost: (host) => /^[a-z0-9.-]+$/.test(host) && HOSTS.some((form) => form.test(host)),
  target: /^\/./,
  urlHelp:
    'A Teams URL belongs to a workflow: https://....logic.azure.com/... or https://....api.powerplatform.com/..., or a host of a government cloud',
  render: renderTeams,
  judge: judgeTeams,
};

export const teams = chatKind(teamsService);

function renderTeams(message: Message): ChatForms {
  const { facts, members = [], summary, url, runbook } = message;
  const links = [...(runbook?.url ? [runbook.url] : []), url];
  const head = [
    block(title(message, TITLE_MAX)),
    ...runbookBlocks(message),
    block(runs(summary, SUMMARY_MAX)),
    ...rows(facts, FACTS_MAX),
  ];
  const left = TEAMS_BYTES_MAX - MORE_MAX - bytesOf(document(head, actionsOf(message)));
  return {
    full: JSON.stringify(document([...head, ...rows(members, left)], actionsOf(message))),
    short: JSON.stringify(document([block(title(message, SHORT_MAX))], actionsOf(message))),
    plain: JSON.stringify(
      document([
        block(runs(message.title, TITLE_MAX)),
        block(runs(summary, SUMMARY_MAX)),
        ...links.map((link) => block(runs(link, LINK_MAX))),
      ]),
    ),
  };
}

function document(body: readonly object[], actions: readonly object[] = []) {
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body,
    ...(actions.length > 0 && { msteams: { width: 'Full' }, actions }),
  };
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content,
      },
    ],
  };
}

function actionsOf({ url, linkText, runbook }: Message): object[] {
  return [
    ...(runbook?.url ? [openUrl('Open the runbook', runbook.url)] : []),
    openUrl(linkText, url),
  ];
}

function openUrl(title: string, url: string) {
  return { type: 'Action.OpenUrl', title, url };
}

function title({ title: text, event, severity }: Message, max: number): TextRun[] {
  const urgent = severity === 'CRITICAL' ? 'attention' : 'warning';
  const color = event === 'RECOVERED' ? 'good' : event === 'TEST' ? 'accent' : urgent;
  return runs(text, max, { size: 'medium', weight: 'bolder', color });
}

/** One block for each line of the author; an empty line is a larger distance. */
function runbookBlocks({ runbook }: Message): object[] {
  if (!runbook?.text) return [];
  const blocksOf = (text: string): object[] => {
    const lines = linesOf(`Runbook: ${text}`);
    return lines.flatMap((line, i) => {
      const spacing = i === 0 || lines[i - 1] === '' ? 'medium' : 'none';
      return line === '' ? [] : [block(runsOf(line), spacing)];
    });
  };
  return blocksOf(cutTo(runbook.text, RUNBOOK_MAX, (text) => bytesOf(blocksOf(text))));
}

/** One line for each fact, as many as fit. The number of the others is stated. */
function rows(facts: readonly Fact[], bytesMax: number): object[] {
  const { kept, left } = firstThatFit(facts.map(row), bytesMax, (each) => bytesOf(each) + 1);
  if (left === 0) return [...kept];
  return [...kept, block(runs(`… ${left} more`, SHORT_MAX), 'none')];
}

function row({ name, value }: Fact): object {
  const named = runs(`${oneLine(name) || '–'}:`, NAME_MAX, { weight: 'bolder' });
  return block([...named, ...runsOf(' '), ...runs(value, VALUE_MAX)], 'none');
}

function block(inlines: readonly TextRun[], spacing?: 'none' | 'medium') {
  return { type: 'RichTextBlock', ...(spacing && { spacing }), inlines };
}

interface TextRun {
  readonly type: 'TextRun';
  readonly text: string;
}

type Look = Readonly<Record<string, string>>;

function runs(text: string, bytesMax: number, look: Look = {}): TextRun[] {
  const measure = (cut: string) => bytesOf(runsOf(cut, look));
  // Teams displays a card with an empty text broken.
  return runsOf(cutTo(oneLine(text) || '–', bytesMax, measure), look);
}

/** Clients replace `{{DATE(...)}}` and `{{TIME(...)}}` in one run, so such a text is two. */
function runsOf(text: string, look: Look = {}): TextRun[] {
  const parts = text.split(/(?<=\{)(?=\{(?:DATE|TIME)\()/i);
  return parts.map((part) => ({ type: 'TextRun', text: part, ...look }));
}

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
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
