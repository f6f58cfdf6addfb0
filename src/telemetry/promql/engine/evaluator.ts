/** The evaluation of one parsed expression: each node of the tree, with the operator of its kind. */
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
  type Unary,
  type VectorSelector,
} from '../ast.ts';
import type { Budget } from '../budget.ts';
import type { Annotations } from '../errors.ts';
import type { CallContext, PromqlFunction } from '../functions/function.ts';
import { mergeSeries } from '../merge-series.ts';
import { applyAggregate, unwrapped } from '../operators/aggregate/aggregate.ts';
import { applyBinary } from '../operators/binary/binary.ts';
import { OrChain } from '../operators/binary/set-operators.ts';
import { type Plan, planOf, selectorKey } from '../operators/plan.ts';
import {
  Bridges,
  type CopiedRange,
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
import type { SeriesSource } from '../series-source.ts';
import {
  assertRoom,
  constantScalar,
  type Grid,
  PinnedArrays,
  type RangeValue,
  seriesColumn,
  stepTime,
  takeValues,
  type Value,
  type VectorValue,
  vectorOf,
} from '../values.ts';

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
export class Evaluator {
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
