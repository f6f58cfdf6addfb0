/**
 * Output of client commands: tables and facts for people, one JSON document for programs. Foreign
 * texts are sanitized for terminals.
 */
import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf';
import { type Column, tableLines } from '../../platform/table.ts';
import { EXIT_OK } from '../command.ts';
import type { ActionContext } from './action.ts';
import { printable } from './faults.ts';

/** A table, or the text `none` without rows. */
export function table(
  columns: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  none: string,
): string {
  if (rows.length === 0) return `${none}\n`;
  const titled = columns.map((column) => (typeof column === 'string' ? { title: column } : column));
  const lines = tableLines(
    titled,
    rows.map((row) => row.map(printable)),
  );
  return `${lines.join('\n')}\n`;
}

/** Names and values, one pair per line; pairs with an empty value are omitted. */
export function facts(pairs: readonly (readonly [string, string])[]): string {
  const displayed = pairs.filter(([, value]) => value !== '');
  const width = Math.max(0, ...displayed.map(([name]) => name.length));
  return displayed.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}\n`).join('');
}

/** One document, indented. */
export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** A message as the API would send it: camelCase, with defaults, without absent fields. */
export function messageJson<D extends DescMessage>(schema: D, message: MessageShape<D>): unknown {
  return toJson(schema, message, { alwaysEmitImplicit: true });
}

/** A message as the document that is printed for programs. */
export function messageDocument<D extends DescMessage>(
  schema: D,
  message: MessageInitShape<D>,
): string {
  return json(messageJson(schema, create(schema, message)));
}

/**
 * Prints a message: as JSON for programs, as `text` for people. Returns the exit code of success.
 */
export function printMessage<D extends DescMessage>(
  { json: isJson, print }: Pick<ActionContext, 'json' | 'print'>,
  schema: D,
  message: MessageInitShape<D>,
  text: () => string,
): number {
  print(isJson ? messageDocument(schema, message) : text());
  return EXIT_OK;
}
