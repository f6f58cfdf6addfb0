/**
 * `stdvar` and `stddev` of the members as a whole population, in one pass (Welford, "Note on a
 * method for calculating corrected sums of squares and products", 1962).
 */
import type { Budget } from '../../budget.ts';
import { giveBack, takeColumn, takeValues } from '../../column-memory.ts';
import type { Column } from '../../values.ts';
import type { Accumulator } from './accumulator.ts';

export class Variance implements Accumulator {
  readonly #budget: Budget;
  /** Sums of squared differences from the mean. */
  readonly #column: Column;
  readonly #means: Float64Array;
  readonly #counts: Float64Array;
  readonly #isRoot: boolean;

  /** `isRoot`: the standard deviation instead of the variance. */
  constructor(count: number, budget: Budget, isRoot: boolean) {
    this.#budget = budget;
    this.#column = takeColumn(count, budget);
    this.#means = takeValues(count, budget);
    this.#counts = takeValues(count, budget);
    this.#isRoot = isRoot;
  }

  add({ values, present }: Column): void {
    const { values: squares, present: seen } = this.#column;
    const means = this.#means;
    const counts = this.#counts;
    for (let i = 0; i < squares.length; i++) {
      if (present[i] === 0) continue;
      const value = values[i] as number;
      const count = (counts[i] as number) + 1;
      counts[i] = count;
      if (seen[i] === 0) {
        seen[i] = 1;
        means[i] = value;
        // Of one value it is 0, and NaN for a value that has no distance to itself.
        squares[i] = value - value;
        continue;
      }
      const before = means[i] as number;
      const mean = before + (value - before) / count;
      means[i] = mean;
      squares[i] = (squares[i] as number) + (value - before) * (value - mean);
    }
  }

  finish(): Column {
    const { values } = this.#column;
    for (let i = 0; i < values.length; i++) {
      const variance = (values[i] as number) / (this.#counts[i] as number);
      values[i] = this.#isRoot ? Math.sqrt(variance) : variance;
    }
    giveBack(this.#budget, this.#means, this.#counts);
    return this.#column;
  }
}
