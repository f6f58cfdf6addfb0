/**
 * Reads the body of a `WriteSamples` request part by part, where the framework would reject all of
 * it for one part: a row of a wrong type, a value that is null, text that is not UTF-8. Rows are
 * taken out of the body and passed to the handler separately. The framework parses the rest, so
 * faults of the request itself are rejected there.
 *
 *     body -> rows, each by itself -> handler
 *          -> project, batch id    -> framework -> handler
 */
import { Buffer, isUtf8 } from 'node:buffer';
import {
  create,
  type DescEnum,
  type DescMessage,
  fromBinary,
  fromJson,
  fromJsonString,
  type JsonValue,
  mergeFromBinary,
  mergeFromJson,
  toJsonString,
} from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { EmptySchema } from '@bufbuild/protobuf/wkt';
import { type ContextValues, createContextKey } from '@connectrpc/connect';
import { oneLine } from '../../../actors/platform/plain-text.ts';
import type { RejectedSample } from '../../../actors/telemetry/ingest/rejections.ts';
import {
  type Row,
  RowSchema,
  type Value,
  ValueSchema,
  WriteSamplesRequestSchema,
} from '../../gen/svc/ingest/v1/ingest_pb.ts';
import { fieldOf, mayHoldNull, NULL_SENTENCE, nullIn } from '../../platform/api/json-nulls.ts';
import { FormRejections, type ReadRow, type ReadRows } from './sent-rows.ts';

/** Rows of the call, read before the framework. */
const rowsKey = createContextKey<ReadRows | undefined>(undefined, {
  description: 'rows of a WriteSamples request',
});

/** The rows that were read before the framework; undefined: they are in the message. */
export function readRowsOf(values: ContextValues): ReadRows | undefined {
  return values.get(rowsKey);
}

/**
 * Takes the rows out of the body and keeps them for the handler.
 *
 * @returns the body for the framework: without its rows, or unchanged if it cannot be read at all
 */
export function takeRows(plain: Uint8Array, isJson: boolean, values: ContextValues): Uint8Array {
  const taken = isJson ? takeJson(plain) : takeBinary(plain);
  if (taken === undefined) return plain;
  values.set(rowsKey, taken.read);
  return taken.rest;
}

interface Taken {
  readonly read: ReadRows;
  readonly rest: Uint8Array;
}

/**
 * Fields whose fault rejects only themselves: the rest of the row keeps its meaning without them.
 */
const LONE_FIELDS: ReadonlySet<string> = new Set([
  'state',
  'stateReason',
  'displayName',
  'vcpus',
  'leftOut',
]);
/** Maximum length of the parser's message, characters. */
const DETAIL_MAX = 200;

type Part = Omit<RejectedSample, 'row'>;

/** One row that is read part by part. */
class PartialRow {
  readonly row: Row = create(RowSchema);
  readonly valueIndexes: number[] = [];
  readonly rejected: Part[] = [];

  /** @param read reads the field into the row; throws the parser's error */
  field(name: string, read: () => void): void {
    try {
      read();
    } catch (error) {
      this.refuse(name, `${name} cannot be read: ${detailOf(error)}.`);
    }
  }

  /** Rejects the field, or the whole row because of it. */
  refuse(name: string, message: string): void {
    const isLone = LONE_FIELDS.has(name);
    this.rejected.push({ series: isLone ? name : '', reason: 'UNREADABLE', field: name, message });
  }

  value(at: number, read: () => Value, series: () => string): void {
    try {
      this.row.values.push(read());
      this.valueIndexes.push(at);
    } catch (error) {
      this.refuseValue(at, series(), {
        reason: 'UNREADABLE',
        message: `The value cannot be read: ${detailOf(error)}.`,
      });
    }
  }

  refuseValue(at: number, series: string, why: Pick<Part, 'reason' | 'message'>): void {
    const field = `values[${at}]`;
    this.rejected.push({ series: oneLine(series, DETAIL_MAX) || field, field, ...why });
  }

  /** The row as far as it was read, with its index in the request. */
  at(index: number): ReadRow {
    const rejected = this.rejected.map((part) => ({ row: index, ...part }));
    return { index, row: this.row, valueIndexes: this.valueIndexes, rejected };
  }
}

