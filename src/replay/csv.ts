/**
 * Rows of a CSV (RFC 4180): a header, then one row per observation. Quoted cells may contain commas,
 * quotes and line breaks. The header also takes series as they are written elsewhere, without quotes
 * around them: `svc_vm_filesystem_used_bytes{fstype="ext4",mountpoint="/"}`.
 */
import { CsvError, parse } from 'csv-parse/sync';
import type { ObservedRow, ObservedValue } from '../../actors/telemetry/collectors/collector.ts';
import { VM_STATES, type VmState } from '../../streams/telemetry/samples/batch.ts';
import { readTime } from '../platform/time-text.ts';

/** A recording or trace that cannot be read. The message says where, and what to do. */
export class UnreadableRecording extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnreadableRecording';
  }
}

export interface CsvOptions {
  /** Series key by column, such as `value` -> `svc_vm_cpu_utilization_pct`; others keep their names. */
  readonly series?: Readonly<Record<string, string>>;
  /** Called now and then with the share that was read, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

/** The file, and the VM of rows that name none ('' = each row must name one). */
export interface NamedCsv extends CsvOptions {
  readonly vm: string;
  /** Name of the file in errors. */
  readonly name: string;
}

/** A row and the line of the file on which it begins, from 1. */
export interface CsvRow {
  readonly row: ObservedRow;
  readonly line: number;
}

/**
 * Rows of a CSV with a header: a time, optionally `vm`, `name`, `state`, `vcpus` and `boot`, and a
 * column for each series. Throws `UnreadableRecording`.
 */
export function parseCsv(text: string, options: NamedCsv): ObservedRow[] {
  return csvRows(text, options).map(({ row }) => row);
}

/** The same with the line of each row. */
export function csvRows(text: string, options: NamedCsv): CsvRow[] {
  const { name, onProgress } = options;
  const whole = text.replace(/^\ufeff/, '');
  const header = whole.slice(0, headerEnd(whole));
  const rest = Buffer.from(whole.slice(header.length + 1));
  const reader = new RowReader(columnsOf(header, options), options);
  const headerLines = lineBreaksIn(header) + 1;
  const rows: CsvRow[] = [];
  parsedRecords(rest, { name, headerLines }, (cells, { lastLine, bytes }) => {
    const line = lastLine - cells.reduce((sum, cell) => sum + lineBreaksIn(cell), 0);
    const row = reader.read(cells, line);
    if (row) rows.push({ row, line });
    if (rows.length % PROGRESS_EVERY === 0) onProgress?.(bytes / rest.length);
  });
  onProgress?.(1);
  return rows;
}

const PROGRESS_EVERY = 10_000;

/** `bytes` were read until the end of the record on `lastLine`. */
type OnRecord = (cells: readonly string[], at: { lastLine: number; bytes: number }) => void;

interface Place {
  readonly name: string;
  readonly headerLines: number;
}

function parsedRecords(body: Buffer, { name, headerLines }: Place, onRecord: OnRecord): void {
  const lines = new LineCounter(body, headerLines + 1);
  try {
    parse(body, {
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
      on_record: (cells: string[], { bytes }) => {
        onRecord(cells, { lastLine: lines.lastLine(bytes), bytes });
        // The rows are built one by one: a second list of all cells would need the memory twice.
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { index = 0 } = error as { readonly index?: number };
    const where = `${name}, line ${lines.nextLine()}, column ${index + 1}`;
    throw new UnreadableRecording(`${where}: ${quoteProblem(error)}`, { cause: error });
  }
}

const LF = 0x0a;

/** Counts lines up to the end of each record: csv-parse counts CRLF inside quotes twice. */
class LineCounter {
  readonly #body: Buffer;
  /** End of the last record, and the line on which the next byte is. */
  #at = 0;
  #line: number;

  constructor(body: Buffer, firstLine: number) {
    this.#body = body;
    this.#line = firstLine;
  }

  /** Line on which the record that ends at `bytes` ends. */
  lastLine(bytes: number): number {
    this.#advance(bytes);
    return this.#body[bytes - 1] === LF ? this.#line - 1 : this.#line;
  }

  /** The first line after the last record that is not blank. */
  nextLine(): number {
    const rest = this.#body.subarray(this.#at).toString();
    this.#advance(
      this.#at + Buffer.byteLength(rest.slice(0, rest.length - rest.trimStart().length)),
    );
    return this.#line;
  }

  #advance(to: number): void {
    for (let i = this.#at; i < to; i++) if (this.#body[i] === LF) this.#line++;
    this.#at = to;
  }
}

function quoteProblem({ code }: CsvError): string {
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'a quote is not closed. Write "" for a quote inside a quoted cell';
    case 'INVALID_OPENING_QUOTE':
      return 'a quote is inside an unquoted cell. Quote the whole cell, and write "" for each quote in it';
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'text follows a quoted cell. Write "" for a quote inside a quoted cell';
    default:
      return `the cell cannot be read (${code})`;
  }
}

/** The first line break outside quotes. */
function headerEnd(text: string): number {
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') isQuoted = !isQuoted;
    else if (text[i] === '\n' && !isQuoted) return i;
  }
  return text.length;
}

function lineBreaksIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

interface Column {
  readonly name: string;
  /** Lower case, to find the columns that are not series. */
  readonly fact: string;
  readonly key: string;
}

/** Names of the columns. A comma between the braces of an unquoted series belongs to its labels. */
function columnsOf(header: string, { name, series = {} }: NamedCsv): Column[] {
  const [cells = []] = header.trim() === '' ? [] : headerCells(header, name);
  const names: string[] = [];
  for (const cell of cells) {
    const before = names.at(-1);
    if (before !== undefined && /\{[^}]*$/.test(before)) names[names.length - 1] += `,${cell}`;
    else names.push(cell);
  }
  return names.map((one) => ({ name: one, fact: one.toLowerCase(), key: series[one] ?? one }));
}

function headerCells(header: string, name: string): string[][] {
  try {
    return parse(header, { relax_quotes: true, trim: true, to: 1 });
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    throw new UnreadableRecording(`${name}, line 1: ${quoteProblem(cause)}`, { cause });
  }
}

/** Columns that are not series. */
const FACT_COLUMNS: ReadonlySet<string> = new Set(['vm', 'name', 'state', 'vcpus', 'boot']);
const TIME_COLUMNS: ReadonlySet<string> = new Set([
  'time',
  'timestamp',
  'time_unix',
  'time_unix_ms',
]);
const ROW = { sequence: 0, stateReason: '' } as const;

/** Reads the cells of one row after the other. */
class RowReader {
  readonly #columns: readonly Column[];
  readonly #options: NamedCsv;
  readonly #timeAt: number;
  readonly #facts: ReadonlyMap<string, number>;
  readonly #series: readonly number[];

