/**
 * Which field of a request the framework's parser means: it names types and fields by their
 * protobuf names, callers know JSON paths such as `spec.severity`.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';

/** What the parser complained about, in the caller's words; `field` absent = the body as a whole. */
export interface ParseProblem {
  readonly field?: string;
  readonly message: string;
}

/** The parser's sentence about a body that should have been an `input`. */
export function parseProblem(sentence: string, input: DescMessage): ParseProblem {
  const [, enumType, value = ''] = /enum ([\w.]+) from JSON: (.*)$/s.exec(sentence) ?? [];
  const enumField = enumType && find(input, (each) => each.enum?.typeName === enumType);
  if (enumField) return enumProblem(enumField, value);
  const [, type, name] = /field ([\w.]+)\.(\w+) from JSON/.exec(sentence) ?? [];
  const found = find(input, (each) => each.parent.typeName === type && each.name === name);
  const key = found?.path ?? /key "([^"]{1,100})"/.exec(sentence)?.[1];
  const message = sentence.replace(/svc\.[a-z]+\.v1\./g, '').slice(0, 500);
  return key === undefined ? { message } : { field: key, message };
}

interface Found {
  readonly field: DescField;
  readonly path: string;
}

function enumProblem({ field, path }: Found, value: string): ParseProblem {
  const known = field.enum?.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return { field: path, message: `${path} is ${value.slice(0, 100)}: one of ${known?.join(', ')}` };
}

/** The first field that fits, breadth before depth; our messages do not contain themselves. */
function find(
  message: DescMessage,
  fits: (field: DescField) => boolean,
  prefix = '',
): Found | undefined {
  const field = message.fields.find(fits);
  if (field) return { field, path: prefix + field.jsonName };
  for (const each of message.fields) {
    const inner = each.message && find(each.message, fits, `${prefix}${each.jsonName}.`);
    if (inner) return inner;
  }
  return undefined;
}
