/**
 * Binary operators except the set operators: scalar with scalar, vector with scalar, and vector
 * with vector, pair by pair of matching columns. The labels of the result and the matching of
 * series are determined once per pair; a step is arithmetic only.
 */
import type { Binary, BinaryOp, VectorMatching } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { mergeSeries } from '../../merge-series.ts';
import {
  type Column,
  type Labels,
  release,
  type ScalarValue,
  type SeriesColumn,
  seriesColumn,
  takeLabels,
  takePresence,
  takeValues,
  type Value,
  type VectorValue,
  vectorOf,
} from '../../values.ts';
import { anyPresence, keepCommon } from './presence.ts';
import { applySetOperator, isSetOp } from './set-operators.ts';
import { groupBytes, type MatchGroup, MatchingFaults, matchGroups } from './vector-matching.ts';

/** Inputs of a binary operator besides its operands. */
export interface BinaryContext {
  /** Number of steps. */
  readonly count: number;
  readonly budget: Budget;
}

/** Throws `PromqlError` execution if the series cannot be matched. */
export function applyBinary(node: Binary, lhs: Value, rhs: Value, context: BinaryContext): Value {
  const { budget } = context;
  if (lhs.type === 'scalar' && rhs.type === 'scalar') return ofScalars(node, lhs, rhs, budget);
  if (lhs.type === 'vector' && rhs.type === 'vector') return ofVectors(node, lhs, rhs, context);
  if (lhs.type === 'vector' && rhs.type === 'scalar') {
    const scalar = { values: rhs.values, present: null };
    const pairs = lhs.series.map((vector) => ({ lhs: vector, rhs: scalar, vector }));
    return withScalar(node, pairs, budget);
  }
  if (lhs.type === 'scalar' && rhs.type === 'vector') {
    const scalar = { values: lhs.values, present: null };
    const pairs = rhs.series.map((vector) => ({ lhs: scalar, rhs: vector, vector }));
    return withScalar(node, pairs, budget);
  }
  throw new Error(`No ${node.op} of ${lhs.type} and ${rhs.type}`);
}

function ofScalars(node: Binary, lhs: ScalarValue, rhs: ScalarValue, budget: Budget): ScalarValue {
  const values = takeValues(lhs.values.length, budget);
  const operands = { lhs: lhs.values, rhs: rhs.values };
  if (isArithmetic(node.op)) computeArithmetic(node.op, operands, values);
  else if (isComparison(node.op)) computeComparison(node.op, operands, values);
  return { type: 'scalar', values };
}

/** A column, or a scalar (`present` is null: it has a value at every step). */
interface Operand {
  readonly values: Float64Array;
  readonly present: Uint8Array | null;
}

interface ScalarPair {
  readonly lhs: Operand;
  readonly rhs: Operand;
  /** The operand that is a vector. */
  readonly vector: SeriesColumn;
}

function withScalar(node: Binary, pairs: readonly ScalarPair[], budget: Budget): VectorValue {
  const dropsName = isArithmetic(node.op) || node.bool;
  const series: SeriesColumn[] = [];
  for (const { lhs, rhs, vector } of pairs) {
    budget.check();
    const column = combine(node, { lhs, rhs, kept: vector.values }, budget);
    if (column === null) continue;
    const labels = dropsName ? vector.labels.withoutName() : vector.labels;
    series.push(seriesColumn(labels, column.values, column.present));
  }
  return vectorOf(dropsName ? mergeSeries(series, budget) : series);
}

interface Combination {
  readonly lhs: Operand;
  readonly rhs: Operand;
  /** The values that pass a comparison without `bool`. */
  readonly kept: Float64Array;
}

/** null if nothing is left at any step. */
function combine({ op, bool }: Binary, combination: Combination, budget: Budget): Column | null {
  const { lhs, rhs, kept } = combination;
  const count = kept.length;
  const operands = { lhs: lhs.values, rhs: rhs.values };
  if (isComparison(op) && !bool) {
    const present = takePresence(count, budget);
    computeComparison(op, operands, present);
    const isLeft = lhs.present === null || keepCommon(present, lhs.present);
    if (isLeft && (rhs.present === null || keepCommon(present, rhs.present))) {
      return { values: kept, present };
    }
    release(budget, present);
    return null;
  }
  const present = commonPresence(lhs.present, rhs.present, budget);
  if (present === null) return null;
  const values = takeValues(count, budget);
  if (isArithmetic(op)) computeArithmetic(op, operands, values);
  else if (isComparison(op)) computeComparison(op, operands, values);
  return { values, present };
}

