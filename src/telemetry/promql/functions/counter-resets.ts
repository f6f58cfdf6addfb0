/**
 * Where a counter falls, which is where it began again at 0. Found once for a run and kept as long
 * as the run's values live: runs come out of a cache and are the same objects from query to query,
 * so that the increase over a window without a reset needs its two ends alone.
 */
import type { Budget } from '../budget.ts';
import type { SampleRun } from '../series-source.ts';
import type { WindowBounds } from './window-bounds.ts';

/** What to add to the difference of two samples for the resets between them. */
export interface Corrections {
  /** Samples that are looked at to know the resets, all windows together. */
  readonly samples: number;
  /**
   * For a window of samples [from, to), by position over all runs, added to `change` in order.
   * `from` must not fall from call to call.
   */
  addTo(change: number, from: number, to: number): number;
  /** After use. */
  giveBack(): void;
}

/** The cheaper way for these windows: to know all resets of the runs, or to look at each window. */
export function correctionsOf(
  runs: readonly SampleRun[],
  bounds: WindowBounds,
  budget: Budget,
): Corrections {
  let unknown = 0;
  for (const { values } of runs) if (!resetsByValues.has(values)) unknown += values.length;
  if (unknown > bounds.visits) return new WindowScan(runs, bounds);
  return new KnownResets(runs, bounds, budget);
}

const NONE = new Int32Array(0);
const resetsByValues = new WeakMap<Float64Array, Int32Array>();

/** Places in `values` that are lower than the place before. */
function resetsOf(values: Float64Array): Int32Array {
  const known = resetsByValues.get(values);
  if (known !== undefined) return known;
  let count = 0;
  for (let i = 1; i < values.length; i++) {
    if ((values[i] as number) < (values[i - 1] as number)) count++;
  }
  const resets = count === 0 ? NONE : new Int32Array(count);
  for (let i = 1, at = 0; at < count; i++) {
    if ((values[i] as number) < (values[i - 1] as number)) resets[at++] = i;
  }
  resetsByValues.set(values, resets);
  return resets;
}

/** Of one reset: its position, and the value lost. */
const RESET_BYTES = 12;

class KnownResets implements Corrections {
  /** Position of the sample after each reset, and the value lost by it. */
  readonly #positions: Int32Array;
  readonly #lost: Float64Array;
  readonly #budget: Budget;
  readonly samples: number;
  #count = 0;
  #next = 0;

  constructor(runs: readonly SampleRun[], bounds: WindowBounds, budget: Budget) {
    // One more a run, for a fall from the run before to it.
    const most = runs.reduce((sum, { values }) => sum + resetsOf(values).length + 1, -1);
    budget.takeBytes(most * RESET_BYTES);
    this.#positions = new Int32Array(most);
    this.#lost = new Float64Array(most);
    this.#budget = budget;
    let base = 0;
    let before = Number.NaN;
    for (const { values } of runs) {
      if ((values[0] as number) < before) this.#push(base, before);
      for (const at of resetsOf(values)) this.#push(base + at, values[at - 1] as number);
      before = values[values.length - 1] as number;
      base += values.length;
    }
    this.samples = this.#count === 0 ? 0 : bounds.visits;
  }

  giveBack(): void {
    this.#budget.giveBackBytes(this.#positions.length * RESET_BYTES);
  }

  #push(position: number, lost: number): void {
    this.#positions[this.#count] = position;
    this.#lost[this.#count++] = lost;
  }

  addTo(change: number, from: number, to: number): number {
    const positions = this.#positions;
    const count = this.#count;
    if (this.#next === count) return change;
    while (this.#next < count && (positions[this.#next] as number) <= from) this.#next++;
    let corrected = change;
    for (let i = this.#next; i < count && (positions[i] as number) < to; i++) {
      corrected += this.#lost[i] as number;
    }
    return corrected;
  }
}

class WindowScan implements Corrections {
  readonly #runs: readonly SampleRun[];
  #run = 0;
  readonly samples: number;
  #base = 0;

  constructor(runs: readonly SampleRun[], bounds: WindowBounds) {
    this.#runs = runs;
    this.samples = bounds.visits;
  }

  addTo(change: number, from: number, to: number): number {
    while (from >= this.#base + this.#valuesOf(this.#run).length) {
      this.#base += this.#valuesOf(this.#run++).length;
    }
    let corrected = change;
    let before = Number.NaN;
    let base = this.#base;
    for (let run = this.#run; base < to; run++) {
      const values = this.#valuesOf(run);
      const end = Math.min(values.length, to - base);
      for (let i = Math.max(0, from - base); i < end; i++) {
        const value = values[i] as number;
        if (value < before) corrected += before;
        before = value;
      }
      base += values.length;
    }
    return corrected;
  }

  giveBack(): void {
    // It keeps nothing.
  }

  #valuesOf(run: number): Float64Array {
    return (this.#runs[run] as SampleRun).values;
  }
}
