/**
 * Output of client commands: tables and facts for people, one JSON document for programs. Foreign
 * texts are sanitized for terminals; times are local, in ISO format with their offset.
 */
import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf';
import { type Column, tableLines } from '../../platform/table.ts';
import { withOffset } from '../../platform/time-text.ts';
import { EXIT_OK } from '../command.ts';
import type { ActionContext } from './action.ts';
import { printable } from './faults.ts';

/** Placeholder for unobserved values in a table: never a zero. */
export const NOT_OBSERVED = '-';

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

/**
 * Prints a message: as JSON for programs, as `text` for people. Returns the exit code of success.
 */
export function printMessage<D extends DescMessage>(
  { json: isJson, print }: Pick<ActionContext, 'json' | 'print'>,
  schema: D,
  message: MessageInitShape<D>,
  text: () => string,
): number {
  print(isJson ? json(messageJson(schema, create(schema, message))) : text());
  return EXIT_OK;
}

/** `2026-11-21T15:32:28+01:00`; '' for 0 or an absent time. */
export function localTime(unixSeconds: bigint | number | undefined): string {
  const seconds = Number(unixSeconds ?? 0);
  if (seconds === 0) return '';
  const unixMs = seconds * 1000;
  return Number.isNaN(new Date(unixMs).getTime()) ? '?' : withOffset(unixMs);
}

/** Name of an enum value; '' if it is unspecified or unknown to this program. */
export function enumText(names: Readonly<Record<string, unknown>>, value: number): string {
  const name = Object.entries(names).find(([, known]) => known === value)?.[0] ?? '';
  return value === 0 ? '' : name;
}

/** Name in a list: the display name, or else the id. */
export function displayedName(displayName: string, name: string): string {
  return displayName || shortName(name);
}

/** Name shown alone: `Web (projects/p/vms/v)`. */
export function fullName(displayName: string, name: string): string {
  return displayName === '' ? name : `${displayName} (${name})`;
}

/** Last part of a resource name. */
export function shortName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
