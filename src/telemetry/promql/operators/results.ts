/**
 * Columns as an answer: the points that exist and no others. Absent steps are left out, never
 * filled.
 */
import type { Budget } from '../budget.ts';
import { takeValues } from '../column-memory.ts';
import type { ResultData, ResultSeries } from '../engine.ts';
import { compareLabels, Labels } from '../labels.ts';
import type { Grid, RangeSeries, RangeValue, Value } from '../values.ts';
import { stepTime } from './columns.ts';
import { compact } from './selection/subquery.ts';

type MatrixData = Extract<ResultData, { type: 'matrix' }>;

/** From a value of one step. */
export function instantData(value: Value, timeMs: number): ResultData {
  switch (value.type) {
    case 'scalar':
      return { type: 'scalar', timeMs, value: value.values[0] ?? Number.NaN };
    case 'string':
      return { type: 'string', timeMs, value: value.value };
    case 'vector': {
      const samples = value.series
        .filter(({ present }) => present[0] === 1)
        .map(({ labels, values }) => ({ labels, value: values[0] ?? Number.NaN }));
      return { type: 'vector', timeMs, samples };
    }
  }
}

/** All that lies in the one window. */
export function matrixOfRange({ series }: RangeValue, budget: Budget): MatrixData {
  return sorted(
    series.map(({ labels, runs }) => ({ labels, ...joined(runs, budget) })),
    budget,
  );
}

/** A scalar is one series without labels. Series share their array of times where they have all. */
export function matrixOfSteps(value: Value, grid: Grid, budget: Budget): MatrixData {
  if (value.type === 'string') return sorted([], budget);
  const timesMs = takeValues(grid.count, budget);
  for (let i = 0; i < grid.count; i++) timesMs[i] = stepTime(grid, i);
  if (value.type === 'scalar') {
    return sorted([{ labels: Labels.empty, timesMs, values: value.values }], budget);
  }
  const series = value.series.flatMap(({ labels, values, present }) => {
    budget.check();
    const points = compact({ timesMs, values, present }, budget);
    if (points.timesMs.length === 0) return [];
    return [{ labels, timesMs: points.timesMs, values: points.values }];
  });
  return sorted(series, budget);
}

function joined(runs: RangeSeries['runs'], budget: Budget): Omit<ResultSeries, 'labels'> {
  const [first, second] = runs;
  if (first !== undefined && second === undefined) {
    return { timesMs: first.timesMs, values: first.values };
  }
  const count = runs.reduce((sum, { timesMs }) => sum + timesMs.length, 0);
  const timesMs = takeValues(count, budget);
  const values = takeValues(count, budget);
  let at = 0;
  for (const run of runs) {
    timesMs.set(run.timesMs, at);
    values.set(run.values, at);
    at += run.timesMs.length;
  }
  return { timesMs, values };
}

function sorted(series: ResultSeries[], budget: Budget): MatrixData {
  series.sort((a, b) => {
    budget.takeWork();
    return compareLabels(a.labels, b.labels);
  });
  return { type: 'matrix', series };
}
