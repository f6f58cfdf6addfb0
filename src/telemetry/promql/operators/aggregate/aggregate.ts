/**
 * Aggregation operators. Series are grouped once by their labels; then each group's columns are
 * folded into one, member by member, for all steps at once.
 */

import type { Aggregate, Expr } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import type { Annotations } from '../../errors.ts';
import { invalidQuantile } from '../../quantile.ts';
import {
  isAnyPresent,
  type SeriesColumn,
  seriesColumn,
  type Value,
  type VectorValue,
  vectorOf,
} from '../../values.ts';
import {
  type Accumulator,
  Average,
  Count,
  type Group,
  groupsOf,
  Maximum,
  Minimum,
  Presence,
  Sum,
  Variance,
} from './accumulators.ts';
import { countValues } from './count-values.ts';
import { quantileColumn } from './quantile.ts';
import { rank } from './ranking.ts';

export interface AggregateContext {
  /** Steps. */
  readonly count: number;
  readonly budget: Budget;
  readonly annotations: Annotations;
}

/** `param`: k, φ or the label; null for operators that take none. */
export function applyAggregate(
  node: Aggregate,
  vector: VectorValue,
  param: Value | null,
  context: AggregateContext,
): VectorValue {
  const { budget, count } = context;
  switch (node.op) {
    case 'topk':
    case 'bottomk': {
      const groups = groupsOf(vector.series, node, budget);
      return vectorOf(rank({ groups, ks: scalarsOf(param), order: node.op }, budget));
    }
    case 'count_values': {
      if (param?.type !== 'string') throw new Error('count_values without the name of its label');
      return vectorOf(countValues(node, param.value, vector, budget));
    }
    case 'quantile': {
      const phis = scalarsOf(param);
      warnOfQuantiles(node, phis, context.annotations);
      const groups = groupsOf(vector.series, node, budget);
      return vectorOf(groups.flatMap((group) => quantileOfGroup(group, phis, budget)));
    }
    default: {
      const { op } = node;
      const groups = groupsOf(vector.series, node, budget);
      return vectorOf(
        groups.flatMap((group) => fold(group, createAccumulator(op, count, budget), budget)),
      );
    }
  }
}

function fold(
  { labels, members }: Group,
  accumulator: Accumulator,
  budget: Budget,
): SeriesColumn[] {
  for (const member of members) {
    budget.check();
    accumulator.add(member);
  }
  const { values, present } = accumulator.finish();
  return isAnyPresent(present) ? [seriesColumn(labels, values, present)] : [];
}

type FoldOp = 'sum' | 'avg' | 'count' | 'min' | 'max' | 'group' | 'stddev' | 'stdvar';

function createAccumulator(op: FoldOp, count: number, budget: Budget): Accumulator {
  switch (op) {
    case 'sum':
      return new Sum(count, budget);
    case 'avg':
      return new Average(count, budget);
    case 'count':
      return new Count(count, budget);
    case 'min':
      return new Minimum(count, budget);
    case 'max':
      return new Maximum(count, budget);
    case 'group':
      return new Presence(count, budget);
    case 'stddev':
    case 'stdvar':
      return new Variance(count, budget, op === 'stddev');
  }
}

function quantileOfGroup(
  { labels, members }: Group,
  phis: Float64Array,
  budget: Budget,
): SeriesColumn[] {
  const { values, present } = quantileColumn(members, phis, budget);
  return isAnyPresent(present) ? [seriesColumn(labels, values, present)] : [];
}

function scalarsOf(param: Value | null): Float64Array {
  if (param?.type !== 'scalar') throw new Error('An aggregation without its parameter');
  return param.values;
}

/**
 * The invalid φ of all steps to warn of: NaN, the greatest above 1 and the least below 0. As in
 * Prometheus, NaN hides the latter two unless they are infinite (Go's `math.Max` and `math.Min`).
 */
function warnOfQuantiles(node: Aggregate, phis: Float64Array, annotations: Annotations): void {
  let least = 0;
  let greatest = 1;
  let hasNaN = false;
  for (const phi of phis) {
    if (phi < least) least = phi;
    if (phi > greatest) greatest = phi;
    if (Number.isNaN(phi)) hasNaN = true;
  }
  const ends = [greatest, least].filter((phi) => !hasNaN || !Number.isFinite(phi));
  const { span } = unwrapped(node.param ?? node);
  for (const phi of hasNaN ? [Number.NaN, ...ends] : ends) {
    const message = invalidQuantile(phi);
    if (message !== undefined) annotations.warn(message, span);
  }
}

/** Prometheus points at what is within the parentheses. */
export function unwrapped(expr: Expr): Expr {
  let inner = expr;
  while (inner.kind === 'paren') inner = inner.expr;
  return inner;
}
