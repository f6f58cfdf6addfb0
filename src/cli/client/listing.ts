/**
 * Lists for people. On a terminal they fit its width, times are relative and states have colours.
 * In a file or a pipe everything is printed in full: every column, times with date and offset, no
 * colour.
 */
import { type Column, tableLines } from '../../platform/table.ts';
import type { Screen } from '../command.ts';
import { printable } from './faults.ts';
import { localTime } from './texts.ts';

/** A column of a list, and how it shrinks on a terminal that is too narrow. */
export interface ListColumn extends Column {
  readonly narrow?: 'drop' | 'cut' | 'wrap';
}

/** A column that is dropped if space is short, the last one first. */
export function minor(title: string): ListColumn {
  return { title, narrow: 'drop' };
}

/** A column of texts that are truncated if space is short. */
export function long(title: string): ListColumn {
  return { title, narrow: 'cut' };
}

/** A column of sentences that wrap if space is short. */
export function sentences(title: string): ListColumn {
  return { title, narrow: 'wrap' };
}

/** A column of numbers. */
export function right(title: string): ListColumn {
  return { title, align: 'right' };
}

interface Moment {
  readonly unix: bigint | number | undefined;
  readonly none: string;
}

interface Displayed {
  readonly state: string;
}

interface Id {
  readonly id: string;
}

/** A text, a time, a state, or an id. */
export type Cell = string | Moment | Displayed | Id;

/** The id in a resource name; on a terminal only its beginning, which commands accept too. */
export function idCell(name: string): Cell {
  return { id: name.slice(name.lastIndexOf('/') + 1) };
}

/** Displayed length of an id derived from a digest: a prefix that is unique in a project. */
const ID_LETTERS = 12;

/** @param none text for 0 or an absent time */
export function moment(unix: bigint | number | undefined, none = ''): Cell {
  return { unix, none };
}

/** A state, whose first word determines its colour. */
export function stateCell(text: string): Cell {
  return { state: text };
}

/** A list, or the text `none` without rows. @param screen undefined without a terminal */
export function listing(
  screen: Screen | undefined,
  columns: readonly (string | ListColumn)[],
  rows: readonly (readonly Cell[])[],
  none: string,
): string {
  if (rows.length === 0) return `${none}\n`;
  const titled = columns.map((column) => (typeof column === 'string' ? { title: column } : column));
  if (!screen) {
    const texts = rows.map((row) => row.map((cell) => printable(fullText(cell))));
    return `${tableLines(titled, texts).join('\n')}\n`;
  }
  return fitted(screen, titled, rows);
}

function fullText(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  if ('id' in cell) return cell.id;
  return 'state' in cell ? cell.state : localTime(cell.unix) || cell.none;
}

function shortText(cell: Cell, { nowMs }: Screen): string {
  if (typeof cell === 'string') return cell;
  if ('id' in cell) return cell.id.slice(0, ID_LETTERS);
  return 'state' in cell ? cell.state : relativeTime(cell.unix, nowMs) || cell.none;
}

const GAP = 2;
/** Minimum width of a shrunk column. */
const WIDTH_MIN = { cut: 8, wrap: 24 } as const;

interface FittedColumn {
  readonly column: ListColumn;
  readonly place: number;
  width: number;
}

