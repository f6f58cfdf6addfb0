/**
 * `avg`: the compensated sum divided by the count, and, at a step whose sum would overflow, the
 * mean carried forward value by value from there (Prometheus 3.5, `aggregation`, AVG).
 */
import type { Budget } from '../../budget.ts';
import { giveBack, takeColumn, takePresence, takeValues } from '../../column-memory.ts';
import type { Column } from '../../values.ts';
import type { Accumulator } from './accumulator.ts';
import { correctionAfter } from './sum.ts';

export class Average implements Accumulator {
  readonly #budget: Budget;
  /** Sums, or means at steps that are carried forward. */
  readonly #column: Column;
  readonly #corrections: Float64Array;
  readonly #counts: Float64Array;
  /** 1 where the mean is carried forward. Made when a sum overflows first. */
  #carried: Uint8Array | null = null;

  constructor(count: number, budget: Budget) {
    this.#budget = budget;
    this.#column = takeColumn(count, budget);
    this.#corrections = takeValues(count, budget);
    this.#counts = takeValues(count, budget);
  }

  add({ values, present }: Column): void {
    const { values: sums, present: seen } = this.#column;
    const corrections = this.#corrections;
    const counts = this.#counts;
    for (let i = 0; i < sums.length; i++) {
      if (present[i] === 0) continue;
      const value = values[i] as number;
      const sum = sums[i] as number;
      const total = sum + value;
      counts[i] = (counts[i] as number) + 1;
      if ((this.#carried !== null && this.#carried[i] === 1) || isInfinite(total)) {
        if (seen[i] === 1) this.#carry(i, value);
        else sums[i] = value;
      } else {
        sums[i] = total;
        corrections[i] = correctionAfter(corrections[i] as number, sum, value, total);
      }
      seen[i] = 1;
    }
  }

  #carry(i: number, value: number): void {
    const means = this.#column.values;
    const corrections = this.#corrections;
    const count = this.#counts[i] as number;
    this.#carried ??= takePresence(means.length, this.#budget);
    if (this.#carried[i] === 0) {
      this.#carried[i] = 1;
      means[i] = (means[i] as number) / (count - 1);
      corrections[i] = (corrections[i] as number) / (count - 1);
    }
    const share = (count - 1) / count;
    const mean = share * (means[i] as number);
    const part = value / count;
    const total = mean + part;
    corrections[i] = correctionAfter(share * (corrections[i] as number), mean, part, total);
    means[i] = total;
  }

  finish(): Column {
    const { values } = this.#column;
    for (let i = 0; i < values.length; i++) {
      const count = this.#carried?.[i] === 1 ? 1 : (this.#counts[i] as number);
      values[i] = (values[i] as number) / count + (this.#corrections[i] as number) / count;
    }
    giveBack(this.#budget, this.#corrections, this.#counts);
    if (this.#carried !== null) giveBack(this.#budget, this.#carried);
    return this.#column;
  }
}

function isInfinite(value: number): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
}
