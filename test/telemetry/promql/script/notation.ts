/**
 * The small notations of a script: durations, numbers, quoted text, and a series with its values
 * (`metric{l="v"} 1 _ 2+3x4 stale`). Written independently of the engine, whose parser is under
 * test. Every function throws `Error` with the text that it could not read.
 */
import { type LabelPair, Labels, METRIC_NAME } from '../../../../src/telemetry/promql/values.ts';
import type { SeriesLine, SeriesValues } from './script.ts';

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
};

/** `1h30m`, `10s53ms`, `0`; ms. */
export function parseDuration(text: string): number {
  if (text === '0') return 0;
  if (!/^(\d+(ms|[smhdwy]))+$/.test(text)) throw new Error(`"${text}" is not a duration`);
  let sum = 0;
  for (const [, count, unit = ''] of text.matchAll(/(\d+)(ms|[smhdwy])/g)) {
    sum += Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  }
  return sum;
}

const DECIMAL = String.raw`(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf(?:inity)?|nan)`;
const NUMBER = new RegExp(`^([+-]?)(${DECIMAL}|0[xob][0-9a-f]+)$`, 'i');

/** A single number as Go reads it (base from its prefix), or undefined. */
export function parseNumber(text: string): number | undefined {
  const parts = NUMBER.exec(text);
  if (parts === null) return undefined;
  const [, sign, digits = ''] = parts;
  const size = /^0[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : unsigned(digits);
  return sign === '-' ? -size : size;
}

function unsigned(digits: string): number {
  if (/^inf/i.test(digits)) return Number.POSITIVE_INFINITY;
  return /^nan$/i.test(digits) ? Number.NaN : Number(digits);
}

const REPEATED = /^(_|stale)x(\d+)$/;
const SEQUENCE = new RegExp(`^([+-]?${DECIMAL})(?:([+-])(${DECIMAL}))?(?:x(\\d+))?$`, 'i');

/** Separated by blanks: `5`, `_`, `_x3`, `7x3` (four times), `1+2x3` (1 3 5 7), `stale`. */
export function parseValues(text: string): SeriesValues {
  const values: (number | 'stale' | null)[] = [];
  for (const word of text.split(/\s+/)) {
    if (word === '') continue;
    if (word === '_' || word === 'stale') values.push(word === '_' ? null : word);
    else values.push(...sequenceOf(word));
  }
  return values;
}

function sequenceOf(word: string): (number | 'stale' | null)[] {
  const repeated = REPEATED.exec(word);
  if (repeated !== null) {
    const count = Number(repeated[2]);
    // `_x3` is three gaps; for any other value, xN is N more.
    return repeated[1] === '_' ? Array(count).fill(null) : Array(count + 1).fill('stale');
  }
  const parts = SEQUENCE.exec(word);
  if (parts === null) throw new Error(`"${word}" is not a value`);
  const [, first = '', sign, change = '', count] = parts;
  if (sign !== undefined && count === undefined) throw new Error(`"${word}" has no count`);
  const difference = sign === undefined ? 0 : unsigned(change) * (sign === '-' ? -1 : 1);
  const values: number[] = [];
  let value = parseNumber(first) ?? Number.NaN;
  for (let i = 0; i <= Number(count ?? 0); i++) {
    values.push(value);
    value += difference;
  }
  return values;
}

/** A series and its values. `{}` has no labels; `{"a.b", c="d"}` has the name `a.b`. */
export function parseSeriesLine(text: string): SeriesLine {
  const name = /^[A-Za-z_:][\w:]*/.exec(text)?.[0] ?? '';
  let rest = text.slice(name.length).trimStart();
  const pairs: LabelPair[] = name === '' ? [] : [[METRIC_NAME, name]];
  if (rest.startsWith('{')) {
    const { end, pairs: inBraces } = parseBraces(rest);
    pairs.push(...inBraces);
    rest = rest.slice(end);
  } else if (name === '') {
    throw new Error(`"${text}" does not begin with a series`);
  }
  return { labels: Labels.of(pairs), values: parseValues(rest) };
}

const QUOTED = [/"(?:[^"\\]|\\.)*"/, /'(?:[^'\\]|\\.)*'/, /`[^`]*`/]
  .map((re) => re.source)
  .join('|');
const PAIR = new RegExp(`\\s*(?:([A-Za-z_]\\w*)|(${QUOTED}))\\s*(?:=\\s*(${QUOTED})\\s*)?,?`, 'y');

/** `text` begins with `{`; `end` is the index after the `}`. */
function parseBraces(text: string): { pairs: LabelPair[]; end: number } {
  const pairs: LabelPair[] = [];
  PAIR.lastIndex = 1;
  for (;;) {
    const from = PAIR.lastIndex;
    const close = /^\s*\}/.exec(text.slice(from));
    if (close !== null) return { pairs, end: from + close[0].length };
    const pair = PAIR.exec(text);
    if (pair === null) throw new Error(`"${text.slice(from)}" is not a label`);
    const [, plain, quoted = '', value] = pair;
    const label = plain ?? unquote(quoted);
    if (value === undefined) pairs.push([METRIC_NAME, label]);
    else pairs.push([label, unquote(value)]);
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))/gs;

/** Text in Go's quotes: `"` and `'` with escapes, backticks without. */
export function unquote(text: string): string {
  const quote = text.charAt(0);
  if (text.length < 2 || !text.endsWith(quote) || !'"\'`'.includes(quote)) {
    throw new Error(`${text} is not quoted text`);
  }
  const inner = text.slice(1, -1);
  if (quote === '`') return inner;
  return inner.replace(ESCAPE, (_, hex, short, long, octal, letter) => {
    if (letter !== undefined) return ESCAPES[letter] ?? letter;
    const code = octal === undefined ? Number.parseInt(hex ?? short ?? long, 16) : undefined;
    return String.fromCodePoint(code ?? Number.parseInt(octal, 8));
  });
}
