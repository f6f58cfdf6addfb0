/**
 * A script of the PromQL test language as data: what `parse-script.ts` reads and `run-script.ts`
 * does. The language is the one of Prometheus's own tests (`promql/promqltest`), so that scripts
 * which others wrote run here unchanged.
 */
import type { Labels } from '../../../../src/telemetry/promql/values.ts';

/** Values of a series one step after the other; null where there is none. */
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

/** Times in ms; of an instant query all three are its time, and the step has no meaning. */
export interface EvalTimes {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

export type TextExpectation =
  | { readonly kind: 'any' }
  | { readonly kind: 'equal'; readonly text: string }
  | { readonly kind: 'match'; readonly pattern: string };

/** What annotations of one kind may be: unchecked, none, or at least one and each one listed. */
export type AnnotationExpectation = 'unchecked' | 'none' | readonly TextExpectation[];

export type ExpectedResult =
  /** Series of one value (instant) or of one a step (range), none for an empty result. */
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
  /** The series stand in the order in which they must come. */
  readonly ordered: boolean;
  /** null: it must succeed; else every text must fit the error, none = any error. */
  readonly fail: readonly TextExpectation[] | null;
  readonly warnings: AnnotationExpectation;
  readonly infos: AnnotationExpectation;
}

export type Command = Clear | Load | Eval;

/** The script itself is wrong; nothing of it was run. */
export class ScriptError extends Error {
  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.name = 'ScriptError';
  }
}