/**
 * Presence of the result; the vector's own if the other side is a scalar. null if the two have no
 * step in common.
 */
function commonPresence(
  lhs: Uint8Array | null,
  rhs: Uint8Array | null,
  budget: Budget,
): Uint8Array | null {
  if (lhs === null || rhs === null) return lhs ?? rhs;
  const present = takePresence(lhs.length, budget);
  present.set(lhs);
  if (keepCommon(present, rhs)) return present;
  release(budget, present);
  return null;
}

function ofVectors(
  node: Binary,
  lhs: VectorValue,
  rhs: VectorValue,
  context: BinaryContext,
): VectorValue {
  const { budget, count } = context;
  const { matching, op } = node;
  if (matching === null) throw new Error(`Two vectors without matching at ${op}`);
  if (isSetOp(op)) return applySetOperator({ op, matching, count }, lhs, rhs, budget);
  const { groups, heldBytes } = matchGroups(lhs.series, rhs.series, matching, budget);
  const isLhsMany = matching.cardinality !== 'one-to-many';
  refuseFaults(groups, node, isLhsMany ? lhs.series : rhs.series, { ...context, matching });
  const labelsOf = resultLabels(node, matching);
  const series: SeriesColumn[] = [];
  for (const group of groups) {
    for (const left of group.lhs) {
      for (const right of group.rhs) {
        budget.check();
        const column = combine(node, { lhs: left, rhs: right, kept: left.values }, budget);
        if (column === null) continue;
        const [many, one] = isLhsMany ? [left, right] : [right, left];
        const labels = labelsOf(many.labels, one.labels);
        const isNew = labels !== many.labels && labels !== many.labels.withoutName();
        if (isNew) takeLabels(labels, budget);
        series.push(seriesColumn(labels, column.values, column.present));
      }
    }
  }
  budget.releaseBytes(heldBytes);
  return vectorOf(mergeSeries(series, budget));
}

function resultLabels(
  node: Binary,
  matching: VectorMatching,
): (many: Labels, one: Labels) => Labels {
  const names = new Set(matching.labels);
  return (many, one) => {
    let labels = isArithmetic(node.op) ? many.withoutName() : many;
    if (matching.cardinality === 'one-to-one') {
      labels = matching.on ? labels.only(names) : labels.without(names);
    }
    for (const name of matching.include) labels = labels.with(name, one.get(name));
    return node.bool ? labels.withoutName() : labels;
  };
}

interface FaultContext extends BinaryContext {
  readonly matching: VectorMatching;
}

function refuseFaults(
  groups: readonly MatchGroup[],
  node: Binary,
  manySide: readonly SeriesColumn[],
  context: FaultContext,
): void {
  const { matching, count, budget } = context;
  const faults = new MatchingFaults(matching);
  const isLhsMany = matching.cardinality !== 'one-to-many';
  let anyMany: Uint8Array | null = null;
  for (const { lhs, rhs } of groups) {
    const [many, one] = isLhsMany ? [lhs, rhs] : [rhs, lhs];
    if (one.length > 1) {
      anyMany ??= anyPresence(manySide, count, budget);
      faults.recordOneSide(one, anyMany, budget);
    }
    if (many.length > 1 && one.length > 0) recordDoubles(faults, node, { many, one }, context);
  }
  if (anyMany !== null && manySide.length !== 1) release(budget, anyMany);
  faults.throwFirst();
}

interface Sides {
  readonly many: readonly SeriesColumn[];
  readonly one: readonly SeriesColumn[];
}

/** Series of the "many" side whose results would be the same series. */
function recordDoubles(
  faults: MatchingFaults,
  node: Binary,
  { many, one }: Sides,
  { matching, count, budget }: FaultContext,
): void {
  const labelsOf = resultLabels(node, matching);
  const [first] = one;
  const alike = new Map<string, SeriesColumn[]>();
  let heldBytes = 0;
  for (const series of many) {
    budget.takeWork(1 + matching.include.length);
    // Apart from the labels copied from the "one" side, which are common to all series of a step,
    // the labels of the result are the series' own.
    const isOneToOne = matching.cardinality === 'one-to-one' || first === undefined;
    const key = isOneToOne ? '' : labelsOf(series.labels, first.labels).key;
    const doubles = alike.get(key);
    if (doubles !== undefined) {
      doubles.push(series);
      continue;
    }
    const bytes = groupBytes(key);
    budget.takeBytes(bytes);
    heldBytes += bytes;
    alike.set(key, [series]);
  }
  budget.releaseBytes(heldBytes);
  if (alike.size === many.length) return;
  const matched = anyPresence(one, count, budget);
  for (const doubles of alike.values()) faults.recordResults(doubles, matched, budget);
  if (one.length > 1) release(budget, matched);
}

