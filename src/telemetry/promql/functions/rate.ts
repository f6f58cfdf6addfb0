/**
 * Rates of change of a series: rate, increase and delta from a window's ends, extrapolated to the
 * window's limits; irate and idelta from its last two samples. All touch two samples a step,
 * however many the window holds (Prometheus 3.5, `extrapolatedRate` and `instantValue`).
 */

import { goQuoteCut } from '../format-go.ts';
import type { RangeSeries } from '../values.ts';
import { argumentSpan, rangeArgument } from './arguments.ts';
import { type Corrections, correctionsOf } from './counter-resets.ts';
import type { CallContext, PromqlFunction } from './function.ts';
import { SampleCursor } from './window-bounds.ts';
import { evaluateWindows, type SeriesKernel } from './windows.ts';

interface ChangeOptions {
  readonly isCounter: boolean;
  readonly perSecond: boolean;
}

const RATE: ChangeOptions = { isCounter: true, perSecond: true };
const INCREASE: ChangeOptions = { isCounter: true, perSecond: false };
const GAUGE: ChangeOptions = { isCounter: false, perSecond: false };

export const rateFunctions: Readonly<Record<string, PromqlFunction>> = {
  rate: (context) => counterChange(context, RATE),
  increase: (context) => counterChange(context, INCREASE),
  delta: (context) => {
    const series = evaluateWindows(context, rangeArgument(context, 0), changeKernel(GAUGE));
    return { type: 'vector', series };
  },
  irate: (context) => {
    const series = evaluateWindows(context, rangeArgument(context, 0), lastChangeKernel(RATE));
    return { type: 'vector', series };
  },
  idelta: (context) => {
    const series = evaluateWindows(context, rangeArgument(context, 0), lastChangeKernel(GAUGE));
    return { type: 'vector', series };
  },
};

const COUNTER_NAME = /(_total|_sum|_count|_bucket)$/;
const NOT_A_COUNTER =
  'metric might not be a counter, name does not end in _total/_sum/_count/_bucket:';

function counterChange(context: CallContext, options: ChangeOptions): ReturnType<PromqlFunction> {
  const span = argumentSpan(context, 0);
  const onSeries = ({ labels: { name } }: RangeSeries) => {
    if (name === '' || COUNTER_NAME.test(name)) return;
    context.annotations.info(`${NOT_A_COUNTER} ${goQuoteCut(name)}`, span);
  };
  const range = rangeArgument(context, 0);
  const series = evaluateWindows(context, range, changeKernel(options), { onSeries });
  return { type: 'vector', series };
}

function changeKernel({ isCounter, perSecond }: ChangeOptions): SeriesKernel {
  return ({ runs, bounds, range, budget }, out) => {
    const first = new SampleCursor(runs);
    const last = new SampleCursor(runs);
    const corrections: Corrections | null = isCounter ? correctionsOf(runs, bounds, budget) : null;
    budget.takeSamples(2 * bounds.count + (corrections?.samples ?? 0));
    const { rangeMs, endsMs } = range;
    const divisor = perSecond ? rangeMs / 1000 : 1;
    const { from, to, count } = bounds;
    for (let step = 0; step < count; step++) {
      const a = from[step] as number;
      const b = (to[step] as number) - 1;
      if (b <= a) continue;
      first.moveTo(a);
      last.moveTo(b);
      const firstMs = first.timeMs(a);
      const lastMs = last.timeMs(b);
      const firstValue = first.value(a);
      let change = last.value(b) - firstValue;
      if (corrections !== null) change = corrections.addTo(change, a, b + 1);
      const endMs = endsMs[step] as number;
      const sampled = (lastMs - firstMs) / 1000;
      const toStart = (firstMs - (endMs - rangeMs)) / 1000;
      const toEnd = (endMs - lastMs) / 1000;
      const climbs = isCounter && change > 0 && firstValue >= 0;
      const toZero = climbs ? sampled * (firstValue / change) : Number.POSITIVE_INFINITY;
      const stretch = extrapolation(sampled, b - a, toStart, toEnd, toZero);
      const factor = stretch / sampled / divisor;
      out.values[step] = change * factor;
      out.present[step] = 1;
    }
    corrections?.giveBack();
  };
}

/** A sample is expected within the usual distance; a tenth more is still taken for jitter. */
const TOLERATED_DISTANCE = 1.1;

/**
 * The time that a change over `sampled` seconds stands for. Up to the window's limits, `toStart`
 * and `toEnd` seconds away, where samples come as close to them as they come to each other, else
 * half such a distance beyond; and not to before a counter was 0, `toZero` seconds ahead of the
 * first sample.
 */
function extrapolation(
  sampled: number,
  distances: number,
  toStart: number,
  toEnd: number,
  toZero: number,
): number {
  const distance = sampled / distances;
  const threshold = distance * TOLERATED_DISTANCE;
  const before = toStart >= threshold ? distance / 2 : toStart;
  const after = toEnd >= threshold ? distance / 2 : toEnd;
  return sampled + (toZero < before ? toZero : before) + after;
}

function lastChangeKernel({ isCounter, perSecond }: ChangeOptions): SeriesKernel {
  return ({ runs, bounds, budget }, out) => {
    budget.takeSamples(2 * bounds.count);
    const before = new SampleCursor(runs);
    const last = new SampleCursor(runs);
    const { from, to, count } = bounds;
    for (let step = 0; step < count; step++) {
      const at = (to[step] as number) - 1;
      if (at <= (from[step] as number)) continue;
      before.moveTo(at - 1);
      last.moveTo(at);
      const previous = before.value(at - 1);
      const value = last.value(at);
      // After a reset the counter has come from 0.
      const change = isCounter && value < previous ? value : value - previous;
      const seconds = (last.timeMs(at) - before.timeMs(at - 1)) / 1000;
      out.values[step] = perSecond ? change / seconds : change;
      out.present[step] = 1;
    }
  };
}