  constructor(columns: readonly Column[], options: NamedCsv) {
    this.#columns = columns;
    this.#options = options;
    this.#timeAt = columns.findIndex(({ fact }) => TIME_COLUMNS.has(fact));
    if (this.#timeAt < 0) {
      const names = [...TIME_COLUMNS].join(', ');
      throw new UnreadableRecording(
        `${options.name}: the first line has no time column (${names})`,
      );
    }
    this.#facts = new Map(columns.map(({ fact }, at) => [fact, at] as const));
    this.#series = columns
      .map((_, at) => at)
      .filter((at) => at !== this.#timeAt && !FACT_COLUMNS.has(columns[at]?.fact ?? ''));
  }

  /** undefined: a line of blanks. */
  read(cells: readonly string[], line: number): ObservedRow | undefined {
    if (cells.length === 1 && cells[0] === '') return undefined;
    if (cells.length !== this.#columns.length) this.#refuseLength(cells.length, line);
    const where = (at: number): string => `${this.#options.name}, line ${line}, column ${at + 1}`;
    const observedMs = timeIn(cells[this.#timeAt] ?? '', where(this.#timeAt));
    const values = this.#series.flatMap((at): ObservedValue[] => {
      const key = this.#columns[at]?.key ?? '';
      const value = valueIn(key, cells[at] ?? '', () => where(at));
      return value === undefined ? [] : [[key, value]];
    });
    const cell = (fact: string): string => cells[this.#facts.get(fact) ?? -1] ?? '';
    const at = (fact: string) => () => where(this.#facts.get(fact) ?? 0);
    const vm = cell('vm') || this.#options.vm;
    if (vm === '') {
      const place = `${this.#options.name}, line ${line}`;
      throw new UnreadableRecording(`${place}: no VM. Add a column named vm, or use --vm`);
    }
    const about = { vm, displayName: cell('name') || vm, bootId: cell('boot') };
    const vcpus = valueIn('vcpus', cell('vcpus'), at('vcpus'));
    const state = stateIn(cell('state'), at('state'));
    return { ...ROW, ...about, observedMs, state, ...(vcpus !== undefined && { vcpus }), values };
  }

  /** Shifted cells would be readings of other series. */
  #refuseLength(length: number, line: number): never {
    const wanted = this.#columns.length;
    const place = `${this.#options.name}, line ${line}, column ${Math.min(length, wanted) + 1}`;
    throw new UnreadableRecording(
      `${place}: the line has ${length} cells, and the first line has ${wanted}. Quote cells that contain a comma, and leave cells without a reading empty`,
    );
  }
}

type Where = () => string;

function stateIn(cell: string, where: Where): VmState {
  const state = VM_STATES.find((name) => name === cell.toUpperCase());
  if (state !== undefined || cell === '') return state ?? 'UNKNOWN';
  const known = VM_STATES.join(', ');
  const seen = JSON.stringify(cell);
  throw new UnreadableRecording(`${where()}: ${seen} is not a state. Use one of ${known}`);
}

/** Unix seconds of the year 5138. Larger values are milliseconds. */
const SECONDS_MAX = 1e11;

function timeIn(text: string, where: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) {
    const number = Number(text);
    return Math.round(number > SECONDS_MAX ? number : number * 1000);
  }
  // A time without a zone is UTC, because a replay must not depend on where it runs.
  const read = readTime(text, { zone: 'utc' });
  if (read.kind === 'moment') return read.unixMs;
  const problem = read.kind === 'refused' ? read.problem : 'it is neither a Unix nor an ISO time';
  throw new UnreadableRecording(`${where}: ${JSON.stringify(text)} is not a time: ${problem}`);
}

/** undefined: an empty cell, or one that marks a missing number, is an absent reading. */
function valueIn(key: string, cell: string, where: Where): number | undefined {
  if (cell === '' || /^(nan|null|na|[+-]?inf(inity)?)$/i.test(cell)) return undefined;
  const value = Number(cell);
  if (Number.isFinite(value)) return value;
  throw new UnreadableRecording(`${where()}: ${JSON.stringify(cell)} of ${key} is not a number`);
}
