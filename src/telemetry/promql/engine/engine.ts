/**
 * The PromQL engine: text in, columns out. It parses and checks an expression, has it evaluated over
 * a `SeriesSource` (`evaluator.ts`) and reports warnings. It is pure: it reads no clock and no disk,
 * and it stops when its budget is exhausted.
 */
import { type Expr, typeOf, type ValueType } from '../ast.ts';
import type { Budget } from '../budget.ts';
import { Annotations, PromqlError } from '../errors.ts';
import { functionTable } from '../functions/table.ts';
import { compact, type QueryRange } from '../operators/selection.ts';
import { parseExpression } from '../parse/parse.ts';
import type { SeriesSource } from '../series-source.ts';
import {
  compareLabels,
  type Grid,
  Labels,
  type RangeSeries,
  type RangeValue,
  stepTime,
  takeValues,
  type Value,
} from '../values.ts';
import { Evaluator } from './evaluator.ts';

const LOOKBACK_MS = 5 * 60 * 1000;
const SUBQUERY_STEP_MS = 60 * 1000;

/** Options that Prometheus sets by flag for all queries; here they are set per query. */
export interface EngineOptions {
  /** Maximum age of a sample that counts as current, ms. Default (and for 0): 5 minutes. */
  readonly lookbackMs?: number;
  /** Step of a subquery that names none, ms. Default (and for 0): 1 minute. */
  readonly subqueryStepMs?: number;
  /**
   * Age beyond which a value used as the current one bridges a gap, ms; the result then carries a
   * warning. Absent: no warnings, as in Prometheus.
   */
  readonly gapToleranceMs?: number;
  /** Names of series whose values are true at any age; they never bridge a gap. */
  readonly ageless?: ReadonlySet<string>;
}

/** A query at one moment. The result has the type of the expression. */
export interface InstantQuery extends EngineOptions {
  readonly expression: string;
  /** Unix ms. */
  readonly timeMs: number;
}

/**
 * A query at each step of a time range. The result is a matrix; an expression of type string or
 * matrix is rejected as bad_data.
 */
