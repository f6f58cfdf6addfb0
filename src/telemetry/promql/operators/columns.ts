/**
 * Columns between operators. They may share arrays with each other (a filter keeps
 * its input's values), because nobody writes to a column that was handed on; the memory of an array
 * is given back when the operator that read it has not handed it on.
 */
import type { Budget } from '../budget.ts';
import {
  arrayBytes,
  type ColumnArray,
  columnBytes,
  takePresence,
  takeValues,
} from '../column-memory.ts';
import type { Labels } from '../labels.ts';
import type { Grid, ScalarValue, SeriesColumn, Value, VectorValue } from '../values.ts';

/** Throws `PromqlError` execution, before any work, where a column for each series is too much. */
export function assertRoom(series: number, { count }: Pick<Grid, 'count'>, budget: Budget): void {
  const bytes = series * columnBytes(count);
  budget.takeBytes(bytes);
  budget.giveBackBytes(bytes);
}

export function constantScalar(value: number, count: number, budget: Budget): ScalarValue {
  return { type: 'scalar', values: takeValues(count, budget).fill(value) };
}

export function seriesColumn(labels: Labels, values: Float64Array, present: Uint8Array) {
  return { labels, values, present };
}

export function vectorOf(series: readonly SeriesColumn[]): VectorValue {
  return { type: 'vector', series };
}

/** Whether the column has a value at any step. */
export function isAnyPresent(present: Uint8Array): boolean {
  return present.includes(1);
}

/** Time of step `i`, Unix ms. */
export function stepTime(grid: Grid, i: number): number {
  return grid.startMs + i * grid.stepMs;
}

/** Calls `visit` with each array that the value holds. */
function visitArrays(value: Value, visit: (array: ColumnArray) => void): void {
  if (value.type === 'scalar') visit(value.values);
  if (value.type !== 'vector') return;
  for (const { values, present } of value.series) {
    visit(values);
    visit(present);
  }
}

/**
 * Arrays that outlive the operator which reads them: they are shared by many columns, or kept for
 * a second place of the expression.
 */
export class PinnedArrays {
  readonly #arrays = new Set<object>();
  readonly #allPresent = new Map<number, Uint8Array>();

  pin(value: Value): void {
    visitArrays(value, (array) => this.#arrays.add(array));
  }

  has(array: object): boolean {
    return this.#arrays.has(array);
  }

  /** The presence of whatever has a value at every step: one array for all such columns. */
  allPresent(count: number, budget: Budget): Uint8Array {
    let present = this.#allPresent.get(count);
    if (present === undefined) {
      present = takePresence(count, budget).fill(1);
      this.#allPresent.set(count, present);
      this.#arrays.add(present);
    }
    return present;
  }

  /** Gives back the memory of what an operator has read and did not hand on. */
  release(inputs: readonly Value[], output: Value | null, budget: Budget): void {
    const kept = new Set<object>();
    if (output !== null) visitArrays(output, (array) => kept.add(array));
    let bytes = 0;
    const count = (array: ColumnArray) => {
      if (kept.has(array) || this.#arrays.has(array)) return;
      kept.add(array);
      bytes += arrayBytes(array);
    };
    for (const input of inputs) visitArrays(input, count);
    budget.giveBackBytes(bytes);
  }
}
