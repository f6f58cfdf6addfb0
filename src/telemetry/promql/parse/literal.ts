/** Values of number, string and duration tokens, by the rules of Go's `strconv` that Prometheus uses. */
import { isUtf8 } from 'node:buffer';
import type { NumberLiteral, StringLiteral } from '../ast.ts';
import { goQuote } from '../format-go.ts';
import type { BuildContext } from './build-context.ts';
import type { Token } from './token.ts';

/** A string token without its quotes, escapes resolved. Backquoted strings have no escapes. */
export function stringLiteral({ text, from, to }: Token): StringLiteral {
  return { kind: 'string', value: stringOf(text), span: { from, to } };
}

/** The value of a number, or of a duration in seconds. Throws `PromqlError` bad_data. */
export function numberLiteral(context: BuildContext, token: Token): NumberLiteral {
  const span = { from: token.from, to: token.to };
  if (token.kind !== 'duration') {
    const value = numberOf(token.text);
    if (typeof value !== 'number') throw context.refuse(token, value.fault);
    return { kind: 'number', value, span };
  }
  const ms = parseDuration(token.text);
  if (typeof ms !== 'number') throw context.refuse(token, ms.fault);
  return { kind: 'number', value: ms / 1000, isDuration: true, span };
}

/** The value, or the reason in Go's words why there is none. */
function numberOf(text: string): number | { readonly fault: string } {
  const lower = text.toLowerCase();
  if (lower === 'inf') return Number.POSITIVE_INFINITY;
  if (lower === 'nan') return Number.NaN;
  const digits = lower.replaceAll('_', '');
  if (/^0[0-7]+$/.test(digits))
    return withinInt64(Number(`0o${digits.slice(1)}`)) ?? Number(digits);
  const value = Number(digits);
  const parsing = `strconv.ParseFloat: parsing ${goQuote(text)}`;
  const isHex = digits.startsWith('0x');
  if (Number.isNaN(value) || (isHex && withinInt64(value) === undefined)) {
    return { fault: `error parsing number: ${parsing}: invalid syntax` };
  }
  if (!Number.isFinite(value)) {
    return { fault: `error parsing number: ${parsing}: value out of range` };
  }
  return value;
}

function withinInt64(value: number): number | undefined {
  return value < 2 ** 63 ? value : undefined;
}

const ESCAPE =
  /\\(?:([abfnrtv\\'"])|([0-7]{3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/g;
const CONTROL: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/**
 * The text of a string token, whose escapes are known to be well formed. `\x` and octal escapes are
 * bytes of UTF-8. A byte that is not valid UTF-8 becomes a lone surrogate (U+DC80 to U+DCFF), so
 * that it is not mistaken for text, and U+FFFD in a response.
 */
export function stringOf(token: string): string {
  const inner = token.slice(1, -1);
  if (token.startsWith('`') || !inner.includes('\\')) return inner;
  const bytes: Uint8Array[] = [];
  let from = 0;
  for (const match of inner.matchAll(ESCAPE)) {
    bytes.push(Buffer.from(inner.slice(from, match.index)), bytesOf(match));
    from = match.index + match[0].length;
  }
  bytes.push(Buffer.from(inner.slice(from)));
  return decode(Buffer.concat(bytes));
}

function decode(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((count) => isUtf8(bytes.subarray(at, at + count))) ?? 0;
    text +=
      length === 0
        ? String.fromCharCode(0xdc00 | (bytes[at] as number))
        : bytes.toString('utf8', at, at + length);
    at += Math.max(length, 1);
  }
  return text;
}

function bytesOf([, letter, octal, byte, short, long]: RegExpExecArray): Uint8Array {
  if (letter !== undefined) return Buffer.from(CONTROL[letter] ?? letter);
  if (octal !== undefined) return Uint8Array.of(Number.parseInt(octal, 8));
  if (byte !== undefined) return Uint8Array.of(Number.parseInt(byte, 16));
  return Buffer.from(String.fromCodePoint(Number.parseInt(short ?? long ?? '', 16)));
}

const UNITS_MS: readonly (readonly [string, number])[] = [
  ['y', 365 * 86_400_000],
  ['w', 7 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];
/** Nanoseconds in 63 bits, as in Go. */
const DURATION_MS_MAX = 2 ** 63 / 1e6;

/** Milliseconds, or the error in the words of prometheus/common's `ParseDuration`. */
function parseDuration(text: string): number | { readonly fault: string } {
  if (!/^\d/.test(text)) return { fault: `not a valid duration string: ${goQuote(text)}` };
  let ms = 0;
  let last = -1;
  for (const [, count, unit] of text.matchAll(/(\d+)(\D+)/g)) {
    const index = UNITS_MS.findIndex(([name]) => name === unit);
    const unitMs = UNITS_MS[index]?.[1];
    if (unitMs === undefined) {
      return { fault: `unknown unit ${goQuote(unit ?? '')} in duration ${goQuote(text)}` };
    }
    if (index <= last) return { fault: `not a valid duration string: ${goQuote(text)}` };
    last = index;
    ms += Number(count) * unitMs;
    if (ms >= DURATION_MS_MAX) return { fault: 'duration out of range' };
  }
  return ms;
}

/**
 * Shortest form without rounding (`90m` is `1h30m`, `7d` is `1w`, `8d` stays `8d`), as in
 * `model.Duration.String` of prometheus/common. `ms` is an integer and not negative.
 */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const [unit, unitMs] of UNITS_MS) {
    const isLarge = unit === 'y' || unit === 'w';
    if (isLarge && rest % unitMs !== 0) continue;
    const count = Math.floor(rest / unitMs);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * unitMs;
  }
  return text;
}
