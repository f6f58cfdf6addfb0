/**
 * Finds null where a request needs a number, an enum value or a boolean. Protobuf's JSON reads such
 * a null as the field's default, so a missing reading, threshold or duration would become a zero:
 * `JSON.stringify` writes null for NaN and Infinity. Text, lists and messages may be null, which
 * leaves them out.
 */
import { Buffer } from 'node:buffer';
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { invalidField } from '../../../streams/platform/refusal.ts';
import { toConnectError } from '../errors.ts';

/** Rejects such a request before it is parsed. Throws a `ConnectError` INVALID_FIELD. */
export function checkNulls(input: DescMessage, plain: Uint8Array): void {
  if (!mayHoldNull(plain)) return;
  const path = nullIn(input, parsedJson(plain));
  if (path !== undefined) throw toConnectError(invalidField(path, `${path} ${NULL_SENTENCE}`));
}

/** Message about a null, after the field's path. */
export const NULL_SENTENCE = 'is null. Send a value, or leave the field out.';

/** false: the JSON has no null. A cheap check. */
export function mayHoldNull(plain: Uint8Array): boolean {
  return Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength).includes('null');
}

/** Path of the first such null in the JSON of a message; undefined if absent. */
export function nullIn(message: DescMessage, json: unknown, prefix = ''): string | undefined {
  if (!isObject(json)) return undefined;
  for (const [key, value] of Object.entries(json)) {
    const field = fieldOf(message, key);
    const path = field && nullInField(field, value, prefix + field.jsonName);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** The field with this JSON name or schema name. */
export function fieldOf(message: DescMessage, key: string): DescField | undefined {
  return message.fields.find(({ jsonName, name }) => jsonName === key || name === key);
}

function nullInField(field: DescField, value: unknown, path: string): string | undefined {
  switch (field.fieldKind) {
    case 'scalar':
    case 'enum':
      return value === null && !isText(field) ? path : undefined;
    case 'message':
      return nullIn(field.message, value, `${path}.`);
    case 'list':
      return firstOf(Array.isArray(value) ? value.entries() : [], ([at, each]) =>
        nullInElement(field, each, `${path}[${at}]`),
      );
    case 'map':
      return firstOf(isObject(value) ? Object.entries(value) : [], ([key, each]) =>
        nullInElement(field, each, `${path}.${key}`),
      );
  }
}

/** Elements are never optional, so none may be null. */
function nullInElement(
  { message }: Pick<DescField, 'message'>,
  value: unknown,
  path: string,
): string | undefined {
  if (value === null) return path;
  return message && nullIn(message, value, `${path}.`);
}

function isText(field: DescField): boolean {
  return field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES;
}

function firstOf<T>(items: Iterable<T>, find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** undefined if it is not JSON: the framework parses the same bytes next and reports it. */
function parsedJson(plain: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(plain));
  } catch {
    return undefined;
  }
}
