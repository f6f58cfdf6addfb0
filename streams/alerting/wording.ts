/** Times and conditions, in words for messages. */
import { exactQuantity } from './quantity.ts';

/** Relation of a value to a threshold in words, by operator. */
export const OPERATOR_WORDS: Readonly<Record<string, string>> = {
  GREATER_THAN: 'above',
  GREATER_THAN_OR_EQUAL: 'at or above',
  LESS_THAN: 'below',
  LESS_THAN_OR_EQUAL: 'at or below',
  EQUAL: 'equal to',
  NOT_EQUAL: 'other than',
};

/** A rule's condition, in the terms used to put it into words. */
export interface Condition {
  readonly metricId: string;
  readonly operator: string;
  readonly threshold: number;
  readonly sustainedSeconds: number;
  /** Unit from the metric catalogue. */
  readonly unit: string;
}

/** `cpu_utilization_pct above 90 % for 5 min`. */
export function condition(rule: Condition): string {
  const { metricId, operator, threshold, sustainedSeconds, unit } = rule;
  const lasting = sustainedSeconds === 0 ? '' : ` for ${duration(sustainedSeconds)}`;
  const words = OPERATOR_WORDS[operator] ?? operator;
  return `${metricId} ${words} ${exactQuantity(threshold, unit)}${lasting}`;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `90 s`, `5 min`, `2 h 30 min`, `3 d`: at most two units, exact if possible. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 2 * MINUTE) return `${whole} s`;
  if (whole < HOUR) return parts(whole, [MINUTE, 'min'], [1, 's']);
  if (whole < DAY) return parts(whole, [HOUR, 'h'], [MINUTE, 'min']);
  return parts(whole, [DAY, 'd'], [HOUR, 'h']);
}

type Unit = readonly [seconds: number, name: string];

function parts(seconds: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((seconds % large) / small);
  const head = `${Math.floor(seconds / large)} ${largeName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/** `2026-01-01 00:00:00 UTC`. */
export function utcTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Joiners used in Persian, Indic scripts and emoji, and the variation selectors of emoji. */
const JOINERS = '\u200c\u200d\ufe00-\ufe0f';
const INVISIBLE = new RegExp(`[[\\p{C}\\p{Z}]--[${JOINERS}]]+`, 'gv');
const LEADING_JOINERS = new RegExp(`^[${JOINERS}]+`, 'u');

/**
 * A text on one line, without invisible characters, so that it may be used in a header or a title.
 * Joiners between letters stay: without them, a word of Persian or an emoji falls apart.
 */
export function oneLine(text: string): string {
  return text.toWellFormed().replaceAll(INVISIBLE, ' ').trim().replace(LEADING_JOINERS, '').trim();
}

/** The lines of a text, each cleaned as by `oneLine`. Empty lines at both ends are dropped. */
export function linesOf(text: string): string[] {
  return text
    .trim()
    .split(/\r\n?|\n/)
    .map(oneLine);
}
