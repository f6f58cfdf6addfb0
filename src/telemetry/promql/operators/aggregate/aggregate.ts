/**
 * Aggregation operators. Series are grouped once by their labels; each group's columns are then
 * folded into one, member by member, for all steps at once.
 */
import type { Aggregate, Expr } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { type Annotations, PromqlError } from '../../errors.ts';
import { goQuote } from '../../format-go.ts';
import { invalidQuantile, quantileOf } from '../../quantile.ts';
import {
  type Column,
  isAnyPresent,
  type Labels,
  release,
  type SeriesColumn,
  seriesColumn,
  takeColumn,
  takeLabels,
  takeValues,
  type Value,
  type VectorValue,
  vectorOf,
} from '../../values.ts';
import {
  type Accumulator,
  Average,
  Count,
  type Group,
  groupLabels,
  groupsOf,
  Maximum,
  Minimum,
  Presence,
  Sum,
  Variance,
} from './accumulators.ts';
import { rank } from './ranking.ts';

/** Inputs of an aggregation besides its operands. */
export interface AggregateContext {
  /** Number of steps. */
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
      if (param?.type !== 'string') throw new Error('count_values has no label name');
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
 * The invalid φ values to warn about, over all steps: NaN, the greatest above 1 and the least below
 * 0. As in Prometheus, NaN hides the other two unless they are infinite (Go's `math.Max` and
 * `math.Min`).
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

/** Prometheus's positions point inside the parentheses. */
export function unwrapped(expr: Expr): Expr {
  let inner = expr;
  while (inner.kind === 'paren') inner = inner.expr;
  return inner;
}

// `quantile` over the members present at each step. Columns are read in blocks of steps, so that
// each is read forward in one pass and the values of a step are adjacent.

const BLOCK_STEPS = 64;

/** φ is `phis[i]` at step i. */
function quantileColumn(
  members: readonly SeriesColumn[],
  phis: Float64Array,
  budget: Budget,
): Column {
  const count = phis.length;
  const column = takeColumn(count, budget);
  const size = members.length;
  const gathered = takeValues(Math.min(BLOCK_STEPS, count) * size, budget);
  const sizes = new Int32Array(BLOCK_STEPS);
  const row = takeValues(size, budget);
  for (let start = 0; start < count; start += BLOCK_STEPS) {
    budget.check();
    const end = Math.min(count, start + BLOCK_STEPS);
    sizes.fill(0);
    for (const member of members) gather(member, { start, end, size }, gathered, sizes);
    for (let i = start; i < end; i++) {
      const present = sizes[i - start] as number;
      if (present === 0) continue;
      budget.takeWork(present);
      const from = (i - start) * size;
      for (let j = 0; j < present; j++) row[j] = gathered[from + j] as number;
      column.values[i] = quantileOf(phis[i] as number, row, present);
      column.present[i] = 1;
    }
  }
  release(budget, gathered, row);
  return column;
}

interface Block {
  readonly start: number;
  readonly end: number;
  /** Slots per step. */
  readonly size: number;
}

function gather(
  { values, present }: Column,
  { start, end, size }: Block,
  gathered: Float64Array,
  sizes: Int32Array,
): void {
  for (let i = start; i < end; i++) {
    if (present[i] === 0) continue;
    const step = i - start;
    const place = sizes[step] as number;
    gathered[step * size + place] = values[i] as number;
    sizes[step] = place + 1;
  }
}

// `count_values`: one series per distinct value, with the value as a label. A column of counts is
// created when its value first appears, after its memory has been taken from the budget.

/** Throws `PromqlError` execution if `label` is not a valid label name. */
function countValues(
  node: Aggregate,
  label: string,
  { series }: VectorValue,
  budget: Budget,
): SeriesColumn[] {
  if (label === '' || !label.isWellFormed()) {
    throw new PromqlError('execution', `invalid label name ${goQuote(label)}`);
  }
  const grouping = node.without ? node.grouping : [...node.grouping, label];
  const labelsOf = groupLabels({ grouping, without: node.without });
  const counts = new Map<string, SeriesColumn>();
  const columnOf = (labels: Labels, steps: number): Column => {
    let column = counts.get(labels.key);
    if (column === undefined) {
      const { values, present } = takeColumn(steps, budget);
      column = seriesColumn(takeLabels(labels, budget), values, present);
      counts.set(labels.key, column);
    }
    return column;
  };
  for (const member of series) {
    budget.check();
    countOne(member, (value) => {
      const labels = labelsOf(member.labels.with(label, plainDecimal(value)));
      return columnOf(labels, member.values.length);
    });
  }
  return [...counts.values()];
}

function countOne({ values, present }: SeriesColumn, columnOf: (value: number) => Column): void {
  const columns = new Map<number, Column>();
  let last: Column | null = null;
  let lastValue = 0;
  for (let i = 0; i < values.length; i++) {
    if (present[i] === 0) continue;
    const value = values[i] as number;
    if (last === null || !Object.is(value, lastValue)) {
      // A Map does not distinguish 0 from -0, but their labels differ.
      last = (Object.is(value, -0) ? undefined : columns.get(value)) ?? columnOf(value);
      if (!Object.is(value, -0)) columns.set(value, last);
      lastValue = value;
    }
    last.values[i] = (last.values[i] as number) + 1;
    last.present[i] = 1;
  }
}

/** All digits and no exponent, as Go's `strconv.FormatFloat(value, 'f', -1, 64)`. */
function plainDecimal(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [mantissa = '0', exponent = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const point = Number(exponent) + 1;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  const whole = digits.slice(0, point).padEnd(point, '0');
  const fraction = digits.slice(point);
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}
