/**
 * The points of a matrix as bytes: most of a large answer. Each is `,[<seconds>,"<value>"]`. Whole
 * numbers and those of up to three decimals, which most readings are, are written digit by digit,
 * several times faster than through a string; all others as `valueText` has them.
 */

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

/** From here down to 0, and from 1e21 up, both languages write an exponent. */
const EXPONENT_BELOW = 1e-6;
const EXPONENT_FROM = 1e21;

/** `1.5`, `NaN`, `+Inf`, `-0`, `1e-07`: a value in a vector or a matrix. */
export function valueText(value: number): string {
  // The common case first: this runs for each point of an answer.
  if (value >= EXPONENT_BELOW && value < EXPONENT_FROM) return `${value}`;
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  if (!Number.isFinite(value)) return nonFiniteText(value);
  return `${value}`.replace(ONE_DIGIT_EXPONENT, '$10$2');
}

const ONE_DIGIT_EXPONENT = /(e[+-])(\d)$/;

/** A scalar: as `valueText`, but never with an exponent. */
export function scalarText(value: number): string {
  if (!Number.isFinite(value)) return nonFiniteText(value);
  if (Object.is(value, -0)) return '-0';
  const [digits = '', exponent] = `${value}`.split('e');
  return exponent === undefined ? digits : shifted(digits, Number(exponent));
}

/** Go prints all infinities with their sign. */
function nonFiniteText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}

/** `-1.25` with its point moved: `shifted('-1.25', 3)` is `-1250`. */
function shifted(digits: string, by: number): string {
  const sign = digits.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = digits.slice(sign.length).split('.');
  if (by < 0) return `${sign}0.${'0'.repeat(-by - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(by, '0')}`;
}

/** Unix ms as seconds with as many decimals as needed, three at most. Needs whole ms. */
export function secondsText(timeMs: number): string {
  return `${timeMs / 1000}`;
}
