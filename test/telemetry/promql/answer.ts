/**
 * Answers of two engines in one form, and their differences: ours as the engine returns it, and
 * Prometheus's as its HTTP API does.
 */
import type { QueryResult } from '../../../src/telemetry/promql/engine/engine.ts';
import { PromqlError } from '../../../src/telemetry/promql/errors.ts';
import { compareLabels, Labels } from '../../../src/telemetry/promql/values.ts';
import { formatLabels } from './script/compare.ts';

export interface AnswerPoint {
  readonly timeMs: number;
  /** A text in a string answer, otherwise a number. */
  readonly value: number | string;
}

export interface AnswerSeries {
  readonly labels: Labels;
  readonly points: readonly AnswerPoint[];
}

export type Answer =
  | { readonly kind: 'error'; readonly errorType: string; readonly message: string }
  | {
      readonly kind: 'data';
      readonly type: string;
      readonly series: readonly AnswerSeries[];
      readonly warnings: readonly string[];
      readonly infos: readonly string[];
    };

/** Our answer. An error other than `PromqlError` is a fault and is rethrown. */
export function answerOf(query: () => QueryResult): Answer {
  try {
    const { data, warnings, infos } = query();
    return { kind: 'data', type: data.type, series: seriesOf(data), warnings, infos };
  } catch (error) {
    if (!(error instanceof PromqlError)) throw error;
    return { kind: 'error', errorType: error.kind, message: error.message };
  }
}

function seriesOf(data: QueryResult['data']): AnswerSeries[] {
  switch (data.type) {
    case 'scalar':
    case 'string':
      return [{ labels: Labels.empty, points: [{ timeMs: data.timeMs, value: data.value }] }];
    case 'vector':
      return data.samples.map(({ labels, value }) => ({
        labels,
        points: [{ timeMs: data.timeMs, value }],
      }));
    case 'matrix':
      return data.series.map(({ labels, timesMs, values }) => ({
        labels,
        points: [...timesMs].map((timeMs, index) => ({ timeMs, value: values[index] ?? NaN })),
      }));
  }
}

type ApiPoint = readonly [seconds: number, value: string];

interface ApiSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: ApiPoint;
  readonly values?: readonly ApiPoint[];
}

/** Envelope of `query` and `query_range`, with the fields that are read. */
interface ApiAnswer {
  readonly status: 'success' | 'error';
  readonly errorType?: string;
  readonly error?: string;
  readonly data?: { readonly resultType: string; readonly result: unknown };
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

/** Prometheus's answer. */
export function answerOfApi(json: unknown): Answer {
  const answer = json as ApiAnswer;
  if (answer.data === undefined) {
    const { errorType = '', error = '' } = answer;
    return { kind: 'error', errorType, message: error };
  }
  const { resultType, result } = answer.data;
  return {
    kind: 'data',
    type: resultType,
    series: seriesOfApi(resultType, result),
    warnings: answer.warnings ?? [],
    infos: answer.infos ?? [],
  };
}

function seriesOfApi(type: string, result: unknown): AnswerSeries[] {
  if (type === 'scalar' || type === 'string') {
    const [seconds, text] = result as ApiPoint;
    const timeMs = Math.round(seconds * 1000);
    const value = type === 'scalar' ? numberOfApi(text) : text;
    return [{ labels: Labels.empty, points: [{ timeMs, value }] }];
  }
  return (result as readonly ApiSeries[]).map(({ metric, value, values }) => ({
    labels: Labels.fromRecord(metric),
    points: (values ?? (value === undefined ? [] : [value])).map(([seconds, text]) => ({
      timeMs: Math.round(seconds * 1000),
      value: numberOfApi(text),
    })),
  }));
}

function numberOfApi(text: string): number {
  if (text === '+Inf') return Infinity;
  return text === '-Inf' ? -Infinity : Number(text);
}

export interface Tolerance {
  /** Largest allowed |a - b|, as a ratio of the larger value. */
  readonly relative: number;
  /** Largest allowed |a - b|. */
  readonly absolute: number;
}

/** Differences, one sentence each. `a` is expected; the order of a vector does not count. */
export function differencesOf(a: Answer, b: Answer, tolerance: Tolerance): string[] {
  if (a.kind === 'error' || b.kind === 'error') {
    if (a.kind === b.kind) return [];
    const reported = a.kind === 'error' ? a.message : b.kind === 'error' ? b.message : '';
    return [
      a.kind === 'error' ? `expected the error: ${reported}` : `unexpected error: ${reported}`,
    ];
  }
  if (a.type !== b.type) return [`expected a ${a.type}, got a ${b.type}`];
  const differences: string[] = [];
  const got = new Map(b.series.map((series) => [series.labels.key, series]));
  if (got.size < b.series.length) differences.push('a label set is repeated');
  for (const series of a.series) {
    const other = got.get(series.labels.key);
    got.delete(series.labels.key);
    const name = formatLabels(series.labels);
    if (other === undefined) differences.push(`missing ${name}`);
    else differences.push(...pointDifferences(name, series, other, tolerance));
  }
  for (const { labels } of got.values()) differences.push(`unexpected ${formatLabels(labels)}`);
  return differences;
}

function pointDifferences(
  name: string,
  a: AnswerSeries,
  b: AnswerSeries,
  tolerance: Tolerance,
): string[] {
  const got = new Map(b.points.map(({ timeMs, value }) => [timeMs, value]));
  const differences: string[] = [];
  for (const { timeMs, value } of a.points) {
    const other = got.get(timeMs);
    got.delete(timeMs);
    if (other === undefined) differences.push(`${name}: no value at ${timeMs}, expected ${value}`);
    else if (!isClose(value, other, tolerance)) {
      differences.push(`${name}: ${other} at ${timeMs}, expected ${value}`);
    }
  }
  for (const [timeMs, value] of got) differences.push(`${name}: unexpected ${value} at ${timeMs}`);
  return differences.length > 3 ? [...differences.slice(0, 3), '...'] : differences;
}

/** True if two values count as equal. */
export function isClose(a: number | string, b: number | string, tolerance: Tolerance): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  const difference = Math.abs(a - b);
  return (
    difference <= tolerance.absolute ||
    difference <= tolerance.relative * Math.max(Math.abs(a), Math.abs(b))
  );
}

/** Readable form: the series in order, with the first few points of each. */
export function formatAnswer(answer: Answer): string {
  if (answer.kind === 'error') return `${answer.errorType}: ${answer.message}`;
  const lines = [...answer.series]
    .sort((a, b) => compareLabels(a.labels, b.labels))
    .map(({ labels, points }) => {
      const displayed = points.slice(0, 12).map(({ timeMs, value }) => `${value}@${timeMs}`);
      return `  ${formatLabels(labels)} ${displayed.join(' ')}${points.length > 12 ? ' ...' : ''}`;
    });
  return [answer.type, ...lines, ...answer.warnings, ...answer.infos].join('\n');
}
