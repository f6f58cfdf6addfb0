/**
 * Compares an answer with the expected one. Each check returns one sentence per difference, so that
 * a failure lists all of them.
 */
import { RE2JS } from 're2js';
import type {
  QueryResult,
  ResultData,
  ResultSeries,
} from '../../../../src/telemetry/promql/engine/engine.ts';
import {
  compareLabels,
  type Labels,
  METRIC_NAME,
} from '../../../../src/telemetry/promql/values.ts';
import type {
  AnnotationExpectation,
  Eval,
  EvalTimes,
  SeriesLine,
  TextExpectation,
} from './script.ts';

const RELATIVE_MAX = 1e-6;
const SMALLEST_NORMAL = 2 ** -1022;

/** Equality in the test language: NaN equals NaN, 0 equals 0, and otherwise six digits agree. */
function almostEqual(a: number, b: number): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (Number.isNaN(a) || Number.isNaN(b)) return false;
  const difference = Math.abs(a - b);
  if (a === 0 || b === 0 || Math.abs(a) + Math.abs(b) < SMALLEST_NORMAL) {
    return difference < RELATIVE_MAX * SMALLEST_NORMAL;
  }
  return difference / Math.min(Math.abs(a) + Math.abs(b), Number.MAX_VALUE) < RELATIVE_MAX;
}

/** Labels as written in an expression. */
export function formatLabels(labels: Labels): string {
  const inBraces = labels.pairs.filter(([name]) => name !== METRIC_NAME);
  const pairs = inBraces.map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `${labels.name}{${pairs.join(', ')}}`;
}

/**
 * Differences between a result and the expected one; `data` of an instant query unless it is a
 * matrix.
 */
export function compareResult(data: ResultData, expected: Eval): string[] {
  const { result, times } = expected;
  if (result.kind === 'scalar') {
    if (data.type !== 'scalar') return [`expected a scalar, got a ${data.type}`];
    return almostEqual(data.value, result.value)
      ? []
      : [`expected ${result.value}, got ${data.value}`];
  }
  if (result.kind === 'string') {
    if (data.type !== 'string') return [`expected a string, got a ${data.type}`];
    if (data.value === result.value) return [];
    return [`expected ${JSON.stringify(result.value)}, got ${JSON.stringify(data.value)}`];
  }
  if (result.kind === 'range vector' || expected.mode === 'range') {
    if (data.type !== 'matrix') return [`expected a matrix, got a ${data.type}`];
    const grid = result.kind === 'range vector' ? result.times : times;
    return [...compareMatrix(data.series, result.series, grid), ...sortFaults(data.series)];
  }
  if (data.type !== 'vector') return [`expected a vector, got a ${data.type}`];
  return compareVector(data.samples, result.series, expected.ordered);
}

export interface VectorSample {
  readonly labels: Labels;
  readonly value: number;
}

export function compareVector(
  samples: readonly VectorSample[],
  expected: readonly SeriesLine[],
  ordered: boolean,
): string[] {
  const wanted = new Map(expected.map((line) => [line.labels.key, line]));
  const differences = pairUp(samples, expected, (sample, { values: [value = null] }) => {
    if (typeof value !== 'number') return 'expected no value';
    return almostEqual(sample.value, value) ? null : `expected ${value}, got ${sample.value}`;
  });
  const order = [...wanted.keys()].join('\n');
  if (
    ordered &&
    differences.length === 0 &&
    samples.map((s) => s.labels.key).join('\n') !== order
  ) {
    const got = samples.map(({ labels }) => formatLabels(labels)).join(' ');
    differences.push(`the order is another: ${got}`);
  }
  return differences;
}

