/**
 * Responses of the PromQL endpoints as bytes: the envelope of Prometheus's HTTP API (`web/api/v1`,
 * `util/jsonutil`), `resultType` before `result`, empty lists as `[]`. Pure, and made for the query
 * threads: text is built without intermediate objects, labels once per series.
 */
import { ANSWER_BYTES_MAX } from '../../../platform/http-limits.ts';
import type { QueryResult, ResultData, ResultSeries } from '../../promql/engine/engine.ts';
import { PromqlError, type PromqlErrorKind } from '../../promql/errors.ts';
import type { Labels } from '../../promql/values.ts';
import type { QueryOperation } from './query-request.ts';

/**
 * Maximum number of warnings, and of infos, in one response; more if the service's own alone exceed
 * it.
 */
const NOTES_MAX = 10;
const TRUNCATED = 'results truncated due to limit';

/** Annotations of an evaluation, returned in the envelope along with the data. */
export interface AnswerNotes {
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** Bounds of the response, and what the service adds to it. */
export interface EncodingOptions {
  /** Maximum number of elements in the response; the rest is left out with a warning. 0 = all. */
  readonly limit?: number;
  /** Default `ANSWER_BYTES_MAX`. */
  readonly bytesMax?: number;
  /** Warnings of the service itself; all of them are included, first. */
  readonly notices?: readonly string[];
}

/** `errorType` of an error response (Prometheus, `web/api/v1`). */
export type PromqlErrorType =
  | 'bad_data'
  | 'execution'
  | 'timeout'
  | 'canceled'
  | 'internal'
  | 'unavailable'
  | 'not_found'
  | 'not_acceptable'
  | 'unauthorized'
  | 'forbidden'
  | 'too_many_requests';

/** A query's response. Throws `PromqlError` execution if it exceeds the size limit. */
export function encodeResult(
  { data, warnings, infos }: QueryResult,
  options: EncodingOptions = {},
): Uint8Array<ArrayBuffer> {
  const { kept, truncated } = truncate(data, options.limit ?? 0);
  return encodeEnvelope({ warnings, infos }, truncated, options, (text) => {
    text.append(`{"resultType":"${kept.type}","result":`);
    appendResult(text, kept);
    text.append('}');
  });
}

/** A list of label sets, as for `series`. Throws like `encodeResult`. */
export function encodeLabelSets(
  sets: readonly Labels[],
  options: EncodingOptions = {},
): Uint8Array<ArrayBuffer> {
  return encodeList(sets, labelsText, options);
}

/** A list of texts, as for `labels` and label values. Throws like `encodeResult`. */
export function encodeTexts(
  texts: readonly string[],
  options: EncodingOptions = {},
): Uint8Array<ArrayBuffer> {
  return encodeList(texts, jsonText, options);
}

/** Any JSON value as `data`, however deep. Throws like `encodeResult`. */
export function encodeData(data: unknown, options: EncodingOptions = {}): Uint8Array<ArrayBuffer> {
  return encodeEnvelope(NO_NOTES, false, options, (text) => appendJson(text, data));
}

/** The envelope of a rejected or failed query, UTF-8. The caller sets the HTTP status. */
export function encodeError(errorType: PromqlErrorType, error: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(
    JSON.stringify({ status: 'error', errorType, error: error.toWellFormed() }),
  );
}

/**
 * A string as JSON. Bytes of a query's strings that are not UTF-8 are lone surrogates here, which no
 * JSON may hold; they become U+FFFD, as in Prometheus.
 */
function jsonText(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

const NO_NOTES: AnswerNotes = { warnings: [], infos: [] };

function encodeList<T>(
  elements: readonly T[],
  textOf: (element: T) => string,
  options: EncodingOptions,
): Uint8Array<ArrayBuffer> {
  const limit = options.limit ?? 0;
  const truncated = limit > 0 && elements.length > limit;
  const kept = truncated ? elements.slice(0, limit) : elements;
  return encodeEnvelope(NO_NOTES, truncated, options, (text) => appendList(text, kept, textOf));
}

function encodeEnvelope(
  notes: AnswerNotes,
  truncated: boolean,
  options: EncodingOptions,
  appendData: (text: BoundedText) => void,
): Uint8Array<ArrayBuffer> {
  const bytesMax = options.bytesMax ?? ANSWER_BYTES_MAX;
  const text = new BoundedText(bytesMax, () => tooLarge(bytesMax));
  text.append('{"status":"success","data":');
  appendData(text);
  const notices = [...(options.notices ?? []), ...(truncated ? [TRUNCATED] : [])];
  const room = Math.max(1, NOTES_MAX - notices.length);
  appendNotes(text, 'warnings', [...notices, ...firstNotes(notes.warnings, 'warning', room)]);
  appendNotes(text, 'infos', firstNotes(notes.infos, 'info', NOTES_MAX));
  text.append('}');
  return text.toBytes();
}

function tooLarge(bytesMax: number): PromqlError {
  const message = `the response would exceed ${bytesMax} bytes: use a shorter range, a larger step or fewer series`;
  return new PromqlError('execution', message);
}

/** The last text counts those that do not fit, in Prometheus's words. */
function firstNotes(
  notes: readonly string[],
  kind: 'warning' | 'info',
  room: number,
): readonly string[] {
  if (notes.length <= room) return notes;
  const kept = notes.slice(0, room - 1);
  return [...kept, `${notes.length - kept.length} more ${kind} annotations omitted`];
}

function appendNotes(
  text: BoundedText,
  kind: 'warnings' | 'infos',
  notes: readonly string[],
): void {
  if (notes.length > 0) text.append(`,"${kind}":[${notes.map(jsonText).join()}]`);
}

function truncate(data: ResultData, limit: number): { kept: ResultData; truncated: boolean } {
  if (limit > 0 && data.type === 'vector' && data.samples.length > limit) {
    return { kept: { ...data, samples: data.samples.slice(0, limit) }, truncated: true };
  }
  if (limit > 0 && data.type === 'matrix' && data.series.length > limit) {
    return { kept: { ...data, series: data.series.slice(0, limit) }, truncated: true };
  }
  return { kept: data, truncated: false };
}

function appendResult(text: BoundedText, data: ResultData): void {
  switch (data.type) {
    case 'scalar':
      text.append(`[${secondsText(data.timeMs)},"${scalarText(data.value)}"]`);
      return;
    case 'string':
      text.append(`[${secondsText(data.timeMs)},${jsonText(data.value)}]`);
      return;
    case 'vector': {
      const time = secondsText(data.timeMs);
      appendList(text, data.samples, ({ labels, value }) => {
        return `{"metric":${labelsText(labels)},"value":[${time},"${valueText(value)}"]}`;
      });
      return;
    }
    case 'matrix':
      appendMatrix(text, data.series);
      return;
  }
}

function appendMatrix(text: BoundedText, series: readonly ResultSeries[]): void {
  let separator = '';
  text.append('[');
  for (const one of series) {
    text.append(`${separator}{"metric":${labelsText(one.labels)},"values":`);
    separator = ',';
    if (one.timesMs.length === 0) text.append('[');
    for (let from = 0; from < one.timesMs.length; from += POINTS_AT_ONCE) {
      appendPoints(text, one, from);
    }
    text.append(']}');
  }
  text.append(']');
}

/** Points between two checks of the size: at most 16 KiB. */
const POINTS_AT_ONCE = 256;

/**
 * Appends the points from `from` on. The comma in front of the first point is replaced by the start
 * of the list.
 */
function appendPoints(text: BoundedText, { timesMs, values }: ResultSeries, from: number): void {
  const to = Math.min(timesMs.length, from + POINTS_AT_ONCE);
  text.appendBytes((to - from) * POINT_BYTES_MAX, (bytes, start) => {
    let at = start;
    for (let i = from; i < to; i++) {
      at = writeTime(bytes, at, timesMs[i] as number);
      at = writeValue(bytes, at, values[i] as number);
    }
    if (from === 0) bytes[start] = OPEN;
    return at;
  });
}

const OPEN = 0x5b;

function appendList<T>(
  text: BoundedText,
  elements: readonly T[],
  textOf: (element: T) => string,
): void {
  let separator = '[';
  for (const element of elements) {
    text.append(separator + textOf(element));
    separator = ',';
  }
  text.append(elements.length === 0 ? '[]' : ']');
}

function labelsText({ pairs }: Labels): string {
  let text = '{';
  for (const [name, value] of pairs) {
    if (text.length > 1) text += ',';
    text += `${jsonText(name)}:${jsonText(value)}`;
  }
  return `${text}}`;
}

const STATUS: Readonly<Record<PromqlErrorKind, number>> = {
  bad_data: 400,
  execution: 422,
  timeout: 503,
  canceled: 499,
};

/**
 * `operation`: the operation whose expression or selectors caused the error; undefined if neither
 * did.
 */
export function errorAnswer(
  { kind, message }: Pick<PromqlError, 'kind' | 'message'>,
  operation?: QueryOperation,
): { readonly status: number; readonly body: Uint8Array<ArrayBuffer> } {
  const isAboutText = kind === 'bad_data' && operation !== undefined;
  const text = isAboutText ? `invalid parameter "${parameterOf(operation)}": ${message}` : message;
  return { status: STATUS[kind], body: encodeError(kind, text) };
}

function parameterOf(operation: QueryOperation): 'query' | 'match[]' {
  return 'expression' in operation ? 'query' : 'match[]';
}

type Piece = { readonly text: string } | { readonly value: unknown };

/** Like `JSON.stringify` for plain objects, arrays, texts, numbers, booleans and null. */
function appendJson(text: BoundedText, root: unknown): void {
  const pending: Piece[] = [{ value: root }];
  for (let piece = pending.pop(); piece !== undefined; piece = pending.pop()) {
    if ('text' in piece) text.append(piece.text);
    else if (typeof piece.value !== 'object' || piece.value === null) {
      const { value } = piece;
      text.append(typeof value === 'string' ? jsonText(value) : JSON.stringify(value));
    } else pending.push(...piecesOf(piece.value).reverse());
  }
}

function piecesOf(value: object): Piece[] {
  const isList = Array.isArray(value);
  const pieces: Piece[] = [{ text: isList ? '[' : '{' }];
  for (const [key, inner] of Object.entries(value)) {
    const comma = pieces.length > 1 ? ',' : '';
    pieces.push({ text: isList ? comma : `${comma}${jsonText(key)}:` }, { value: inner });
  }
  pieces.push({ text: isList ? ']' : '}' });
  return pieces;
}

/** Characters joined before they are encoded. */
const PENDING_CHARS_MAX = 8_192;
const BYTES_AT_FIRST = 4_096;
/** Maximum bytes per UTF-16 code unit; a surrogate pair takes four together. */
const UTF8_BYTES_A_CHAR_MAX = 3;

class BoundedText {
  readonly #bytesMax: number;
  readonly #tooLong: () => Error;
  #buffer = Buffer.allocUnsafe(BYTES_AT_FIRST);
  #length = 0;
  #pending = '';

  /** `tooLong` creates the error that is thrown beyond `bytesMax`. */
  constructor(bytesMax: number, tooLong: () => Error) {
    this.#bytesMax = bytesMax;
    this.#tooLong = tooLong;
  }

  append(text: string): void {
    this.#pending += text;
    if (this.#pending.length >= PENDING_CHARS_MAX) this.#encodePending();
  }

  /**
   * Bytes that the caller writes: `write` gets an array with space for `bytesMax` more bytes from
   * `at` on, and returns its end position.
   */
  appendBytes(bytesMax: number, write: (bytes: Uint8Array, at: number) => number): void {
    if (this.#pending !== '') this.#encodePending();
    this.#reserve(bytesMax);
    this.#length = write(this.#buffer, this.#length);
    if (this.#length > this.#bytesMax) throw this.#tooLong();
  }

  /** A copy of the bytes, UTF-8. */
  toBytes(): Uint8Array<ArrayBuffer> {
    this.#encodePending();
    return new Uint8Array(this.#buffer.subarray(0, this.#length));
  }

  #encodePending(): void {
    const text = this.#pending;
    this.#pending = '';
    if (this.#length + text.length > this.#bytesMax) throw this.#tooLong();
    this.#reserve(text.length * UTF8_BYTES_A_CHAR_MAX);
    this.#length += this.#buffer.write(text, this.#length, 'utf8');
    if (this.#length > this.#bytesMax) throw this.#tooLong();
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

// The points of a matrix as bytes: most of a large response. Each is `,[<seconds>,"<value>"]`.
// Integers and numbers of up to three decimals, which most readings are, are written digit by
// digit, several times faster than through a string; all others are formatted by `valueText`.

/** A time of 18 characters, a value of 24, six characters between them, and some spare. */
export const POINT_BYTES_MAX = 64;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const CLOSE = 0x5d;

/** Ends the point with its value, at `at`: `<value>"]`. Returns the end position. */
export function writeValue(bytes: Uint8Array, at: number, value: number): number {
  let end = writeShortDecimal(bytes, at, value);
  if (end === at) end = writeText(bytes, at, valueText(value));
  bytes[end] = QUOTE;
  bytes[end + 1] = CLOSE;
  return end + 2;
}

/** Integers up to here are exact. */
const WHOLE_MAX = Number.MAX_SAFE_INTEGER;
/**
 * With three decimals 15 digits: no other decimal with so few digits is the same double, so this is
 * the shortest.
 */
const DECIMAL_MAX = 1e12;

/** Returns `at` if the value is not of this kind. */
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

/** `.5`, `.25`, `.125`: decimals for 1 to 999 thousandths. */
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

/** Exactly `count` digits, zero-padded. */
function writeDigits(bytes: Uint8Array, at: number, number: number, count: number): number {
  let rest = number | 0;
  for (let i = at + count - 1; i >= at; i--) {
    const tens = (rest / 10) | 0;
    bytes[i] = ZERO + rest - tens * 10;
    rest = tens;
  }
  return at + count;
}

/** Number of digits of an integer below a billion. */
function digitsOf(number: number): number {
  let count = 1;
  for (let bound = 10; number >= bound; bound *= 10) count++;
  return count;
}

function writeText(bytes: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  return at + text.length;
}

/** Begins a point: `,[<seconds>,"`, with as many decimals as needed. Needs integer ms. */
function writeTime(bytes: Uint8Array, at: number, timeMs: number): number {
  bytes[at] = COMMA;
  bytes[at + 1] = OPEN;
  let end = writeShortDecimal(bytes, at + 2, timeMs / 1000);
  if (end === at + 2) end = writeText(bytes, end, secondsText(timeMs));
  bytes[end] = COMMA;
  bytes[end + 1] = QUOTE;
  return end + 2;
}

/** Below this, and from 1e21 up, both languages write an exponent. */
const EXPONENT_BELOW = 1e-6;
const EXPONENT_FROM = 1e21;

/** `1.5`, `NaN`, `+Inf`, `-0`, `1e-07`: a value in a vector or a matrix. */
export function valueText(value: number): string {
  // The common case first: this runs for each point of a response.
  if (value >= EXPONENT_BELOW && value < EXPONENT_FROM) return `${value}`;
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  if (!Number.isFinite(value)) return nonFiniteText(value);
  return `${value}`.replace(ONE_DIGIT_EXPONENT, '$10$2');
}

const ONE_DIGIT_EXPONENT = /(e[+-])(\d)$/;

/** A scalar: like `valueText`, but never with an exponent. */
function scalarText(value: number): string {
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

/** Unix ms as seconds with as many decimals as needed, at most three. Needs integer ms. */
function secondsText(timeMs: number): string {
  return `${timeMs / 1000}`;
}
