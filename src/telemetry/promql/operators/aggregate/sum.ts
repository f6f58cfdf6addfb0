/**
 * `sum`: compensated, so that its last digits do not depend on how large the other members are.
 * The columns hold what `KahanSum` holds for one sum, a step at each index.
 */
import type { Budget } from '../../budget.ts';
import { giveBack, takeColumn, takeValues } from '../../column-memory.ts';
import type { Column } from '../../values.ts';
import type { Accumulator } from './accumulator.ts';

export class Sum implements Accumulator {
  readonly #column: Column;
  readonly #corrections: Float64Array;
  readonly #budget: Budget;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
    this.#corrections = takeValues(count, budget);
    this.#budget = budget;
  }

  add({ values, present }: Column): void {
    const { values: sums, present: seen } = this.#column;
    const corrections = this.#corrections;
    for (let i = 0; i < sums.length; i++) {
      if (present[i] === 0) continue;
      seen[i] = 1;
      const value = values[i] as number;
      const sum = sums[i] as number;
      const total = sum + value;
      sums[i] = total;
      corrections[i] = correctionAfter(corrections[i] as number, sum, value, total);
    }
  }

  finish(): Column {
    const { values: sums } = this.#column;
    const corrections = this.#corrections;
    for (let i = 0; i < sums.length; i++) {
      sums[i] = (sums[i] as number) + (corrections[i] as number);
    }
    giveBack(this.#budget, corrections);
    return this.#column;
  }
}

/** What `total` = `sum` + `value` is to be corrected by (Neumaier; 0 once it is infinite). */
export function correctionAfter(
  correction: number,
  sum: number,
  value: number,
  total: number,
): number {
  if (total === Number.POSITIVE_INFINITY || total === Number.NEGATIVE_INFINITY) return 0;
  if (Math.abs(sum) >= Math.abs(value)) return correction + (sum - total + value);
  return correction + (value - total + sum);
}