function notARow(index: number, message: string): RejectedSample {
  return { row: index, series: '', reason: 'UNREADABLE', message };
}

/** The parser's message, without the names of its types. */
function detailOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return oneLine(text.replace(/^cannot decode .*? from JSON: /s, ''), DETAIL_MAX);
}

// JSON. A request without any fault is parsed once, as by the framework. Only a faulty one is
// parsed again, row by row, and its faulty rows field by field.

function takeJson(plain: Uint8Array): Taken | undefined {
  const text = new TextDecoder().decode(plain);
  // Bytes that are not UTF-8 were replaced, so two names that differ only in them would become
  // equal.
  const isSound = isUtf8(plain);
  const whole = isSound && !mayHoldNull(plain) ? wholeJson(text) : undefined;
  if (whole) return whole;
  const body = requestObject(text);
  if (body === undefined) return undefined;
  const { rows, ...rest } = body;
  if (rows !== undefined && rows !== null && !Array.isArray(rows)) return undefined;
  const rejections = new FormRejections();
  const read: ReadRow[] = [];
  for (const [index, json] of (rows ?? []).entries()) {
    const row = jsonRow(json, index, isSound);
    if ('reason' in row) rejections.add(row);
    else read.push(row);
  }
  return { read: { rows: read, rejections }, rest: Buffer.from(JSON.stringify(rest)) };
}

/** The request, if its parser finds no fault. */
function wholeJson(text: string): Taken | undefined {
  try {
    const request = fromJsonString(WriteSamplesRequestSchema, text, { ignoreUnknownFields: false });
    const rows = request.rows.map((row, index) => ({ index, row }));
    const rest = create(WriteSamplesRequestSchema, {
      projectName: request.projectName,
      batchId: request.batchId,
    });
    return {
      read: { rows, rejections: new FormRejections() },
      rest: Buffer.from(toJsonString(WriteSamplesRequestSchema, rest)),
    };
  } catch {
    return undefined;
  }
}

/** The request's object; undefined if it is not JSON, not an object, or has a duplicate name. */
function requestObject(text: string): Record<string, JsonValue> | undefined {
  try {
    // Finds duplicate names, of which JSON.parse would keep the last.
    fromJsonString(EmptySchema, text, { ignoreUnknownFields: true });
    const body: unknown = JSON.parse(text);
    // The first call throws for anything other than an object.
    return body as Record<string, JsonValue>;
  } catch {
    return undefined;
  }
}

function jsonRow(json: JsonValue, index: number, isSound: boolean): ReadRow | RejectedSample {
  if (!isSound || nullIn(RowSchema, json) !== undefined) return jsonParts(json, index, isSound);
  try {
    return { index, row: fromJson(RowSchema, json, { ignoreUnknownFields: false }) };
  } catch {
    return jsonParts(json, index, isSound);
  }
}

function jsonParts(json: JsonValue, index: number, isSound: boolean): ReadRow | RejectedSample {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return notARow(index, 'The row is not an object.');
  }
  const partial = new PartialRow();
  for (const [key, part] of Object.entries(json)) {
    const field = fieldOf(RowSchema, key);
    const name = field?.jsonName ?? oneLine(key, DETAIL_MAX);
    if (field === undefined) {
      partial.refuse(name, `${name} is not a field of a row. Send only fields of the schema.`);
    } else if (name === 'values' && Array.isArray(part)) {
      for (const [at, value] of part.entries()) jsonValue(partial, at, value, isSound);
    } else if (nullIn(RowSchema, { [key]: part }) !== undefined) {
      partial.refuse(name, `${name} ${NULL_SENTENCE}`);
    } else if (!isSound && holdsReplaced(part)) {
      partial.refuse(name, `${name} is not UTF-8.`);
    } else if (field.enum && isUnknownName(field.enum, part)) {
      const known = field.enum.values.filter(({ number }) => number !== 0).map((one) => one.name);
      const displayed = oneLine(String(part), DETAIL_MAX);
      partial.refuse(name, `${name} is "${displayed}". Send one of ${known.join(', ')}.`);
    } else {
      partial.field(
        name,
        () => void mergeFromJson(RowSchema, partial.row, { [key]: part }, STRICT),
      );
    }
  }
  return partial.at(index);
}

