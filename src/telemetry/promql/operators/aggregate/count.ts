/**
 * `count` and `group`: aggregations that look at presence alone.
 */
import type { Budget } from '../../budget.ts';
import { takeColumn } from '../../column-memory.ts';
import type { Column } from '../../values.ts';
import type { Accumulator } from './accumulator.ts';

export class Count implements Accumulator {
  readonly #column: Column;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
  }

  add({ present }: Column): void {
    const { values: counts, present: seen } = this.#column;
    for (let i = 0; i < counts.length; i++) {
      counts[i] = (counts[i] as number) + (present[i] as number);
      seen[i] = (seen[i] as number) | (present[i] as number);
    }
  }

  finish(): Column {
    return this.#column;
  }
}

/** `group`: 1 wherever any member is present. */
export class Presence implements Accumulator {
  readonly #column: Column;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
    this.#column.values.fill(1);
  }

  add({ present }: Column): void {
    const { present: seen } = this.#column;
    for (let i = 0; i < seen.length; i++) seen[i] = (seen[i] as number) | (present[i] as number);
  }

  finish(): Column {
    return this.#column;
  }
}
