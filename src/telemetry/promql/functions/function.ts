/**
 * The form of functions: each is an operator over whole columns, found by name in one table.
 * Functions over ranges are arithmetic over one window, which one driver slides.
 */

import type { Call, Expr } from '../ast.ts';
import type { Budget } from '../budget.ts';
import type { Annotations } from '../errors.ts';
import type { Grid, RangeValue, Value, VectorValue } from '../values.ts';

/** What a call may use of the evaluator. */
export interface CallContext {
  readonly call: Call;
  readonly grid: Grid;
  readonly annotations: Annotations;
  readonly budget: Budget;
  /** An argument's value; its type is the one of the signature, the checker has seen to it. */
  evaluate(argument: Expr): Value;
  /** An argument of type matrix. */
  evaluateRange(argument: Expr): RangeValue;
  /**
   * An argument of type vector with each element's value the time of its sample, seconds: for a
   * selector that of the sample itself, for anything else that of the step (`timestamp()`).
   */
  evaluateTimes(argument: Expr): VectorValue;
}

/**
 * Computes a call for all steps at once. It evaluates its own arguments, because a few take the
 * expression instead of its value.
 */
export type PromqlFunction = (context: CallContext) => Value;

/**
 * Samples [from, to) of the arrays lie in the window, from >= 0, at least one. One object is
 * used again for every window: keep nothing of it.
 */
export interface Window {
  timesMs: Float64Array;
  values: Float64Array;
  from: number;
  to: number;
  /** The window is (startMs, endMs]. */
  startMs: number;
  endMs: number;
}

/** A range function at one window and step; undefined = no value there. */
export type WindowFunction = (window: Window, step: number) => number | undefined;
