/**
 * Calls one function of PromQL without parser and evaluator: arguments are values, and the answer
 * is the function's result.
 */
import type { Expr, VectorSelector } from '../../../src/telemetry/promql/ast.ts';
import { Budget } from '../../../src/telemetry/promql/budget.ts';
import { Annotations } from '../../../src/telemetry/promql/errors.ts';
import type { CallContext } from '../../../src/telemetry/promql/functions/function.ts';
import { functionSignatures } from '../../../src/telemetry/promql/functions/signatures.ts';
import { functionTable } from '../../../src/telemetry/promql/functions/table.ts';
import { createMatcher, type Matcher } from '../../../src/telemetry/promql/matcher.ts';
import {
  type Grid,
  Labels,
  type RangeSeries,
  type RangeValue,
  type SeriesColumn,
  type Value,
  type VectorValue,
} from '../../../src/telemetry/promql/values.ts';

/** A number is a scalar at every step; an absent element of a column is null. */
export type Argument = number | readonly number[] | string | RangeValue | VectorValue;

interface Called {
  readonly value: Value;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  readonly budget: Budget;
}

export const GRID: Grid = { startMs: 60_000, stepMs: 60_000, count: 3 };

/** `matchers` of the selector that the vector or range represents. */
export function callFunction(
  name: string,
  args: readonly Argument[],
  grid: Grid = GRID,
  matchers: readonly Matcher[] = [],
): Called {
  const func = functionSignatures.get(name);
  const apply = functionTable.get(name);
  if (func === undefined || apply === undefined) throw new Error(`No function ${name}`);
  const exprs = args.map((argument, i) => exprOf(argument, i, matchers));
  const argumentOf = (expr: Expr) => args[exprs.indexOf(expr)] as Argument;
  const annotations = new Annotations('function(of, some, arguments)');
  const budget = new Budget({ bytesMax: 1e9, samplesMax: 1e9 });
  const context: CallContext = {
    call: { kind: 'call', func, args: exprs, span: { from: 0, to: 1 } },
    grid,
    annotations,
    budget,
    evaluate: (expr) => valueFrom(argumentOf(expr), grid),
    evaluateRange: (expr) => argumentOf(expr) as RangeValue,
    evaluateTimes: (expr) => argumentOf(expr) as VectorValue,
  };
  const value = apply(context);
  return { value, warnings: annotations.warnings, infos: annotations.infos, budget };
}

function valueFrom(argument: Argument, grid: Grid): Value {
  if (typeof argument === 'string') return { type: 'string', value: argument };
  if (typeof argument === 'number') {
    return { type: 'scalar', values: new Float64Array(grid.count).fill(argument) };
  }
  if ('length' in argument) return { type: 'scalar', values: Float64Array.from(argument) };
  return argument as VectorValue;
}

function exprOf(argument: Argument, index: number, matchers: readonly Matcher[]): Expr {
  const span = { from: index, to: index + 1 };
  if (typeof argument === 'string') return { kind: 'string', value: argument, span };
  if (typeof argument === 'number') return { kind: 'number', value: argument, span };
  const selector: VectorSelector = {
    kind: 'vectorSelector',
    name: 'x',
    matchers,
    offsetMs: 0,
    at: null,
    span,
  };
  if ('rangeMs' in argument) return { kind: 'matrixSelector', selector, rangeMs: 1, span };
  return selector;
}

/** Columns by label text without braces, such as `__name__=x,a=b`; null where absent. */
export function vector(columns: Readonly<Record<string, readonly (number | null)[]>>): VectorValue {
  return {
    type: 'vector',
    series: Object.entries(columns).map(([text, row]) => column(text, row)),
  };
}

function column(text: string, row: readonly (number | null)[]): SeriesColumn {
  return {
    labels: labelsOf(text),
    values: Float64Array.from(row, (value) => value ?? Number.NaN),
    present: Uint8Array.from(row, (value) => (value === null ? 0 : 1)),
  };
}

function labelsOf(text: string): Labels {
  const pairs = text === '' ? [] : text.split(',').map((pair) => pair.split('='));
  return Labels.of(pairs.map(([name = '', value = '']) => [name, value]));
}

/** The inverse of `vector`. */
export function rowsOf(value: Value): Record<string, (number | null)[]> {
  if (value.type !== 'vector') throw new Error(`A ${value.type} is not a vector`);
  return Object.fromEntries(
    value.series.map(({ labels, values, present }) => [
      labels.pairs.map((pair) => pair.join('=')).join(','),
      Array.from(values, (number, step) => (present[step] === 1 ? number : null)),
    ]),
  );
}

/** Samples [seconds, value], split into runs that begin at the indices in `cuts`. */
export function rangeSeries(
  text: string,
  samples: readonly (readonly [seconds: number, value: number])[],
  cuts: readonly number[] = [],
): RangeSeries {
  const starts = [0, ...cuts];
  const runs = starts.map((start, i) => {
    const part = samples.slice(start, starts[i + 1]);
    return {
      timesMs: Float64Array.from(part, ([seconds]) => seconds * 1000),
      values: Float64Array.from(part, ([, value]) => value),
      stale: null,
    };
  });
  return { labels: labelsOf(text), runs: runs.filter(({ values }) => values.length > 0) };
}

/** Windows that end at the steps of `grid`. */
export function rangeOf(
  series: readonly RangeSeries[],
  rangeSeconds: number,
  grid = GRID,
): RangeValue {
  const endsMs = Float64Array.from(
    { length: grid.count },
    (_, i) => grid.startMs + i * grid.stepMs,
  );
  return { series, rangeMs: rangeSeconds * 1000, endsMs };
}

export const equals = (label: string, value: string): Matcher => createMatcher(label, '=', value);
