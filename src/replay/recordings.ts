/**
 * Inputs of a replay, recognised by their first line: a recording of `svc record`, a trace in the
 * Bitbrains form, or any CSV with a header. Files may be gzipped. A folder stands for all of its
 * files, one VM each. Nothing is filled in: an empty cell is an absent reading.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parseTrace } from '../../actors/telemetry/collectors/bitbrains.ts';
import type { ObservedRow, ObservedValue } from '../../actors/telemetry/collectors/collector.ts';
import { keyProblem, NearestSeries } from '../../actors/telemetry/ingest/series-form.ts';
import { parseRecording } from '../../streams/alerting/recording.ts';
import type { LogEntry } from '../../streams/telemetry/entry.ts';
import { VM_STATES, type VmState } from '../../streams/telemetry/samples/batch.ts';
import { readTime } from '../platform/time-text.ts';

/** A recording or trace that cannot be read. The message says where, and what to do. */
export class UnreadableRecording extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnreadableRecording';
  }
}

/** A recorded log, or rows from which one is made. */
export type Recording =
  | { readonly kind: 'log'; readonly entries: readonly LogEntry[] }
  | { readonly kind: 'rows'; readonly rows: readonly ObservedRow[] };

export interface CsvOptions {
  /** Series key by column, such as `value` -> `svc_vm_cpu_utilization_pct`; others keep their names. */
  readonly series?: Readonly<Record<string, string>>;
}

/** Reads a file, or every file of a folder. Throws `UnreadableRecording`. */
export function readRecording(path: string, options: CsvOptions = {}): Recording {
  const files = filesOf(path);
  const parts = files.map((file) => parse(textOf(file), vmOf(file), file, options));
  const [first] = parts;
  if (parts.length === 1 && first) return first;
  const rows = parts.flatMap((part, i) => {
    if (part.kind === 'rows') return part.rows;
    throw new UnreadableRecording(`${files[i]} is a recording. Replay it alone`);
  });
  // Stable, so that rows of one file with the same time keep their order.
  return { kind: 'rows', rows: rows.toSorted((a, b) => a.observedMs - b.observedMs) };
}

/**
 * Rows of a CSV with a header: a time, optionally `vm`, `name`, `state`, `vcpus` and `boot`, and a
 * column for each series. A comma between braces belongs to a series' labels.
 */
export function parseCsv(
  text: string,
  { vm, name, series = {} }: CsvOptions & { readonly vm: string; readonly name: string },
): ObservedRow[] {
  const [header = '', ...lines] = text.split('\n');
  const columns = header.split(/,(?![^{}]*\})/).map((column) => column.trim());
  const timeAt = columns.findIndex((column) => TIME_COLUMNS.has(column.toLowerCase()));
  if (timeAt < 0) {
    throw new UnreadableRecording(
      `${name}: the first line has no time column (${[...TIME_COLUMNS].join(', ')})`,
    );
  }
  const facts = new Map(columns.map((column, at) => [column.toLowerCase(), at] as const));
  const keys = columns.map((column) => series[column] ?? column);
  return lines.flatMap((line, i) => {
    if (line.trim() === '') return [];
    const cells = line.split(',').map((cell) => cell.trim());
    const where = `${name}, line ${i + 2}`;
    const values = keys.flatMap((key, at): ObservedValue[] =>
      at === timeAt || FACT_COLUMNS.has((columns[at] ?? '').toLowerCase())
        ? []
        : valueIn(key, cells[at] ?? '', where),
    );
    const cell = (fact: string): string => cells[facts.get(fact) ?? -1] ?? '';
    const id = cell('vm') || vm;
    const about = { vm: id, displayName: cell('name') || id, bootId: cell('boot') };
    const observedMs = timeIn(cells[timeAt], where);
    const vcpus = valueIn('vcpus', cell('vcpus'), where)[0]?.[1];
    const state = stateIn(cell('state'), where);
    return [{ ...ROW, ...about, observedMs, state, ...(vcpus !== undefined && { vcpus }), values }];
  });
}

/** Columns that are not series. */
const FACT_COLUMNS: ReadonlySet<string> = new Set(['vm', 'name', 'state', 'vcpus', 'boot']);

function stateIn(cell: string, where: string): VmState {
  const state = VM_STATES.find((name) => name === cell.toUpperCase());
  if (state !== undefined || cell === '') return state ?? 'UNKNOWN';
  const known = VM_STATES.join(', ');
  throw new UnreadableRecording(
    `${where}: ${JSON.stringify(cell)} is not a state. Use one of ${known}`,
  );
}

const TIME_COLUMNS: ReadonlySet<string> = new Set([
  'time',
  'timestamp',
  'time_unix',
  'time_unix_ms',
]);
const ROW = { sequence: 0, stateReason: '' } as const;
/** Unix seconds of the year 5138. Larger values are milliseconds. */
const SECONDS_MAX = 1e11;

function timeIn(cell: string | undefined, where: string): number {
  const text = cell ?? '';
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

/** An empty cell, or one that marks a missing number, is an absent reading. */
function valueIn(key: string, cell: string, where: string): ObservedValue[] {
  if (cell === '' || /^(nan|null|na|[+-]?inf(inity)?)$/i.test(cell)) return [];
  const value = Number(cell);
  if (!Number.isFinite(value)) {
    throw new UnreadableRecording(`${where}: ${JSON.stringify(cell)} of ${key} is not a number`);
  }
  return [[key, value]];
}

function parse(text: string, vm: string, name: string, options: CsvOptions): Recording {
  if (text.startsWith('svc-recording')) {
    try {
      return { kind: 'log', entries: parseRecording(text) };
    } catch (cause) {
      throw new UnreadableRecording(`${name}: ${(cause as Error).message}`, { cause });
    }
  }
  if (/^Timestamp[^,\n]*;/.test(text)) return { kind: 'rows', rows: parseTrace(text, vm).rows };
  const rows = parseCsv(text, { ...options, vm, name });
  checkNames(rows, name);
  return { kind: 'rows', rows };
}

/**
 * A replay has no service that rejects a misspelt series; it would only find nothing to evaluate.
 */
function checkNames(rows: readonly ObservedRow[], name: string): void {
  const nearest = new NearestSeries();
  const keys = new Set(rows.flatMap(({ values }) => values.map(([key]) => key)));
  for (const key of keys) {
    const problem = keyProblem(key, nearest);
    if (problem) throw new UnreadableRecording(`${name}, column ${key}: ${problem.message}`);
  }
}

function filesOf(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const files = readdirSync(path).filter((file) => /\.(csv|recording)(\.gz)?$/.test(file));
    if (files.length > 0) return files.sort().map((file) => join(path, file));
  } catch (cause) {
    throw new UnreadableRecording(`${path}: ${(cause as Error).message}`, { cause });
  }
  throw new UnreadableRecording(
    `${path} contains no file that ends in .csv, .csv.gz or .recording`,
  );
}

function textOf(file: string): string {
  const bytes = readFileSync(file);
  return (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
}

function vmOf(file: string): string {
  return basename(file).replace(/\.(csv|recording)(\.gz)?$/, '');
}
