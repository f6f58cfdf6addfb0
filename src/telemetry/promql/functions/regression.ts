/**
 * Linear regression over the samples of a window: its slope (deriv) and its extrapolated value
 * (predict_linear). Least squares with compensated sums (Prometheus 3.5, `linearRegression`).
 */
import { KahanSum } from '../kahan.ts';
import { rangeArgument, scalarArgument } from './arguments.ts';
import type { PromqlFunction, Window } from './function.ts';
import { evaluateWindows, overRuns, perWindow } from './windows.ts';

/**
 * `deriv` in units per second, `predict_linear` in the units of the series. Both need two samples
 * in the window.
 */
export const regressionFunctions: Readonly<Record<string, PromqlFunction>> = {
  deriv: (context) => {
    const line = new Regression();
    const kernel = perWindow((window) => {
      if (window.to - window.from < 2) return undefined;
      // The line's origin is near its samples, so that large times do not cost precision.
      line.fit(window, window.timesMs[window.from] as number);
      return line.slope;
    });
    const range = rangeArgument(context, 0);
    return { type: 'vector', series: evaluateWindows(context, range, overRuns(kernel)) };
  },
  predict_linear: (context) => {
    const aheadSeconds = scalarArgument(context, 1);
    const { startMs, stepMs } = context.grid;
    const line = new Regression();
    const kernel = perWindow((window, step) => {
      if (window.to - window.from < 2) return undefined;
      line.fit(window, step === 0 ? startMs : startMs + step * stepMs);
      return line.slope * (aheadSeconds[step] as number) + line.intercept;
    });
    const range = rangeArgument(context, 0);
    const series = evaluateWindows(context, range, overRuns(kernel), { dependsOnStep: true });
    return { type: 'vector', series };
  },
};

class Regression {
  /** Per second. */
  slope = 0;
  /** Value at the origin. */
  intercept = 0;
  readonly #x = new KahanSum();
  readonly #y = new KahanSum();
  readonly #xy = new KahanSum();
  readonly #xx = new KahanSum();

  /** Sets `slope` and `intercept`; needs at least two samples. */
  fit({ timesMs, values, from, to }: Window, originMs: number): void {
    const first = values[from] as number;
    let constant = true;
    for (const sum of [this.#x, this.#y, this.#xy, this.#xx]) sum.reset();
    for (let i = from; i < to; i++) {
      const x = ((timesMs[i] as number) - originMs) / 1000;
      const y = values[i] as number;
      if (i > from && y !== first) constant = false;
      this.#x.add(x);
      this.#y.add(y);
      this.#xy.add(x * y);
      this.#xx.add(x * x);
    }
    if (constant) this.#level(first);
    else this.#solve(to - from);
  }

  #level(value: number): void {
    const infinite = Math.abs(value) === Number.POSITIVE_INFINITY;
    this.slope = infinite ? Number.NaN : 0;
    this.intercept = infinite ? Number.NaN : value;
  }

  #solve(count: number): void {
    const x = this.#x.total;
    const y = this.#y.total;
    this.slope = (this.#xy.total - (x * y) / count) / (this.#xx.total - (x * x) / count);
    this.intercept = y / count - (this.slope * x) / count;
  }
}
