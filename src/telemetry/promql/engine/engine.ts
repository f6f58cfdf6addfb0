/**
 * The PromQL engine: text in, columns out. It parses and checks an expression, evaluates it over a
 * `SeriesSource` and reports warnings. It is pure: it reads no clock and no disk, and it stops when
 * its budget is exhausted.
 */
import {
  type Aggregate,
  type Binary,
  type Call,
  type Expr,
  inOrder,
  isOperator,
  type Leaf,
  type MatrixSelector,
  type Operator,
  type Span,
  type Subquery,
  typeOf,
  type Unary,
  type ValueType,
  type VectorSelector,
} from '../ast.ts';
import type { Budget } from '../budget.ts';
import { Annotations, PromqlError } from '../errors.ts';
import type { CallContext, PromqlFunction } from '../functions/function.ts';
import { functionTable } from '../functions/table.ts';
import { mergeSeries } from '../merge-series.ts';
import { applyAggregate, unwrapped } from '../operators/aggregate/aggregate.ts';
import { applyBinary } from '../operators/binary/binary.ts';
import { OrChain } from '../operators/binary/set-operators.ts';
import { type Plan, planOf, selectorKey } from '../operators/plan.ts';
import {
  Bridges,
  type CopiedRange,
  compact,
  FetchedSeries,
  hasHole,
  lastLook,
  lookTimes,
  type QueryRange,
  rangeOfColumns,
  selectRange,
  selectVector,
  subqueryGrid,
} from '../operators/selection.ts';
import { parseExpression } from '../parse/parse.ts';
import type { SeriesSource } from '../series-source.ts';
import {
  assertRoom,
  compareLabels,
  constantScalar,
  type Grid,
  Labels,
  PinnedArrays,
  type RangeSeries,
  type RangeValue,
  seriesColumn,
  stepTime,
  takeValues,
  type Value,
  type VectorValue,
  vectorOf,
} from '../values.ts';

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

interface EvaluatorOptions {
  readonly source: SeriesSource;
  readonly budget: Budget;
  readonly annotations: Annotations;
  readonly functions: ReadonlyMap<string, PromqlFunction>;
  /** Query range that `@ start()` and `@ end()` refer to. */
  readonly range: QueryRange;
  readonly lookbackMs: number;
  /** Step of a subquery that names none, ms. */
  readonly subqueryStepMs: number;
  readonly gapToleranceMs: number;
  readonly ageless: ReadonlySet<string>;
}

/**
 * Evaluates one expression for all steps of a grid at once, bottom-up: the operator of each node
 * computes whole columns. Parts that are equal at all steps are computed at one step and repeated;
 * the inner expression of a subquery has its own grid.
 */
class Evaluator {
  readonly #options: EvaluatorOptions;
  readonly #budget: Budget;
  readonly #plan: Plan;
  readonly #fetched: FetchedSeries;
  readonly #pinned = new PinnedArrays();
  readonly #shared = new Map<string, VectorValue>();

  constructor(expr: Expr, options: EvaluatorOptions) {
    this.#options = options;
    this.#budget = options.budget;
    this.#plan = planOf(expr);
    this.#fetched = new FetchedSeries(options.source, options.budget);
  }

  /** The value of any expression except a range. Throws `PromqlError`. */
  evaluate(expr: Expr, grid: Grid): Value {
    this.#budget.check();
    if (grid.count === 1 || !this.#plan.invariant.has(expr)) {
      return isOperator(expr) ? this.#operators(expr, grid) : this.#leaf(expr, grid);
    }
    const value = this.evaluate(expr, { ...grid, count: 1 });
    const spread = broadcast(value, grid.count, this.#pinned, this.#budget);
    this.#pinned.release([value], spread, this.#budget);
    return spread;
  }

  /** The value of an expression of type matrix. Throws `PromqlError`. */
  evaluateRange(expr: Expr, grid: Grid): RangeValue {
    return this.#range(expr, grid).range;
  }

  #leaf(expr: Leaf, grid: Grid): Value {
    switch (expr.kind) {
      case 'number':
        return constantScalar(expr.value, grid.count, this.#budget);
      case 'string':
        return { type: 'string', value: expr.value };
      case 'vectorSelector':
        return this.#select(expr, grid, 'values');
      case 'call':
        return this.#call(expr, grid);
      case 'aggregate':
        return this.#aggregate(expr, grid);
      case 'paren':
        return this.evaluate(expr.expr, grid);
      case 'matrixSelector':
      case 'subquery':
        throw new Error(`A ${expr.kind} has no value per step`);
    }
  }

  /**
   * Evaluates a chain of operators without recursing along it. In a left-leaning chain, only two
   * values are alive at once. The stack frame is kept small: 500 of these calls may be open.
   */
  #operators(root: Operator, grid: Grid): Value {
    const made: (Value | OrChain)[] = [];
    const isWhole = (node: Operator) => grid.count > 1 && this.#plan.invariant.has(node);
    for (const node of inOrder(root, isWhole)) {
      if (isOperator(node) && !isWhole(node)) this.#apply(node, made, grid);
      else made.push(this.evaluate(node, grid));
    }
    return settled(made.pop());
  }

