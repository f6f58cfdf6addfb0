/**
 * `and`, `or` and `unless`: each step keeps or drops a series depending on the presence of its
 * match group on the other side. Values never change, so the results share them with the operands.
 */
import type { Binary, VectorMatching } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { mergeSeries } from '../../merge-series.ts';
import {
  release,
  type SeriesColumn,
  seriesColumn,
  takePresence,
  type Value,
  type VectorValue,
  vectorOf,
} from '../../values.ts';
import { anyPresence, keepCommon, keepOthers } from './presence.ts';
import { matchGroups } from './vector-matching.ts';

/** Operators between sets of series. Matching is always many-to-many. */
export type SetOp = 'and' | 'or' | 'unless';

/** Narrows an operator: set operators take only vectors, and neither `bool` nor `group_left`. */
export function isSetOp(op: Binary['op']): op is SetOp {
  return op === 'and' || op === 'or' || op === 'unless';
}

/** One set operation over `count` steps. */
export interface SetOperation {
  readonly op: SetOp;
  readonly matching: VectorMatching;
  readonly count: number;
}

/** The left side's series in their order; for `or`, followed by those of the right side. */
export function applySetOperator(
  { op, matching, count }: SetOperation,
  lhs: VectorValue,
  rhs: VectorValue,
  budget: Budget,
): VectorValue {
  const kept = new Map<SeriesColumn, SeriesColumn | null>();
  const { groups, heldBytes } = matchGroups(lhs.series, rhs.series, matching, budget);
  for (const group of groups) {
    const [filtered, others] = op === 'or' ? [group.rhs, group.lhs] : [group.lhs, group.rhs];
    if (filtered.length === 0) continue;
    const where = others.length === 0 ? null : anyPresence(others, count, budget);
    for (const series of filtered) {
      budget.check();
      kept.set(
        series,
        op === 'and' ? within(series, where, budget) : outside(series, where, budget),
      );
    }
    if (where !== null && others.length > 1) release(budget, where);
  }
  budget.releaseBytes(heldBytes);
  const pick = (series: SeriesColumn) => kept.get(series) ?? [];
  if (op !== 'or') return vectorOf(lhs.series.flatMap(pick));
  return vectorOf(mergeSeries([...lhs.series, ...rhs.series.flatMap(pick)], budget));
}

function within(
  series: SeriesColumn,
  where: Uint8Array | null,
  budget: Budget,
): SeriesColumn | null {
  if (where === null) return null;
  return filter(series, where, keepCommon, budget);
}

function outside(
  series: SeriesColumn,
  where: Uint8Array | null,
  budget: Budget,
): SeriesColumn | null {
  if (where === null) return series;
  return filter(series, where, keepOthers, budget);
}

function filter(
  { labels, values, present }: SeriesColumn,
  where: Uint8Array,
  keep: typeof keepCommon,
  budget: Budget,
): SeriesColumn | null {
  const left = takePresence(present.length, budget);
  left.set(present);
  if (keep(left, where)) return seriesColumn(labels, values, left);
  release(budget, left);
  return null;
}

type Join = (node: Binary, lhs: Value, rhs: Value) => Value;

/**
 * The chain `a or b or c ...`, joined in pairs of similar size, so that a long chain costs n log n
 * series instead of n².
 */
export class OrChain {
  readonly #matching: VectorMatching | null;
  readonly #join: Join;
  /** Partial results from left to right, each made of more operands than the next. */
  readonly #parts: { readonly value: Value; readonly operands: number; readonly node: Binary }[] =
    [];

  /** `node` is the first `or`; `join` computes one. */
  constructor(node: Binary, lhs: Value, join: Join) {
    this.#matching = node.matching;
    this.#join = join;
    this.#parts.push({ value: lhs, operands: 1, node });
  }

  /** True if another `or` may be added. */
  takes({ op, matching }: Binary): boolean {
    if (op !== 'or' || matching === null || this.#matching === null) return false;
    const { on, labels } = this.#matching;
    if (matching.on !== on || matching.labels.length !== labels.length) return false;
    return matching.labels.every((label, i) => label === labels[i]);
  }

  /** Adds the right side of an `or` whose left side is everything added before. */
  add(node: Binary, rhs: Value): void {
    this.#parts.push({ value: rhs, operands: 1, node });
    while ((this.#parts.at(-2)?.operands ?? 0) === this.#parts.at(-1)?.operands) this.#joinLast();
  }

  value(): Value {
    while (this.#parts.length > 1) this.#joinLast();
    return this.#parts[0]?.value ?? missing();
  }

  #joinLast(): void {
    const rhs = this.#parts.pop() ?? missing();
    const lhs = this.#parts.pop() ?? missing();
    const value = this.#join(rhs.node, lhs.value, rhs.value);
    this.#parts.push({ value, operands: lhs.operands + rhs.operands, node: lhs.node });
  }
}

function missing(): never {
  throw new Error('An or has no operand');
}
