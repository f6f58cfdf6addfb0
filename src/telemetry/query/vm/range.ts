/**
 * Checks a request for one VM's history: metrics that exist, and a range whose bounds are checked,
 * counted and clamped before anything is read.
 */

import { invalidField, Refusal } from '../../../../streams/platform/refusal.ts';
import { metricCatalogue } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { POINTS_MAX, STEP_MS_MIN } from '../threads/limits.ts';

/** The range as requested. Times are Unix seconds; absent = not sent. */
export interface RequestedRange {
  readonly startSeconds: number | undefined;
  readonly endSeconds: number | undefined;
  readonly stepSeconds: number;
}

/** The range in effect: first and last point, both inclusive, Unix ms. */
export interface QueryRange {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  /** Retention bound: nothing older is read, Unix ms. */
  readonly retainedFromMs: number;
}

const STEP_SECONDS_MIN = STEP_MS_MIN / 1000;
const STEP_SECONDS_MAX = 7 * 86_400;

/**
 * The range in effect: the start is clamped to the retention, the end to now and then to the last
 * point of the grid that begins at the start. Throws a `Refusal`: INVALID_FIELD, TOO_MANY_POINTS.
 */
export function rangeOf(requested: RequestedRange, nowMs: number, retentionMs: number): QueryRange {
  const { stepSeconds } = requested;
  const start = present('startTimeUnix', requested.startSeconds);
  const end = present('endTimeUnix', requested.endSeconds);
  if (stepSeconds < STEP_SECONDS_MIN || stepSeconds > STEP_SECONDS_MAX) {
    const bounds = `${STEP_SECONDS_MIN} to ${STEP_SECONDS_MAX}`;
    throw invalidField(
      'stepSeconds',
      `stepSeconds is ${stepSeconds}: send whole seconds from ${bounds}`,
    );
  }
  if (end < start) {
    throw invalidField('endTimeUnix', `endTimeUnix ${end} is before startTimeUnix ${start}`);
  }
  const points = Math.floor((end - start) / stepSeconds) + 1;
  if (points > POINTS_MAX) throw tooManyPoints(points, end - start);
  const now = Math.floor(nowMs / 1000);
  const retainedFromMs = nowMs - retentionMs;
  const first = Math.max(start, Math.ceil(retainedFromMs / 1000));
  if (end < first) {
    throw invalidField(
      'endTimeUnix',
      `endTimeUnix ${end} is before the ${retentionMs / 86_400_000} days of history: ${first}`,
    );
  }
  if (first > now) {
    throw invalidField(
      'startTimeUnix',
      `startTimeUnix ${start} is in the future: the current time is ${now}`,
    );
  }
  const steps = Math.floor((Math.min(end, now) - first) / stepSeconds);
  return {
    startMs: first * 1000,
    endMs: (first + steps * stepSeconds) * 1000,
    stepMs: stepSeconds * 1000,
    retainedFromMs,
  };
}

/** The requested metrics, each once. Throws a `Refusal`: INVALID_FIELD for none, UNKNOWN_METRIC. */
export function checkMetricIds(metricIds: readonly string[]): string[] {
  if (metricIds.length === 0) {
    throw invalidField('metricIds', 'metricIds is empty: name at least one metric');
  }
  for (const metricId of metricIds) {
    if (metricCatalogue.has(metricId)) continue;
    const known = [...metricCatalogue.keys()].join(', ');
    const seen = metricId.slice(0, 100);
    const message = `There is no metric "${seen}". Known metrics: ${known}`;
    throw new Refusal('UNKNOWN_METRIC', message, { metricId: seen, known, field: 'metricIds' });
  }
  return [...new Set(metricIds)];
}

function present(field: string, value: number | undefined): number {
  if (value === undefined) {
    throw invalidField(field, `${field} is missing: send Unix seconds as a decimal string`);
  }
  if (Number.isSafeInteger(value) && value >= 0 && value <= TIME_SECONDS_MAX) return value;
  throw invalidField(field, `${field} is ${value}: send Unix seconds, not milliseconds`);
}

/** The year 5138: greater values are milliseconds. */
const TIME_SECONDS_MAX = 100_000_000_000;

function tooManyPoints(points: number, seconds: number): Refusal {
  const stepMin = Math.floor(seconds / POINTS_MAX) + 1;
  const message = `The range has ${points} points per series, more than ${POINTS_MAX}: use a step of at least ${stepMin} seconds, or a shorter range`;
  return new Refusal('TOO_MANY_POINTS', message, {
    points: String(points),
    limit: String(POINTS_MAX),
    stepSecondsMin: String(stepMin),
  });
}