  /** Applies an operator to the last of `made`, which its result replaces. */
  #apply(node: Operator, made: (Value | OrChain)[], { count }: Grid): void {
    this.#budget.check();
    const last = settled(made.pop());
    if (node.kind === 'unary') {
      made.push(this.#made(applyUnary(node, last, this.#budget), [last]));
      return;
    }
    const join = (by: Binary, lhs: Value, rhs: Value): Value =>
      this.#made(applyBinary(by, lhs, rhs, { count, budget: this.#budget }), [lhs, rhs]);
    const lhs = made.pop();
    if (node.op !== 'or') {
      made.push(join(node, settled(lhs), last));
      return;
    }
    const isMore = lhs instanceof OrChain && lhs.takes(node);
    const chain = isMore ? lhs : new OrChain(node, settled(lhs), join);
    chain.add(node, last);
    made.push(chain);
  }

  #aggregate(expr: Aggregate, grid: Grid): Value {
    const param = expr.param === null ? null : this.evaluate(expr.param, grid);
    const vector = asVector(this.evaluate(expr.expr, grid));
    const { annotations } = this.#options;
    const context = { count: grid.count, budget: this.#budget, annotations };
    const inputs = param === null ? [vector] : [vector, param];
    return this.#made(applyAggregate(expr, vector, param, context), inputs);
  }

