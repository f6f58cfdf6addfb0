/**
 * The interface of functions: each is an operator over whole columns, found by name in one table.
 * Functions over ranges are arithmetic over one window, which one driver slides.
 */

import type { Call, Expr } from '../ast.ts';
import type { Budget } from '../budget.ts';
import type { Annotations } from '../errors.ts';
import type { Grid, RangeValue, Value, VectorValue } from '../values.ts';

/** The part of the evaluator that a call may use. */
export interface CallContext {
  readonly call: Call;
  readonly grid: Grid;
  readonly annotations: Annotations;
  readonly budget: Budget;
  /** An argument's value. The checker has ensured that its type matches the signature. */
  evaluate(argument: Expr): Value;
  /** An argument of type matrix. */
  evaluateRange(argument: Expr): RangeValue;
  /**
   * An argument of type vector whose values are sample times in seconds, for `timestamp()`: the
   * time of the sample itself for a selector, of the step for anything else.
   */
  evaluateTimes(argument: Expr): VectorValue;
}

/**
 * Computes a call for all steps at once. It evaluates its own arguments, because a few functions
 * take the expression instead of its value.
 */
export type PromqlFunction = (context: CallContext) => Value;

/**
 * Samples [from, to) of the arrays are in the window; from >= 0, at least one sample. One object is
 * reused for every window: keep no reference to it.
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

/** A range function at one window and step; undefined = no value. */
export type WindowFunction = (window: Window, step: number) => number | undefined;
