/**
 * Data of a history chart from a QueryVMMonitoring response. Pure. Bounds and step are those of the
 * response. Each step has a value or `null`; no line crosses a `null`. A value between two `null`s
 * is drawn as a dot, because a line of one point is invisible.
 */
import type { ResponseOf } from '../data/rpc-types.ts';

/** The response in proto3 JSON. */
export type HistoryAnswer = ResponseOf<'MonitoringService', 'queryVMMonitoring'>;
type Series = HistoryAnswer['series'][number];

/** One series, with one value per time of the chart. */
export interface HistoryColumn {
  /** Labels in words, such as `/var`; empty for the VM's total. */
  readonly name: string;
  readonly unit: string;
  readonly values: readonly (number | null)[];
  /** Minimum and maximum of each step; undefined if the response has none. */
  readonly least: readonly (number | null)[] | undefined;
  readonly greatest: readonly (number | null)[] | undefined;
  /** Positions of values without neighbours, drawn as dots. */
  readonly lone: readonly number[];
}

/** An interval without readings, within the chart. */
export interface HistoryGap {
  readonly startUnix: number;
  readonly endUnix: number;
  /** Reason as sent by the service, such as `NO_SAMPLES`. */
  readonly reason: string;
}

/** Columns of one metric on a shared time grid; each is as long as `times`. */
export interface HistoryData {
  /** Unix seconds, evenly spaced from the start of the response to its end. */
  readonly times: readonly number[];
  readonly stepSeconds: number;
  readonly columns: readonly HistoryColumn[];
  readonly gaps: readonly HistoryGap[];
  /** Newest value in the range; undefined if absent. */
  readonly last: { readonly timeUnix: number; readonly value: number } | undefined;
}

/** Sampling interval. Points of a longer step are averages. */
export const SAMPLING_SECONDS = 30;

/** The chart of one metric of a response. */
export function historyData(answer: HistoryAnswer, metricId: string): HistoryData {
  const { stepSeconds } = answer;
  const start = Number(answer.startTimeUnix);
  const end = Number(answer.endTimeUnix);
  const count = stepSeconds > 0 ? Math.floor((end - start) / stepSeconds) + 1 : 0;
  const times = Array.from({ length: Math.max(0, count) }, (_, i) => start + i * stepSeconds);
  const columns = answer.series
    .filter((series) => series.metricId === metricId)
    .map((series) => columnOf(series, { start, stepSeconds, count: times.length }));
  // The age of readings is known even while readings are missing.
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
    // Points lie within the response's bounds. Any other point belongs to no step of this chart.
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

/** A filesystem by its mount point, then its type; other series by their labels. */
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

/**
 * The time of a step is its end, so a gap that begins within the step begins at the reading itself.
 */
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

/** Position of the newest value; -1 if there is none. */
export function newestAt([column]: readonly Pick<HistoryColumn, 'values'>[]): number {
  return column?.values.findLastIndex((value) => value !== null) ?? -1;
}

/** The gap that covers a time, if any. */
export function gapAt(gaps: readonly HistoryGap[], timeUnix: number): HistoryGap | undefined {
  return gaps.find(({ startUnix, endUnix }) => timeUnix > startUnix && timeUnix <= endUnix);
}
