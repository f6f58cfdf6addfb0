/**
 * Data of the chart of deciding samples, from ExplainIncident or ExplainAlertInstance. Pure. It
 * uses one axis of observation time. Nothing is decided here: it only positions the decisions of
 * the service.
 */
import type { ResponseOf } from '../data/rpc-types.ts';
import { domainOf } from './axis.ts';

type Explanation = ResponseOf<'AlertService', 'explainIncident'>;
/** The rule's condition at the time of the decision. */
export type Condition = NonNullable<Explanation['condition']>;
/** One deciding observation. */
export type Sample = Explanation['window'][number];
/** An interval without observations, and whether the tolerance covers it. */
export type Gap = Explanation['gaps'][number];

/** Response of the service. Times are Unix ms, and undefined if the event did not happen. */
export interface WindowInput {
  readonly condition: Condition;
  readonly samples: readonly Sample[];
  readonly gaps: readonly Gap[];
  /** First breaching observation of the run; undefined if absent. */
  readonly startedMs?: number | undefined;
  /** Observation that completed the sustained duration. */
  readonly firedMs?: number | undefined;
  /** First good observation of the recovery, and the one that completed it. */
  readonly recoveryStartedMs?: number | undefined;
  readonly recoveredMs?: number | undefined;
  /** Bounds of the axis; defaults to the extent of the data. Data outside the bounds is dropped. */
  readonly axis?: Axis | undefined;
}

/** Bounds of a time axis, Unix ms. */
export interface Axis {
  readonly startMs: number;
  readonly endMs: number;
}

/** A sample and its position on both axes. */
export interface WindowMark {
  readonly ms: number;
  readonly value: number;
  readonly breaches: boolean;
}

/** An interval drawn as a band. */
export interface WindowSpan {
  readonly kind: 'sustained' | 'recovery' | 'tolerated' | 'gap';
  readonly startMs: number;
  readonly endMs: number;
}

/** Everything that is drawn, within the bounds of the axes. */
export interface WindowData {
  readonly startMs: number;
  readonly endMs: number;
  readonly least: number;
  readonly greatest: number;
  readonly marks: readonly WindowMark[];
  /** Samples joined by lines. Each gap, tolerated or not, starts a new line. */
  readonly lines: readonly (readonly WindowMark[])[];
  readonly spans: readonly WindowSpan[];
}

/** Positions samples, gaps and spans; the domain includes both thresholds. */
export function windowData(input: WindowInput): WindowData {
  const { condition, samples, axis } = input;
  const marks = samples
    .map(({ observedUnixMs, value, breaches }) => ({ ms: Number(observedUnixMs), value, breaches }))
    .filter(({ ms }) => axis === undefined || (ms >= axis.startMs && ms <= axis.endMs));
  const spans = spansOf(input).flatMap((span) => (axis ? withinAxis(span, axis) : span));
  const times = [
    ...marks.map(({ ms }) => ms),
    ...spans.flatMap(({ startMs, endMs }) => [startMs, endMs]),
  ];
  const thresholds = [condition.threshold, condition.recoveryThreshold ?? condition.threshold];
  const values = [...marks.map(({ value }) => value), ...thresholds];
  const [least, greatest] = domainOf(values, condition.unit);
  return {
    startMs: axis?.startMs ?? (times.length > 0 ? Math.min(...times) : 0),
    endMs: axis?.endMs ?? (times.length > 0 ? Math.max(...times) : 1),
    least,
    greatest,
    marks,
    lines: linesOf(marks, spans),
    spans,
  };
}

/** The part of a span within the axis; empty if there is none. */
function withinAxis(span: WindowSpan, { startMs, endMs }: Axis): WindowSpan[] {
  if (span.endMs < startMs || span.startMs > endMs) return [];
  const clipped = {
    startMs: Math.max(span.startMs, startMs),
    endMs: Math.min(span.endMs, endMs),
  };
  return [{ ...span, ...clipped }];
}

function spansOf(input: WindowInput): WindowSpan[] {
  const { startedMs, firedMs, recoveryStartedMs, recoveredMs, gaps } = input;
  const spans: WindowSpan[] = gaps.map(({ startUnixMs, endUnixMs, tolerated }) => ({
    kind: tolerated ? 'tolerated' : 'gap',
    startMs: Number(startUnixMs),
    endMs: Number(endUnixMs),
  }));
  if (startedMs !== undefined && firedMs !== undefined && firedMs > startedMs) {
    spans.push({ kind: 'sustained', startMs: startedMs, endMs: firedMs });
  }
  if (recoveryStartedMs !== undefined && recoveredMs !== undefined) {
    spans.push({ kind: 'recovery', startMs: recoveryStartedMs, endMs: recoveredMs });
  }
  return spans;
}

function linesOf(marks: readonly WindowMark[], spans: readonly WindowSpan[]): WindowMark[][] {
  const breaks = spans.filter(({ kind }) => kind === 'gap' || kind === 'tolerated');
  const lines: WindowMark[][] = [];
  for (const [i, mark] of marks.entries()) {
    const before = marks[i - 1];
    const isBroken =
      before === undefined ||
      breaks.some(({ startMs, endMs }) => startMs >= before.ms && endMs <= mark.ms);
    if (isBroken) lines.push([mark]);
    else lines.at(-1)?.push(mark);
  }
  return lines;
}

/** Position of the step nearest to a time; the later of two equally near ones. */
export function nearestStep(stepsMs: readonly number[], ms: number): number {
  let nearest = 0;
  for (const [i, step] of stepsMs.entries()) {
    const best = stepsMs[nearest] ?? step;
    if (Math.abs(step - ms) <= Math.abs(best - ms)) nearest = i;
  }
  return nearest;
}
