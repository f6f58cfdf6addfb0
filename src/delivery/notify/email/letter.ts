/**
 * A notification as a mail: subject, plain text, and HTML with a chart. The HTML uses tables and
 * inline styles, which all mail clients support. Names are escaped, and an address inside a name
 * does not become a link.
 */

import { cutText, cutTo } from '../../../../actors/platform/plain-text.ts';
import { linesOf, oneLine } from '../../../../streams/alerting/wording.ts';
import type { Fact, Message, Runbook } from '../message/message.ts';
import { CHART_SHOWN, chartInWords, drawChart } from './chart.ts';

/** A mail as stored: without the recipient's address and unsubscribe link. */
export interface EmailBody {
  readonly subject: string;
  readonly text: string;
  /** Content of `<body>`. */
  readonly html: string;
  /** PNG, base64; absent if there are no observations. */
  readonly chart?: string;
}

/** Content id by which the HTML refers to the attached chart (RFC 2392). */
export const CHART_CID = 'chart';
/** Code points. RFC 5322 recommends lines of at most 78; clients display about 60 of a subject. */
const SUBJECT_MAX = 150;
const VALUE_MAX = 1_000;
/** Characters of a runbook's text. */
const RUNBOOK_MAX = 2_100;
/** Widest name column; values are aligned after it. */
const NAME_WIDTH_MAX = 20;

const COLOURS = { FIRING: '#c62828', REPEATED: '#c62828', RECOVERED: '#2e7d32', TEST: '#1565c0' };
const FONT = 'font-family:Arial,Helvetica,sans-serif;font-size:14px;line-height:20px;color:#222';

/**
 * Renders a message as a mail within the limits of mail. It names no recipient, so that one body
 * serves every attempt.
 */
export function renderLetter(message: Message): EmailBody {
  const { chart } = message;
  return {
    subject: cutText(oneLine(message.title), SUBJECT_MAX),
    text: textOf(message),
    html: htmlOf(message),
    ...(chart && { chart: Buffer.from(drawChart(chart)).toString('base64') }),
  };
}

/** The stored form of a mail, UTF-8 JSON. */
export function encodeLetter(letter: EmailBody): Uint8Array {
  return Buffer.from(JSON.stringify(letter));
}

/** Throws for bytes that `encodeLetter` did not make, which is a bug. */
export function decodeLetter(bytes: Uint8Array): EmailBody {
  const { subject, text, html, chart } = JSON.parse(Buffer.from(bytes).toString('utf8'));
  if (typeof subject !== 'string' || typeof text !== 'string' || typeof html !== 'string') {
    throw new Error('A stored mail lacks one of its parts');
  }
  return { subject, text, html, ...(typeof chart === 'string' && { chart }) };
}

function textOf(message: Message): string {
  const { title, runbook, summary, chart, url, linkText } = message;
  const facts = allFacts(message);
  const width = Math.min(NAME_WIDTH_MAX, Math.max(...facts.map(({ name }) => name.length + 1)));
  const lines = facts.map(({ name, value }) => `${`${fit(name)}:`.padEnd(width)} ${fit(value)}`);
  const drawn = chart ? [chartInWords(chart)] : [];
  const first = runbook ? [runbookText(runbook)] : [];
  const body = [fit(summary), lines.join('\n'), ...drawn, `${linkText}:\n${url}`];
  const paragraphs = [fit(title), ...first, ...body];
  return `${paragraphs.join('\n\n')}\n`;
}

/** A mail has room for all incidents of a group. */
function allFacts({ facts, members = [] }: Message): readonly Fact[] {
  return [...facts, ...members];
}

function runbookText({ text, url }: Runbook): string {
  return [
    'Runbook:',
    ...(text === '' ? [] : [runbookLines(text).join('\n')]),
    ...(url === '' ? [] : [url]),
  ].join('\n');
}

/** Only the author's own line breaks are kept. */
function runbookLines(text: string): string[] {
  return linesOf(cutTo(text, RUNBOOK_MAX, (cut) => cut.length));
}

function runbookHtml({ text, url }: Runbook): string {
  const lines = [
    '<b>Runbook</b>',
    ...(text === '' ? [] : runbookLines(text).map(displayed)),
    ...(url === '' ? [] : [`<a href="${escapeHtml(url)}">Open the runbook</a>`]),
  ];
  const style = 'margin:0 0 12px;padding:8px 12px;background:#f5f5f5';
  return `<p style="${style}">${lines.join('<br>')}</p>`;
}

function htmlOf(message: Message): string {
  const { event, title, runbook, summary, chart, url, linkText } = message;
  const drawing = chart ? drawingOf(chartInWords(chart)) : '';
  return [
    `<div style="${FONT};max-width:600px">`,
    `<p style="margin:0 0 12px;padding:8px 12px;border-left:4px solid ${COLOURS[event]};` +
      `font-size:18px;line-height:24px;font-weight:bold">${displayed(title)}</p>`,
    ...(runbook ? [runbookHtml(runbook)] : []),
    `<p style="margin:0 0 12px">${displayed(summary)}</p>`,
    drawing,
    '<table role="presentation" cellpadding="0" cellspacing="0" border="0">',
    ...allFacts(message).map(rowOf),
    '</table>',
    `<p style="margin:16px 0"><a href="${escapeHtml(url)}">${escapeHtml(linkText)}</a></p>`,
    '</div>',
  ].join('\n');
}

function rowOf({ name, value }: Fact): string {
  const cell = `style="${FONT};padding:2px 12px 2px 0;vertical-align:top"`;
  return `<tr><td ${cell}><b>${displayed(name)}</b></td><td ${cell}>${displayed(value)}</td></tr>`;
}

/** The description is both the caption below the chart and its alternative text. */
function drawingOf(words: string): string {
  const { width, height } = CHART_SHOWN;
  const alt = escapeHtml(words);
  return (
    `<p style="margin:0 0 12px"><img src="cid:${CHART_CID}" width="${width}" height="${height}" ` +
    `alt="${alt}" style="display:block;max-width:100%;border:1px solid #ccc"><br>` +
    `<span style="font-size:12px;color:#555">${alt} Grey: no observations. Dashed: threshold.</span></p>`
  );
}

/** Escaped HTML. Invisible breaks keep mail clients from turning addresses into links. */
function displayed(text: string): string {
  return escapeHtml(fit(text))
    .replaceAll('://', ':<wbr>//')
    .replaceAll(/\bwww\./gi, '$&<wbr>');
}

function fit(text: string): string {
  return cutTo(oneLine(text), VALUE_MAX, (cut) => cut.length);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
