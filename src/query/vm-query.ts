/**
 * The history of one VM's metrics: bounds checked and clamped, one read of the rows that all the
 * metrics need, then each metric's points. A step without an observation has no point; nothing in
 * here makes up a value.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RETENTION_MS } from '../../streams/evaluation/entry.ts';
import { metricCatalogue } from '../../streams/metrics/catalogue.ts';
import { queryMetric, readFromMs, seriesNamesOf } from '../../streams/metrics/query.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { HistoryReader } from '../../streams/samples/columns.ts';
import type { MetricAnswer } from './quality.ts';

/** As asked. Times are Unix seconds; absent = not sent. */
export interface RequestedRange {
  readonly startSeconds: number | undefined;
  readonly endSeconds: number | undefined;
  readonly stepSeconds: number;
}

/** As used: first and last point, both inclusive, Unix ms. */
export interface QueryRange {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  /** Nothing older is read, Unix ms. */
  readonly retainedFromMs: number;
}

const STEP_SECONDS_MIN = 30;
const STEP_SECONDS_MAX = 7 * 86_400;
/** Points a series, counted over the range as requested, both ends (interface, section 8). */
const POINTS_MAX = 10_000;
/** Least bytes of a point in an answer of at most 4 MiB: more points cannot fit, whatever they say. */
const POINT_BYTES_MIN = 15;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The range that is answered: the start clamped to retention, the end to now and then to the last
 * point of the grid that begins at the start. Throws a `Refusal`: INVALID_FIELD, TOO_MANY_POINTS.
 */
export function rangeOf(requested: RequestedRange, nowMs: number): QueryRange {
  const { stepSeconds } = requested;
  const start = present('startTimeUnix', requested.startSeconds);
  const end = present('endTimeUnix', requested.endSeconds);
  if (stepSeconds < STEP_SECONDS_MIN || stepSeconds > STEP_SECONDS_MAX) {
    const bounds = `${STEP_SECONDS_MIN} to ${STEP_SECONDS_MAX}`;
    throw invalid('stepSeconds', `stepSeconds is ${stepSeconds}: whole seconds from ${bounds}`);
  }
  if (end < start) {
    throw invalid('endTimeUnix', `endTimeUnix ${end} is before startTimeUnix ${start}`);
  }
  const points = Math.floor((end - start) / stepSeconds) + 1;
  if (points > POINTS_MAX) throw tooManyPoints(points);
  const now = Math.floor(nowMs / 1000);
  const retainedFromMs = nowMs - RETENTION_MS;
  const first = Math.max(start, Math.ceil(retainedFromMs / 1000));
  if (end < first) {
    throw invalid('endTimeUnix', `endTimeUnix ${end} is before the 7 days of history: ${first}`);
  }
  if (first > now) {
    throw invalid('startTimeUnix', `startTimeUnix ${start} is in the future: it is ${now} now`);
  }
  const steps = Math.floor((Math.min(end, now) - first) / stepSeconds);
  return {
    startMs: first * 1000,
    endMs: (first + steps * stepSeconds) * 1000,
    stepMs: stepSeconds * 1000,
    retainedFromMs,
  };
}

/** The metrics as asked, each once. Throws a `Refusal`: INVALID_FIELD for none, UNKNOWN_METRIC. */
export function checkMetricIds(metricIds: readonly string[]): string[] {
  if (metricIds.length === 0) {
    throw invalid('metricIds', 'metricIds is empty: name at least one metric');
  }
  for (const metricId of metricIds) {
    if (metricCatalogue.has(metricId)) continue;
    const ids = [...metricCatalogue.keys()].join(', ');
    const seen = metricId.slice(0, 100);
    const message = `There is no metric "${seen}"; known: ${ids}`;
    throw new Refusal('UNKNOWN_METRIC', message, { metricId: seen, field: 'metricIds' });
  }
  return [...new Set(metricIds)];
}

/**
 * Reads once, derives each metric. Between metrics other work gets its turn: a week of one metric
 * takes milliseconds of this thread. Throws what the read throws, the reason of `signal`, and a
 * `Refusal` RESPONSE_TOO_LARGE.
 */
export async function queryMetrics(
  history: HistoryReader,
  query: {
    readonly project: string;
    readonly vm: string;
    readonly metricIds: readonly string[];
    readonly range: QueryRange;
    readonly signal: AbortSignal;
  },
): Promise<MetricAnswer[]> {
  const { project, vm, metricIds, range, signal } = query;
  const names = [...new Set(metricIds.flatMap(seriesNamesOf))];
  const fromMs = Math.max(readFromMs(range), range.retainedFromMs);
  const columns = await history.read({ project, vm, fromMs, toMs: range.endMs, names, signal });
  const answers: MetricAnswer[] = [];
  let points = 0;
  for (const metricId of metricIds) {
    signal.throwIfAborted();
    const answer = queryMetric({ columns, metricId, ...range });
    answers.push({ metricId, ...answer });
    points += answer.series.reduce((sum, series) => sum + series.points.length, 0);
    if (points * POINT_BYTES_MIN > ANSWER_BYTES_MAX) throw tooLarge(points);
    await nextTurn();
  }
  return answers;
}

function present(field: string, value: number | undefined): number {
  if (value === undefined) {
    throw invalid(field, `${field} is missing: Unix seconds, as a decimal string`);
  }
  if (Number.isSafeInteger(value) && value >= 0 && value <= TIME_SECONDS_MAX) return value;
  throw invalid(field, `${field} is ${value}: Unix seconds, not milliseconds`);
}

/** The year 5138: what is beyond it are milliseconds. */
const TIME_SECONDS_MAX = 100_000_000_000;

function tooManyPoints(points: number): Refusal {
  const message = `The range has ${points} points a series; ${POINTS_MAX} at most: take a larger step`;
  return new Refusal('TOO_MANY_POINTS', message, {
    points: String(points),
    limit: String(POINTS_MAX),
  });
}

function tooLarge(points: number): Refusal {
  const message = `${points} points and more do not fit into 4 MiB: ask for fewer metrics or points`;
  return new Refusal('RESPONSE_TOO_LARGE', message);
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}
