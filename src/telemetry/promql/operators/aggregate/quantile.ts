/**
 * `quantile` over the members present at each step. Columns are read in blocks of steps, so that
 * each is read forward in one pass, and the values of a step lie side by side.
 */
import type { Budget } from '../../budget.ts';
import { quantileOf } from '../../quantile.ts';
import { type Column, giveBack, type SeriesColumn, takeColumn, takeValues } from '../../values.ts';

const BLOCK_STEPS = 64;

/** φ is `phis[i]` at step i. */
export function quantileColumn(
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
  giveBack(budget, gathered, row);
  return column;
}

interface Block {
  readonly start: number;
  readonly end: number;
  /** Places a step. */
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