function isUnknownName(type: DescEnum, json: JsonValue): boolean {
  return typeof json === 'string' && type.values.every(({ name }) => name !== json);
}

const STRICT = { ignoreUnknownFields: false };

function jsonValue(partial: PartialRow, at: number, json: JsonValue, isSound: boolean): void {
  const fields = typeof json === 'object' && json !== null && !Array.isArray(json) ? json : {};
  const name = typeof fields.series === 'string' ? fields.series : '';
  if (fields.value === null) {
    partial.refuseValue(at, name, {
      reason: 'NO_VALUE',
      message: 'The value is null. Leave out the whole entry if there was no reading.',
    });
  } else if (!isSound && holdsReplaced(json)) {
    partial.refuseValue(at, name, { reason: 'UNREADABLE', message: 'The value is not UTF-8.' });
  } else {
    partial.value(
      at,
      () => fromJson(ValueSchema, json, STRICT),
      () => name,
    );
  }
}

/** True if a text contains the replacement character for bytes that are not UTF-8. */
function holdsReplaced(json: JsonValue): boolean {
  return JSON.stringify(json).includes('\ufffd');
}

// Binary. Each row is a message inside the request, and each value a message inside its row.

const FIELD_ROWS = fieldNumber(WriteSamplesRequestSchema, 'rows');
const FIELD_VALUES = fieldNumber(RowSchema, 'values');
const FIELD_SERIES = fieldNumber(ValueSchema, 'series');

function takeBinary(plain: Uint8Array): Taken | undefined {
  const rejections = new FormRejections();
  const read: ReadRow[] = [];
  const rest: Uint8Array[] = [];
  let index = 0;
  try {
    for (const field of fieldsOf(plain)) {
      if (field.number !== FIELD_ROWS || field.content === undefined) rest.push(field.whole);
      else {
        const row = binaryRow(field.content, index++);
        if ('reason' in row) rejections.add(row);
        else read.push(row);
      }
    }
  } catch {
    return undefined;
  }
  return { read: { rows: read, rejections }, rest: Buffer.concat(rest) };
}

function binaryRow(bytes: Uint8Array, index: number): ReadRow | RejectedSample {
  try {
    return { index, row: fromBinary(RowSchema, bytes) };
  } catch {
    return binaryParts(bytes, index);
  }
}

function binaryParts(bytes: Uint8Array, index: number): ReadRow | RejectedSample {
  const partial = new PartialRow();
  let at = 0;
  try {
    for (const { number, content, whole } of fieldsOf(bytes)) {
      if (number === FIELD_VALUES && content !== undefined) {
        partial.value(
          at++,
          () => fromBinary(ValueSchema, content),
          () => seriesIn(content),
        );
        continue;
      }
      const name =
        RowSchema.fields.find((field) => field.number === number)?.jsonName ?? `${number}`;
      partial.field(name, () => void mergeFromBinary(RowSchema, partial.row, whole));
    }
  } catch {
    return notARow(index, 'The bytes of the row are not a valid message.');
  }
  return partial.at(index);
}

/** Series name in the bytes of an unreadable value; '' = the name is unreadable too. */
function seriesIn(bytes: Uint8Array): string {
  try {
    for (const { number, content } of fieldsOf(bytes)) {
      if (number === FIELD_SERIES && content) return new TextDecoder().decode(content);
    }
  } catch {
    // Broken before its name.
  }
  return '';
}

interface WireField {
  readonly number: number;
  /** Content of a length-delimited field. */
  readonly content: Uint8Array | undefined;
  /** The field including its tag. */
  readonly whole: Uint8Array;
}

/** Fields of a message, undecoded. Throws the errors of the wire format's reader. */
function* fieldsOf(bytes: Uint8Array): Generator<WireField> {
  const reader = new BinaryReader(bytes);
  const passOver = reader.skip.bind(reader);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    const isContent = type === WireType.LengthDelimited;
    const content = isContent ? reader.bytes() : undefined;
    if (!isContent) passOver(type, number);
    yield { number, content, whole: bytes.subarray(start, reader.pos) };
  }
}

function fieldNumber(message: DescMessage, name: string): number {
  const found = fieldOf(message, name);
  if (found === undefined) throw new Error(`${message.typeName} has no field ${name}`);
  return found.number;
}
