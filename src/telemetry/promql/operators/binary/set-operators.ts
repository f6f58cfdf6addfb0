/**
 * `and`, `or` and `unless`: each step keeps or drops a series by whether its match group is present
 * on the other side then. Values are never touched, so the results share them with the operands.
 */
import type { Binary, VectorMatching } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { giveBack, takePresence } from '../../column-memory.ts';
import { mergeSeries } from '../../merge-series.ts';
import type { SeriesColumn, VectorValue } from '../../values.ts';
import { seriesColumn, vectorOf } from '../columns.ts';
import { anyPresence, keepCommon, keepOthers } from './presence.ts';
import { matchGroups } from './vector-matching.ts';

export type SetOp = 'and' | 'or' | 'unless';

export function isSetOp(op: Binary['op']): op is SetOp {
  return op === 'and' || op === 'or' || op === 'unless';
}

export interface SetOperation {
  readonly op: SetOp;
  readonly matching: VectorMatching;
  readonly count: number;
}

/** The left side's series in their order; for `or`, then those of the right side. */
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
    if (where !== null && others.length > 1) giveBack(budget, where);
  }
  budget.giveBackBytes(heldBytes);
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
  giveBack(budget, left);
  return null;
}
