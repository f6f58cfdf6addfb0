/**
 * The queries of Prometheus's compliance tester and the answers of Prometheus 3.5.3 over recorded
 * data: reads the three files, expands the templates, and compares. Tolerances and order follow the
 * head of the query file.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Budget } from '../../../src/telemetry/promql/budget.ts';
import { queryRange } from '../../../src/telemetry/promql/engine/engine.ts';
import { Labels } from '../../../src/telemetry/promql/values.ts';
import { type Answer, answerOf, answerOfApi, differencesOf } from './answer.ts';
import { MemorySource } from './memory-source.ts';

export interface ComplianceOutcome {
  readonly query: string;
  /** Empty = the same answer. */
  readonly differences: readonly string[];
}

const TOLERANCE = { relative: 1e-5, absolute: 0 };
const LIMITS = { bytesMax: 2 ** 30, samplesMax: 1e9 };

/** `folder` contains `compliance-queries.yml` and `compliance/`. */
export function runCompliance(folder: string): ComplianceOutcome[] {
  const source = loadData(join(folder, 'compliance/data.jsonl.gz'));
  const [head, ...expected] = readLines(join(folder, 'compliance/expected.jsonl.gz'));
  const { start, end, step } = head as { start: number; end: number; step: number };
  const queries = expandTemplates(readFileSync(join(folder, 'compliance-queries.yml'), 'utf8'));
  if (queries.length !== expected.length) {
    throw new Error(`${queries.length} queries, but ${expected.length} answers`);
  }
  const times = { startMs: start * 1000, endMs: end * 1000, stepMs: step * 1000 };
  return queries.map((query, index) => {
    const recorded = expected[index] as RecordedAnswer;
    if (recorded.query !== query) throw new Error(`"${query}" is recorded as "${recorded.query}"`);
    const ours = answerOf(() =>
      queryRange({ expression: query, ...times }, { source, budget: new Budget(LIMITS) }),
    );
    return { query, differences: differencesOf(answerOfRecord(recorded), ours, TOLERANCE) };
  });
}

interface RecordedAnswer {
  readonly query: string;
  readonly result?: unknown;
  readonly error?: string;
}

function answerOfRecord({ result, error }: RecordedAnswer): Answer {
  if (result === undefined) return answerOfApi({ status: 'error', error: error ?? '' });
  return answerOfApi({ status: 'success', data: { resultType: 'matrix', result } });
}

interface RecordedSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly offset_ms: number;
  readonly values: readonly (number | 'stale' | null)[];
}

function loadData(path: string): MemorySource {
  const [head, ...series] = readLines(path);
  const { start_ms, step_ms } = head as { start_ms: number; step_ms: number };
  const source = new MemorySource();
  for (const { labels, offset_ms, values } of series as RecordedSeries[]) {
    const samples = values.flatMap((value, index) =>
      value === null ? [] : [{ timeMs: start_ms + offset_ms + index * step_ms, value }],
    );
    source.add(Labels.fromRecord(labels), samples);
  }
  return source;
}

function readLines(path: string): unknown[] {
  const lines = gunzipSync(readFileSync(path)).toString('utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** Reads the few forms of YAML in the file. */
function expandTemplates(text: string): string[] {
  const values = new Map<string, readonly string[]>();
  const queries: { query: string; args: readonly string[] }[] = [];
  for (const line of text.split('\n')) {
    const list = /^ *(\w+): \[(.*)\]$/.exec(line);
    const query = /^ +(?:- )?query: (.*)$/.exec(line)?.[1];
    if (query !== undefined) queries.push({ query: unquoteYaml(query), args: [] });
    else if (list !== null) {
      const [, name = '', items = ''] = list;
      const words = items.split(/, */).map(unquoteYaml);
      const last = queries.at(-1);
      if (name === 'variant_args' && last !== undefined)
        queries.splice(-1, 1, { ...last, args: words });
      else values.set(name, words);
    }
  }
  return queries.flatMap(({ query, args }) =>
    args.reduce(
      (made, name) =>
        made.flatMap((one) =>
          (values.get(name) ?? []).map((value) => one.replaceAll(`{{.${name}}}`, value)),
        ),
      [query],
    ),
  );
}

function unquoteYaml(text: string): string {
  return /^'.*'$/.test(text) ? text.slice(1, -1).replaceAll("''", "'") : text;
}
