/**
 * The points of a matrix as bytes: most of a large answer. Each is `,[<seconds>,"<value>"]`. Whole
 * numbers and those of up to three decimals, which most readings are, are written digit by digit,
 * several times faster than through a string; all others as `valueText` has them.
 */
import { secondsText, valueText } from './promql-numbers.ts';

/** A time of 18 characters, a value of 24, six signs between them, and some. */
export const POINT_BYTES_MAX = 64;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** Ends the point of a value, at `at`: `<value>"]`. Returns where it ended. */
export function writeValue(bytes: Uint8Array, at: number, value: number): number {
  let end = writeShortDecimal(bytes, at, value);
  if (end === at) end = writeText(bytes, at, valueText(value));
  bytes[end] = QUOTE;
  bytes[end + 1] = CLOSE;
  return end + 2;
}

/** Whole numbers up to here are exact. */
const WHOLE_MAX = Number.MAX_SAFE_INTEGER;
/** With three decimals 15 digits: a double has no second number of so few, so this is the shortest. */
const DECIMAL_MAX = 1e12;

/** Returns `at` when the value is not of this kind. */
function writeShortDecimal(bytes: Uint8Array, at: number, value: number): number {
  const size = Math.abs(value);
  const whole = Math.floor(size);
  if (whole === size) {
    if (size > WHOLE_MAX || Object.is(value, -0)) return at;
    return writeWhole(bytes, value < 0 ? writeMinus(bytes, at) : at, whole);
  }
  const thousandths = Math.round(size * 1000);
  if (!(size < DECIMAL_MAX) || thousandths / 1000 !== size) return at;
  const end = writeWhole(bytes, value < 0 ? writeMinus(bytes, at) : at, whole);
  return writeDecimals(bytes, end, thousandths - whole * 1000);
}

function writeMinus(bytes: Uint8Array, at: number): number {
  bytes[at] = MINUS;
  return at + 1;
}

/** `.5`, `.25`, `.125`: of 1 to 999 thousandths. */
function writeDecimals(bytes: Uint8Array, at: number, thousandths: number): number {
  bytes[at] = POINT;
  writeDigits(bytes, at + 1, thousandths, 3);
  let end = at + 4;
  while (bytes[end - 1] === ZERO) end--;
  return end;
}

const BILLION = 1_000_000_000;

/** In two parts, because division of small integers is much faster. */
function writeWhole(bytes: Uint8Array, at: number, whole: number): number {
  if (whole < BILLION) return writeDigits(bytes, at, whole, digitsOf(whole));
  const billions = Math.floor(whole / BILLION);
  const end = writeDigits(bytes, at, billions, digitsOf(billions));
  return writeDigits(bytes, end, whole - billions * BILLION, 9);
}

/** Exactly `count` digits, with zeros in front. */
function writeDigits(bytes: Uint8Array, at: number, number: number, count: number): number {
  let rest = number | 0;
  for (let i = at + count - 1; i >= at; i--) {
    const tens = (rest / 10) | 0;
    bytes[i] = ZERO + rest - tens * 10;
    rest = tens;
  }
  return at + count;
}

/** Of a whole number below a billion. */
function digitsOf(number: number): number {
  let count = 1;
  for (let bound = 10; number >= bound; bound *= 10) count++;
  return count;
}

function writeText(bytes: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  return at + text.length;
}

/** Begins a point: `,[<seconds>,"`, with as many decimals as needed. Needs whole ms. */
export function writeTime(bytes: Uint8Array, at: number, timeMs: number): number {
  bytes[at] = COMMA;
  bytes[at + 1] = OPEN;
  let end = writeShortDecimal(bytes, at + 2, timeMs / 1000);
  if (end === at + 2) end = writeText(bytes, end, secondsText(timeMs));
  bytes[end] = COMMA;
  bytes[end + 1] = QUOTE;
  return end + 2;
}