  #made(output: Value, inputs: readonly Value[]): Value {
    this.#pinned.release(inputs, output, this.#budget);
    return output;
  }

  #select(selector: VectorSelector, grid: Grid, wanted: 'values' | 'times'): VectorValue {
    const isShared = this.#plan.repeated.has(selectorKey(selector));
    const key = isShared
      ? JSON.stringify([selectorKey(selector), grid.startMs, grid.stepMs, grid.count, wanted])
      : '';
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const look = lookTimes(selector, grid, this.#options.range);
    const { lookbackMs, gapToleranceMs, ageless } = this.#options;
    const bridges = new Bridges(gapToleranceMs, ageless);
    const series = this.#fetched.select({
      matchers: selector.matchers,
      afterMs: look.firstMs - lookbackMs,
      throughMs: lastLook(look),
    });
    const columns = selectVector({ series, look, lookbackMs, wanted, bridges }, this.#budget);
    if (wanted === 'values') this.#recordBridges(bridges, selector.span);
    const value: VectorValue = { type: 'vector', series: columns };
    if (isShared) {
      this.#pinned.pin(value);
      this.#shared.set(key, value);
    }
    return value;
  }

  #recordBridges({ series, oldestMs, toleranceMs }: Bridges, span: Span): void {
    if (series === 0) return;
    const text =
      `a value older than ${toleranceMs / 1000} s stands for a missing one in ${series} series, ` +
      `up to ${Math.round(oldestMs / 1000)} s old. A shorter lookback_delta shows the gap`;
    this.#options.annotations.warn(text, span);
  }

  #call(call: Call, grid: Grid): Value {
    const implementation = this.#options.functions.get(call.func.name);
    if (implementation === undefined) throw new Error(`No function ${call.func.name}`);
    const inputs: Value[] = [];
    let rangeBytes = 0;
    const noted = <T extends Value>(value: T): T => {
      inputs.push(value);
      return value;
    };
    const context: CallContext = {
      call,
      grid,
      annotations: this.#options.annotations,
      budget: this.#budget,
      evaluate: (argument) => noted(this.evaluate(argument, grid)),
      evaluateTimes: (argument) => noted(this.#times(argument, grid)),
      evaluateRange: (argument) => {
        const { range, columns, copiedBytes } = this.#range(argument, grid);
        this.#recordHoles(call, argument, range);
        if (columns !== null) inputs.push(columns);
        if (!ONE_COLUMN.has(call.func.name)) assertRoom(range.series.length, grid, this.#budget);
        rangeBytes += copiedBytes;
        return range;
      },
    };
    const output = this.#made(implementation(context), inputs);
    this.#budget.releaseBytes(rangeBytes);
    return output;
  }

  /**
   * A rate over a gap says nothing about the time in the gap, but Prometheus computes it anyway.
   */
  #recordHoles({ func, span }: Call, argument: Expr, range: RangeValue): void {
    const { gapToleranceMs, annotations } = this.#options;
    const isSampled = unwrapped(argument).kind === 'matrixSelector';
    if (!Number.isFinite(gapToleranceMs) || !isSampled || !RATES.has(func.name)) return;
    if (!hasHole(range, gapToleranceMs)) return;
    const text = `${func.name} was computed across more than ${gapToleranceMs / 1000} s without samples`;
    annotations.warn(text, span);
  }

  #times(argument: Expr, grid: Grid): VectorValue {
    const inner = unwrapped(argument);
    if (inner.kind === 'vectorSelector') return this.#select(inner, grid, 'times');
    const vector = asVector(this.evaluate(argument, grid));
    const values = stepTimes(grid, this.#budget);
    const times = vector.series.map(({ labels, present }) => ({ labels, values, present }));
    const output: VectorValue = { type: 'vector', series: times };
    this.#pinned.release([vector], output, this.#budget);
    return output;
  }

  #range(argument: Expr, grid: Grid): HeldRange {
    const expr = unwrapped(argument);
    if (expr.kind === 'matrixSelector') return this.#selectRange(expr, grid);
    if (expr.kind === 'subquery') return this.#subquery(expr, grid);
    throw new Error(`A ${expr.kind} is not a range`);
  }

  #selectRange({ selector, rangeMs }: MatrixSelector, grid: Grid): HeldRange {
    const look = lookTimes(selector, grid, this.#options.range);
    const series = this.#fetched.select({
      matchers: selector.matchers,
      afterMs: look.firstMs - rangeMs,
      throughMs: lastLook(look),
    });
    const selected = selectRange(series, { look, rangeMs }, this.#budget);
    return { ...selected, columns: null };
  }

  #subquery(subquery: Subquery, grid: Grid): HeldRange {
    const { rangeMs } = subquery;
    const look = lookTimes(subquery, grid, this.#options.range);
    const inner = subqueryGrid(subquery, look, this.#options.subqueryStepMs);
    const columns = inner === null ? null : asVector(this.evaluate(subquery.expr, inner));
    const range = rangeOfColumns(columns, inner, { look, rangeMs }, this.#budget);
    return { ...range, columns };
  }
}

/** Functions that compute a change between samples. */
const RATES: ReadonlySet<string> = new Set(['rate', 'increase', 'irate', 'delta', 'idelta']);

/** Memory that a range holds until its reader has finished. */
interface HeldRange extends CopiedRange {
  /** Columns whose arrays it may refer to. */
  readonly columns: VectorValue | null;
}

/** Functions over a range whose result is one column, regardless of the number of series. */
const ONE_COLUMN: ReadonlySet<string> = new Set(['absent_over_time']);

function settled(value: Value | OrChain | undefined): Value {
  if (value === undefined) throw new Error('An operator has no operand');
  return value instanceof OrChain ? value.value() : value;
}

function asVector(value: Value): VectorValue {
  if (value.type === 'vector') return value;
  throw new Error(`A ${value.type} where a vector belongs`);
}

/** Repeats a value of one step at `count` steps. */
function broadcast(value: Value, count: number, pinned: PinnedArrays, budget: Budget): Value {
  if (value.type === 'string') return value;
  if (value.type === 'scalar') return constantScalar(value.values[0] ?? Number.NaN, count, budget);
  const present = pinned.allPresent(count, budget);
  const series = value.series.flatMap((column) => {
    budget.check();
    if (column.present[0] !== 1) return [];
    const values = takeValues(count, budget).fill(column.values[0] ?? Number.NaN);
    return [{ labels: column.labels, values, present }];
  });
  return vectorOf(series);
}

/** The time of each step, seconds. */
function stepTimes(grid: Grid, budget: Budget): Float64Array {
  const times = takeValues(grid.count, budget);
  for (let i = 0; i < times.length; i++) times[i] = stepTime(grid, i) / 1000;
  return times;
}

function applyUnary({ op }: Unary, value: Value, budget: Budget): Value {
  if (op === '+' || value.type === 'string') return value;
  if (value.type === 'scalar') return { type: 'scalar', values: negated(value.values, budget) };
  const series = value.series.map(({ labels, values, present }) => {
    budget.check();
    return seriesColumn(labels.withoutName(), negated(values, budget), present);
  });
  return vectorOf(mergeSeries(series, budget));
}

function negated(values: Float64Array, budget: Budget): Float64Array {
  const out = takeValues(values.length, budget);
  for (let i = 0; i < values.length; i++) out[i] = -(values[i] as number);
  return out;
}