export interface RangeQuery extends EngineOptions {
  readonly expression: string;
  /** First and last step, both inclusive, Unix ms. */
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

/**
 * One series of a matrix. Steps without a sample are left out, so both arrays may be shorter than
 * the grid.
 */
export interface ResultSeries {
  readonly labels: Labels;
  /** Unix ms, increasing. */
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
}

/** The value of a query by its type, as `data` of Prometheus's HTTP API distinguishes it. */
export type ResultData =
  | { readonly type: 'scalar'; readonly timeMs: number; readonly value: number }
  | { readonly type: 'string'; readonly timeMs: number; readonly value: string }
  | {
      readonly type: 'vector';
      readonly timeMs: number;
      /** In the order of sort or topk, otherwise in any order. */
      readonly samples: readonly { readonly labels: Labels; readonly value: number }[];
    }
  /** Sorted by labels. */
  | { readonly type: 'matrix'; readonly series: readonly ResultSeries[] };

/**
 * The value and the annotations of an evaluation: `warnings` about the meaning of the result,
 * `infos` about the expression. Each text occurs once, with its position.
 */
export interface QueryResult {
  readonly data: ResultData;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** Dependencies of an evaluation. The source is already confined to one project. */
export interface QueryDeps {
  readonly source: SeriesSource;
  readonly budget: Budget;
  /** Parses and checks a text, possibly from a cache; default `parseExpression`. */
  readonly parse?: (expression: string) => Expr;
}

/** Throws `PromqlError`. */
export function queryInstant(query: InstantQuery, deps: QueryDeps): QueryResult {
  const { timeMs } = query;
  const expr = (deps.parse ?? parseExpression)(query.expression);
  const range = { startMs: timeMs, endMs: timeMs };
  const { evaluator, annotations } = prepare(expr, query, range, deps);
  const grid = { startMs: timeMs, stepMs: 1, count: 1 };
  const data: ResultData =
    typeOf(expr) === 'matrix'
      ? matrixOfRange(evaluator.evaluateRange(expr, grid), deps.budget)
      : instantData(evaluator.evaluate(expr, grid), timeMs);
  return { data, warnings: annotations.warnings, infos: annotations.infos };
}

/** Throws `PromqlError`. The result is a matrix. */
export function queryRange(query: RangeQuery, deps: QueryDeps): QueryResult {
  const { startMs, endMs, stepMs } = query;
  const expr = (deps.parse ?? parseExpression)(query.expression);
  assertRangeable(expr);
  if (!(stepMs >= 1)) throw new PromqlError('bad_data', 'the step must be at least 1 ms');
  if (endMs < startMs)
    throw new PromqlError('bad_data', 'end timestamp must not be before start time');
  const { evaluator, annotations } = prepare(expr, query, { startMs, endMs }, deps);
  const grid = { startMs, stepMs, count: Math.floor((endMs - startMs) / stepMs) + 1 };
  const data = matrixOfSteps(evaluator.evaluate(expr, grid), grid, deps.budget);
  return { data, warnings: annotations.warnings, infos: annotations.infos };
}

function prepare(expr: Expr, query: Query, range: QueryRange, { source, budget }: QueryDeps) {
  const annotations = new Annotations(query.expression);
  const evaluator = new Evaluator(expr, {
    source,
    budget,
    annotations,
    functions: functionTable,
    range,
    lookbackMs: query.lookbackMs || LOOKBACK_MS,
    subqueryStepMs: query.subqueryStepMs || SUBQUERY_STEP_MS,
    gapToleranceMs: query.gapToleranceMs ?? Number.POSITIVE_INFINITY,
    ageless: query.ageless ?? NO_NAMES,
  });
  return { evaluator, annotations };
}

type Query = InstantQuery | RangeQuery;

const NO_NAMES: ReadonlySet<string> = new Set();

const RANGE_TYPES: Readonly<Record<ValueType, string | null>> = {
  scalar: null,
  vector: null,
  string: 'string',
  matrix: 'range vector',
};

function assertRangeable(expr: Expr): void {
  const name = RANGE_TYPES[typeOf(expr)];
  if (name === null) return;
  const message = `invalid expression type "${name}" for range query, must be Scalar or instant Vector`;
  throw new PromqlError('bad_data', message);
}

type MatrixData = Extract<ResultData, { type: 'matrix' }>;

/** Result of an instant query, from a value of one step. */
function instantData(value: Value, timeMs: number): ResultData {
  switch (value.type) {
    case 'scalar':
      return { type: 'scalar', timeMs, value: value.values[0] ?? Number.NaN };
    case 'string':
      return { type: 'string', timeMs, value: value.value };
    case 'vector': {
      const samples = value.series
        .filter(({ present }) => present[0] === 1)
        .map(({ labels, values }) => ({ labels, value: values[0] ?? Number.NaN }));
      return { type: 'vector', timeMs, samples };
    }
  }
}

/** All samples in the single window. */
function matrixOfRange({ series }: RangeValue, budget: Budget): MatrixData {
  return sorted(
    series.map(({ labels, runs }) => ({ labels, ...joined(runs, budget) })),
    budget,
  );
}

/**
 * A scalar is one series without labels. Series with a value at every step share one array of
 * times.
 */
function matrixOfSteps(value: Value, grid: Grid, budget: Budget): MatrixData {
  if (value.type === 'string') return sorted([], budget);
  const timesMs = takeValues(grid.count, budget);
  for (let i = 0; i < grid.count; i++) timesMs[i] = stepTime(grid, i);
  if (value.type === 'scalar') {
    return sorted([{ labels: Labels.empty, timesMs, values: value.values }], budget);
  }
  const series = value.series.flatMap(({ labels, values, present }) => {
    budget.check();
    const points = compact({ timesMs, values, present }, budget);
    if (points.timesMs.length === 0) return [];
    return [{ labels, timesMs: points.timesMs, values: points.values }];
  });
  return sorted(series, budget);
}

function joined(runs: RangeSeries['runs'], budget: Budget): Omit<ResultSeries, 'labels'> {
  const [first, second] = runs;
  if (first !== undefined && second === undefined) {
    return { timesMs: first.timesMs, values: first.values };
  }
  const count = runs.reduce((sum, { timesMs }) => sum + timesMs.length, 0);
  const timesMs = takeValues(count, budget);
  const values = takeValues(count, budget);
  let at = 0;
  for (const run of runs) {
    timesMs.set(run.timesMs, at);
    values.set(run.values, at);
    at += run.timesMs.length;
  }
  return { timesMs, values };
}

function sorted(series: ResultSeries[], budget: Budget): MatrixData {
  series.sort((a, b) => {
    budget.takeWork();
    return compareLabels(a.labels, b.labels);
  });
  return { type: 'matrix', series };
}
