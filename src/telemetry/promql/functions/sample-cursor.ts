/**
 * A place among the samples of a series, counted over all its runs. It moves forward alone, so that
 * a walk over all windows looks at each run once, without ever joining the runs.
 */
import type { SampleRun } from '../series-source.ts';

export class SampleCursor {
  readonly #runs: readonly SampleRun[];
  #run = 0;
  #base = 0;
  #end: number;
  #times: Float64Array;
  #values: Float64Array;

  constructor(runs: readonly SampleRun[]) {
    const first = runs[0];
    if (first === undefined) throw new RangeError('A series without a run has no samples');
    this.#runs = runs;
    this.#times = first.timesMs;
    this.#values = first.values;
    this.#end = first.values.length;
  }

  /** To the run of sample `index`; never back to one before it. */
  moveTo(index: number): void {
    while (index >= this.#end) {
      const next = this.#runs[++this.#run];
      if (next === undefined) throw new RangeError(`There is no sample ${index}`);
      this.#base = this.#end;
      this.#end += next.values.length;
      this.#times = next.timesMs;
      this.#values = next.values;
    }
  }

  /** Of a sample in the run that the cursor was moved to. */
  timeMs(index: number): number {
    return this.#times[index - this.#base] as number;
  }

  value(index: number): number {
    return this.#values[index - this.#base] as number;
  }
}
