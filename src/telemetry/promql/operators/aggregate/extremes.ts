/**
 * `min` and `max` of the members present.
 */
import type { Budget } from '../../budget.ts';
import { takeColumn } from '../../column-memory.ts';
import type { Column } from '../../values.ts';
import type { Accumulator } from './accumulator.ts';

/** NaN gives way to every number. */
export class Minimum implements Accumulator {
  readonly #column: Column;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
    this.#column.values.fill(Number.NaN);
  }

  add({ values, present }: Column): void {
    const { values: least, present: seen } = this.#column;
    for (let i = 0; i < least.length; i++) {
      if (present[i] === 0) continue;
      seen[i] = 1;
      const value = values[i] as number;
      const before = least[i] as number;
      if (value < before || Number.isNaN(before)) least[i] = value;
    }
  }

  finish(): Column {
    return this.#column;
  }
}

/** NaN gives way to every number. */
export class Maximum implements Accumulator {
  readonly #column: Column;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
    this.#column.values.fill(Number.NaN);
  }

  add({ values, present }: Column): void {
    const { values: greatest, present: seen } = this.#column;
    for (let i = 0; i < greatest.length; i++) {
      if (present[i] === 0) continue;
      seen[i] = 1;
      const value = values[i] as number;
      const before = greatest[i] as number;
      if (value > before || Number.isNaN(before)) greatest[i] = value;
    }
  }

  finish(): Column {
    return this.#column;
  }
}