/** Operators that compute a new value and therefore drop the metric name. */
export type ArithmeticOp = '+' | '-' | '*' | '/' | '%' | '^' | 'atan2';

/**
 * Binary arithmetic over whole columns, one plain loop per operator, so that each stays
 * monomorphic. All steps are computed, even those without a value: that is cheaper than a check,
 * and absent values are ignored. Follows Go's `math`, as Prometheus does.
 */
function isArithmetic(op: BinaryOp): op is ArithmeticOp {
  return ARITHMETIC.has(op);
}

const ARITHMETIC: ReadonlySet<BinaryOp> = new Set(['+', '-', '*', '/', '%', '^', 'atan2']);

/** Both sides of one pair, one element per step. A scalar is expanded to a column here. */
export interface Operands {
  readonly lhs: Float64Array;
  readonly rhs: Float64Array;
}

function add({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) + (rhs[i] as number);
}

function subtract({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) - (rhs[i] as number);
}

function multiply({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) * (rhs[i] as number);
}

function divide({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) / (rhs[i] as number);
}

/** The result has the sign of the dividend, in Go's `math.Mod` as in JavaScript. */
function remainder({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) % (rhs[i] as number);
}

function raise({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = power(lhs[i] as number, rhs[i] as number);
}

function arcTangent({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = Math.atan2(lhs[i] as number, rhs[i] as number);
}

/**
 * Go's `math.Pow`: 1 to any power is 1, and so is -1 to an infinite power. JavaScript returns NaN.
 */
function power(base: number, exponent: number): number {
  if (base === 1) return 1;
  if (base === -1 && !Number.isFinite(exponent) && !Number.isNaN(exponent)) return 1;
  return base ** exponent;
}

const ARITHMETIC_KERNELS: Readonly<
  Record<ArithmeticOp, (operands: Operands, out: Float64Array) => void>
> = {
  '+': add,
  '-': subtract,
  '*': multiply,
  '/': divide,
  '%': remainder,
  '^': raise,
  atan2: arcTangent,
};

/** Writes `lhs op rhs` of each step to `out`. */
function computeArithmetic(op: ArithmeticOp, operands: Operands, out: Float64Array): void {
  ARITHMETIC_KERNELS[op](operands, out);
}

/**
 * Comparison operators. Without `bool` they keep the value and name of the left side where they
 * hold.
 */
export type ComparisonOp = '==' | '!=' | '<' | '>' | '<=' | '>=';

/** 1 or 0 per step, as a presence or as values. */
type Truths = Uint8Array | Float64Array;

const COMPARISONS: ReadonlySet<BinaryOp> = new Set(['==', '!=', '<', '>', '<=', '>=']);

function isComparison(op: BinaryOp): op is ComparisonOp {
  return COMPARISONS.has(op);
}

function equal({ lhs, rhs }: Operands, out: Truths): void {
  for (let i = 0; i < out.length; i++) out[i] = lhs[i] === rhs[i] ? 1 : 0;
}

function unequal({ lhs, rhs }: Operands, out: Truths): void {
  for (let i = 0; i < out.length; i++) out[i] = lhs[i] !== rhs[i] ? 1 : 0;
}

function less({ lhs, rhs }: Operands, out: Truths): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) < (rhs[i] as number) ? 1 : 0;
}

function atMost({ lhs, rhs }: Operands, out: Truths): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) <= (rhs[i] as number) ? 1 : 0;
}

const COMPARISON_KERNELS: Readonly<
  Record<ComparisonOp, (operands: Operands, out: Truths) => void>
> = {
  '==': equal,
  '!=': unequal,
  '<': less,
  '>': ({ lhs, rhs }, out) => less({ lhs: rhs, rhs: lhs }, out),
  '<=': atMost,
  '>=': ({ lhs, rhs }, out) => atMost({ lhs: rhs, rhs: lhs }, out),
};

/** Writes whether `lhs op rhs` holds at each step to `out`. */
function computeComparison(op: ComparisonOp, operands: Operands, out: Truths): void {
  COMPARISON_KERNELS[op](operands, out);
}