function fitted(
  screen: Screen,
  columns: readonly ListColumn[],
  rows: readonly (readonly Cell[])[],
): string {
  const texts = rows.map((row) => row.map((cell) => printable(shortText(cell, screen))));
  const displayed: FittedColumn[] = columns.map((column, place) => {
    const widths = texts.map((row) => row[place]?.length ?? 0);
    // An empty column is dropped.
    const width = Math.max(...widths) === 0 ? 0 : Math.max(column.title.length, ...widths);
    return { column, place, width };
  });
  const kept = fit(
    displayed.filter(({ width }) => width > 0),
    screen.columns,
  );
  const line = (cells: readonly string[], paint: (place: number, text: string) => string) =>
    kept
      .map(({ column, place, width }, i) => {
        const text = shortened(cells[place] ?? '', width);
        const space = ' '.repeat(width - text.length);
        const painted = paint(place, text);
        if (column.align === 'right') return `${space}${painted}`;
        return i === kept.length - 1 ? painted : `${painted}${space}`;
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  const titles = columns.map(({ title }) => title);
  const lines = texts.flatMap((row, r) =>
    wrapped(row, kept).map((cells) =>
      line(cells, (place, text) => coloured(rows[r]?.[place], text, screen)),
    ),
  );
  const head = line(titles, (_, text) =>
    screen.hasColour && text !== '' ? `\u001b[1m${text}\u001b[0m` : text,
  );
  return `${[head, ...lines].join('\n')}\n`;
}

/**
 * Truncates long columns and drops minor ones until the rest fits or nothing can shrink further.
 */
function fit(displayed: readonly FittedColumn[], room: number): readonly FittedColumn[] {
  let kept = displayed;
  while (overflow(kept, room) > 0) {
    const widest = widestCut(kept);
    const last = kept.findLast(({ column }) => column.narrow === 'drop');
    // A text wider than a third of the line is truncated before a whole column is dropped.
    if (widest && (!last || widest.width > room / 3)) widest.width--;
    else if (last) kept = kept.filter((one) => one !== last);
    else break;
  }
  return kept;
}

function overflow(kept: readonly FittedColumn[], room: number): number {
  const gaps = GAP * Math.max(0, kept.length - 1);
  return kept.reduce((sum, { width }) => sum + width, gaps) - room;
}

function widestCut(kept: readonly FittedColumn[]): FittedColumn | undefined {
  const cuttable = kept.filter(({ column: { narrow }, width }) => {
    return narrow !== undefined && narrow !== 'drop' && width > WIDTH_MIN[narrow];
  });
  return cuttable.toSorted((a, b) => b.width - a.width)[0];
}

/** The lines of a row: more than one if a sentence wraps. */
function wrapped(row: readonly string[], kept: readonly FittedColumn[]): string[][] {
  const lines: string[][] = [[...row]];
  for (const { column, place, width } of kept) {
    if (column.narrow !== 'wrap') continue;
    for (const [i, text] of wordLines(row[place] ?? '', width).entries()) {
      lines[i] ??= row.map(() => '');
      lines[i][place] = text;
    }
  }
  return lines;
}

function wordLines(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    const longer = last === '' ? word : `${last} ${word}`;
    if (longer.length <= width || last === '') lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  // Splits a word that is too long, such as a URL.
  return lines.flatMap((line) => line.match(new RegExp(`.{1,${width}}`, 'gu')) ?? ['']);
}

function shortened(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const GREY = 90;

/** By the first word of a state. */
const COLOURS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    [
      'FIRING',
      'CRITICAL',
      'FAILED',
      'EXPIRED',
      'STALE',
      'ERROR',
      'CRASHED',
      'REVOKED',
      'REJECTED',
      'BOUNCED',
      'lasts',
    ].map((word) => [word, RED]),
  ),
  ...Object.fromEntries(
    [
      'WARNING',
      'WAITING',
      'PENDING',
      'PAUSED',
      'SUSTAINING',
      'ROTATING',
      'DISABLED',
      'UNKNOWN',
      'MISSING',
      'NEVER',
    ].map((word) => [word, YELLOW]),
  ),
  ...Object.fromEntries(
    ['RECOVERED', 'SENT', 'APPLIED', 'ACTIVE', 'RUNNING', 'LIVE', 'ENABLED', 'APPROVED'].map(
      (word) => [word, GREEN],
    ),
  ),
  ...Object.fromEntries(
    ['IDLE', 'RETIRED', 'SUPPRESSED', 'STOPPED', 'OVER', 'INFO'].map((word) => [word, GREY]),
  ),
};

function coloured(cell: Cell | undefined, text: string, { hasColour }: Screen): string {
  if (!hasColour || text === '' || typeof cell !== 'object' || !('state' in cell)) {
    return text;
  }
  const colour = COLOURS[/^\w+/.exec(cell.state)?.[0] ?? ''];
  return colour === undefined ? text : `\u001b[${colour}m${text}\u001b[0m`;
}

const UNITS: readonly (readonly [seconds: number, letter: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
];

/** Maximum age displayed relatively; beyond it a date is more useful, s. */
const RELATIVE_MAX = 60 * 86_400;

/** `5m ago`, `in 3h`, `now`, or a date; '' for 0 or an absent time. */
export function relativeTime(unix: bigint | number | undefined, nowMs: number): string {
  const seconds = Number(unix ?? 0);
  if (seconds === 0) return '';
  const ahead = seconds - Math.floor(nowMs / 1000);
  const distance = Math.abs(ahead);
  if (distance === 0) return 'now';
  if (distance > RELATIVE_MAX) return localTime(seconds).slice(0, '2026-11-24'.length);
  const [unit = 1, letter = 's'] = UNITS.find(([size]) => distance >= size) ?? [];
  const text = `${Math.floor(distance / unit)}${letter}`;
  return ahead < 0 ? `${text} ago` : `in ${text}`;
}
