/**
 * A script of the PromQL test language as data, which `parse-script.ts` reads and `run-script.ts`
 * runs. It is the language of Prometheus's own tests (`promql/promqltest`), so that upstream
 * scripts run here unchanged.
 */
import type { Labels } from '../../../../src/telemetry/promql/values.ts';

/** Values of a series, one per step; null for a missing one. */
export type SeriesValues = readonly (number | 'stale' | null)[];

export interface SeriesLine {
  readonly labels: Labels;
  readonly values: SeriesValues;
}

export interface Clear {
  readonly kind: 'clear';
  readonly line: number;
}

export interface Load {
  readonly kind: 'load';
  readonly line: number;
  readonly stepMs: number;
  readonly series: readonly SeriesLine[];
}

/** Times in ms. For an instant query all three equal its time, and the step is meaningless. */
export interface EvalTimes {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

export type TextExpectation =
  | { readonly kind: 'any' }
  | { readonly kind: 'equal'; readonly text: string }
  | { readonly kind: 'match'; readonly pattern: string };

/** Expected annotations of one kind: unchecked, none, or at least one and each one listed. */
export type AnnotationExpectation = 'unchecked' | 'none' | readonly TextExpectation[];

export type ExpectedResult =
  /** Series with one value (instant) or one per step (range); empty for an empty result. */
  | { readonly kind: 'series'; readonly series: readonly SeriesLine[] }
  /** Raw samples: value i is at `times.startMs + i * times.stepMs`. */
  | {
      readonly kind: 'range vector';
      readonly series: readonly SeriesLine[];
      readonly times: EvalTimes;
    }
  | { readonly kind: 'scalar'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string };

export interface Eval {
  readonly kind: 'eval';
  /** Line of the `eval`, from 1. */
  readonly line: number;
  readonly mode: 'instant' | 'range';
  readonly times: EvalTimes;
  readonly expression: string;
  readonly result: ExpectedResult;
  /** True if the series must be returned in this order. */
  readonly ordered: boolean;
  /** null: it must succeed; otherwise every text must match the error, none = any error. */
  readonly fail: readonly TextExpectation[] | null;
  readonly warnings: AnnotationExpectation;
  readonly infos: AnnotationExpectation;
}

export type Command = Clear | Load | Eval;

/** The script itself is invalid; nothing in it was run. */
export class ScriptError extends Error {
  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.name = 'ScriptError';
  }
}
