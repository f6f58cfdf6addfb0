/**
 * Inputs of a replay, recognised by their first line: a recording of `svc record`, a trace in the
 * Bitbrains form, or any CSV with a header. Files may be gzipped. A folder stands for all of its
 * files, one VM each. Nothing is filled in: an empty cell is an absent reading.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parseTrace } from '../../actors/telemetry/collectors/bitbrains.ts';
import type { ObservedRow } from '../../actors/telemetry/collectors/collector.ts';
import { messageOf } from '../../actors/telemetry/ingest/rejections.ts';
import {
  keyProblem,
  NearestSeries,
  valueProblem,
} from '../../actors/telemetry/ingest/series-form.ts';
import { parseRecording } from '../../streams/alerting/recording.ts';
import type { LogEntry } from '../../streams/telemetry/entry.ts';
import { type CsvOptions, parseCsv, UnreadableRecording } from './csv.ts';

/** A recorded log, or rows from which one is made. */
export type Recording =
  | { readonly kind: 'log'; readonly entries: readonly LogEntry[] }
  | { readonly kind: 'rows'; readonly rows: readonly ObservedRow[] };

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
  checkReadings(rows, name);
  return { kind: 'rows', rows };
}

/**
 * A replay has no service that rejects a misspelt series or a value that no reading reaches; it
 * would only find nothing to evaluate.
 */
function checkReadings(rows: readonly ObservedRow[], name: string): void {
  const nearest = new NearestSeries();
  const keys = new Set(rows.flatMap(({ values }) => values.map(([key]) => key)));
  for (const key of keys) {
    const problem = keyProblem(key, nearest);
    if (problem) throw new UnreadableRecording(`${name}, column ${key}: ${problem.message}`);
  }
  for (const { values } of rows) {
    for (const [key, value] of values) {
      const reason = valueProblem(key, value);
      if (!reason) continue;
      const message = messageOf({ series: key, reason });
      throw new UnreadableRecording(`${name}, column ${key}: ${value}. ${message}`);
    }
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