function compareMatrix(
  series: readonly ResultSeries[],
  expected: readonly SeriesLine[],
  { startMs, endMs, stepMs }: EvalTimes,
): string[] {
  const withPoints = expected.filter(({ values }) => values.some((value) => value !== null));
  return pairUp(series, withPoints, (got, { values }) => {
    const points = values.flatMap((value, index) =>
      value === null ? [] : [{ timeMs: startMs + index * stepMs, value: Number(value) }],
    );
    const isEqual =
      points.length === got.timesMs.length &&
      points.every(
        ({ timeMs, value }, index) =>
          timeMs === got.timesMs[index] && almostEqual(value, got.values[index] ?? Number.NaN),
      );
    if (points.some(({ timeMs }) => timeMs > endMs)) return 'expected points after the end';
    if (isEqual) return null;
    const reported = points.map(({ timeMs, value }) => `${value}@${timeMs}`).join(' ');
    return `expected ${reported}, got ${formatPoints(got)}`;
  });
}

function formatPoints({ timesMs, values }: ResultSeries): string {
  return [...timesMs].map((timeMs, index) => `${values[index]}@${timeMs}`).join(' ');
}

/**
 * Pairs each series of the answer with its line, and reports extra, missing, repeated and different
 * ones.
 */
function pairUp<T extends { readonly labels: Labels }>(
  got: readonly T[],
  expected: readonly SeriesLine[],
  differenceOf: (item: T, line: SeriesLine) => string | null,
): string[] {
  const missing = new Map(expected.map((line) => [line.labels.key, line]));
  const lines = new Map(missing);
  const differences: string[] = [];
  for (const item of got) {
    const line = lines.get(item.labels.key);
    const name = formatLabels(item.labels);
    if (line === undefined) {
      differences.push(`unexpected ${name}`);
    } else if (!missing.delete(item.labels.key)) {
      differences.push(`twice: ${name}`);
    } else {
      const difference = differenceOf(item, line);
      if (difference !== null) differences.push(`${name}: ${difference}`);
    }
  }
  for (const { labels } of missing.values()) differences.push(`missing ${formatLabels(labels)}`);
  return differences;
}

/** A matrix is always sorted by labels. */
export function sortFaults(series: readonly ResultSeries[]): string[] {
  const isSorted = series.every(
    ({ labels }, index) =>
      index === 0 || compareLabels(series[index - 1]?.labels ?? labels, labels) < 0,
  );
  return isSorted ? [] : ['the matrix is not sorted by labels'];
}

export function compareAnnotations(result: QueryResult, expected: Eval): string[] {
  return [
    ...annotationFaults('warning', result.warnings, expected.warnings),
    ...annotationFaults('info', result.infos, expected.infos),
  ];
}

function annotationFaults(
  kind: string,
  texts: readonly string[],
  expected: AnnotationExpectation,
): string[] {
  if (expected === 'unchecked') return [];
  if (expected === 'none') return texts.map((text) => `unexpected ${kind}: ${text}`);
  if (texts.length === 0) return [`expected a ${kind}, got none`];
  const unmet = expected.filter((one) => !texts.some((text) => fits(text, one)));
  const unexpected = texts.filter((text) => !expected.some((one) => fits(text, one)));
  return [
    ...unmet.map((one) => `no ${kind} is ${describe(one)}, got: ${texts.join(' | ')}`),
    ...unexpected.map((text) => `unexpected ${kind}: ${text}`),
  ];
}

/** Differences between an error and the expected one. */
export function compareError(message: string, expected: readonly TextExpectation[]): string[] {
  const unmet = expected.filter((one) => !fits(message, one));
  return unmet.map((one) => `expected an error that is ${describe(one)}, got: ${message}`);
}

function fits(text: string, expected: TextExpectation): boolean {
  if (expected.kind === 'any') return true;
  if (expected.kind === 'equal') return text.trim() === expected.text;
  return RE2JS.compile(expected.pattern).matcher(text).find();
}

function describe(expected: TextExpectation): string {
  if (expected.kind === 'any') return 'any';
  return expected.kind === 'equal' ? `"${expected.text}"` : `like /${expected.pattern}/`;
}
