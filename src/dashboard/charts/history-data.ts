/**
 * Data of a history chart, from the answer of QueryVMMonitoring: pure. The answer's own bounds and
 * step hold. Each step has a value or `null`; nothing is drawn through a `null`, and a value
 * between two of them is a dot, because a line of one point cannot be seen.
 */
import type { ResponseOf } from '../data/rpc-types.ts';

/** The answer as the service sends it, in proto3 JSON. */
export type HistoryAnswer = ResponseOf<'MonitoringService', 'queryVMMonitoring'>;
type Series = HistoryAnswer['series'][number];

/** One series, a value for each of the chart's times. */
export interface HistoryColumn {
  /** Its labels in words, such as `/var`; empty for the VM's sum. */
  readonly name: string;
  readonly unit: string;
  readonly values: readonly (number | null)[];
  /** Least and greatest of each step; undefined where the answer has none. */
  readonly least: readonly (number | null)[] | undefined;
  readonly greatest: readonly (number | null)[] | undefined;
  /** Positions of values without a neighbour: dots. */
  readonly lone: readonly number[];
}

/** A stretch without a reading, within the chart. */
export interface HistoryGap {
  readonly startUnix: number;
  readonly endUnix: number;
  /** As the service says it, such as `NO_SAMPLES`. */
  readonly reason: string;
}

/** One metric's columns on a shared grid of times; each column is as long as `times`. */
export interface HistoryData {
  /** Unix seconds, in even steps from the answer's start to its end. */
  readonly times: readonly number[];
  readonly stepSeconds: number;
  readonly columns: readonly HistoryColumn[];
  readonly gaps: readonly HistoryGap[];
  /** The newest value in the range; undefined = none. */
  readonly last: { readonly timeUnix: number; readonly value: number } | undefined;
}

/** Readings are a step long where the step is the sampling interval; above it they are averages. */
export const SAMPLING_SECONDS = 30;

/** The chart of one metric of an answer. */
export function historyData(answer: HistoryAnswer, metricId: string): HistoryData {
  const { stepSeconds } = answer;
  const start = Number(answer.startTimeUnix);
  const end = Number(answer.endTimeUnix);
  const count = stepSeconds > 0 ? Math.floor((end - start) / stepSeconds) + 1 : 0;
  const times = Array.from({ length: Math.max(0, count) }, (_, i) => start + i * stepSeconds);
  const columns = answer.series
    .filter((series) => series.metricId === metricId)
    .map((series) => columnOf(series, { start, stepSeconds, count: times.length }));
  // The age of the readings is known while there is none.
  const gaps = metricId === 'telemetry_age_seconds' ? [] : gapsOf(answer, start, end);
  return { times, stepSeconds, columns, gaps, last: lastOf(times, columns, gaps) };
}

interface Grid {
  readonly start: number;
  readonly stepSeconds: number;
  readonly count: number;
}

function columnOf(series: Series, grid: Grid): HistoryColumn {
  const values = emptySteps(grid);
  const least = emptySteps(grid);
  const greatest = emptySteps(grid);
  for (const { timeUnix, value, min, max } of series.points) {
    const i = Math.round((Number(timeUnix) - grid.start) / grid.stepSeconds);
    // The answer's points lie in its bounds; one that does not is of no step of this chart.
    if (i < 0 || i >= grid.count) continue;
    values[i] = value ?? null;
    least[i] = min ?? null;
    greatest[i] = max ?? null;
  }
  const hasExtremes = least.some((value) => value !== null);
  return {
    name: nameOf(series.labels),
    unit: series.unit,
    values,
    least: hasExtremes ? least : undefined,
    greatest: hasExtremes ? greatest : undefined,
    lone: loneOf(values),
  };
}

/** A filesystem by its mount, then its type; anything else by what its labels say. */
function nameOf({ mountpoint, ...others }: Series['labels']): string {
  const rest = Object.values(others).join(', ');
  if (mountpoint === undefined) return rest;
  return rest === '' ? mountpoint : `${mountpoint} (${rest})`;
}

function emptySteps({ count }: Grid): (number | null)[] {
  return Array.from({ length: count }, () => null);
}

function loneOf(values: readonly (number | null)[]): number[] {
  const isAbsent = (i: number): boolean => (values[i] ?? null) === null;
  return values.flatMap((value, i) =>
    value !== null && isAbsent(i - 1) && isAbsent(i + 1) ? [i] : [],
  );
}

function gapsOf({ quality }: HistoryAnswer, start: number, end: number): HistoryGap[] {
  return (quality?.gaps ?? []).flatMap(({ startUnix, endUnix, reason }) => {
    const from = Math.max(start, Number(startUnix));
    const to = Math.min(end, Number(endUnix));
    return from < to ? [{ startUnix: from, endUnix: to, reason }] : [];
  });
}

/** A step's time is its end: a gap that begins within the step began with the reading itself. */
function lastOf(
  times: readonly number[],
  columns: readonly HistoryColumn[],
  gaps: readonly HistoryGap[],
): HistoryData['last'] {
  const at = newestAt(columns);
  const timeUnix = times[at];
  const value = columns[0]?.values[at];
  if (typeof value !== 'number' || timeUnix === undefined) return undefined;
  const since = gapAt(gaps, times.at(-1) ?? timeUnix)?.startUnix ?? timeUnix;
  return { timeUnix: Math.min(timeUnix, since), value };
}

/** Position of the newest value; -1 = there is none. */
export function newestAt([column]: readonly Pick<HistoryColumn, 'values'>[]): number {
  return column?.values.findLastIndex((value) => value !== null) ?? -1;
}

/** The gap that covers a time, if any. */
export function gapAt(gaps: readonly HistoryGap[], timeUnix: number): HistoryGap | undefined {
  return gaps.find(({ startUnix, endUnix }) => timeUnix > startUnix && timeUnix <= endUnix);
}
