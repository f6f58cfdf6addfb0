/**
 * A call's arguments in the types that the function's signature promises. The checker has rejected
 * all others, so a wrong type here is a bug.
 */
import type { Call, Expr, Span } from '../ast.ts';
import type { RangeValue, SeriesColumn } from '../values.ts';
import type { CallContext } from './function.ts';

/**
 * Evaluates the argument at `index`: one column per series. Throws `TypeError` if it has another
 * type.
 */
export function vectorArgument(context: CallContext, index: number): readonly SeriesColumn[] {
  const value = context.evaluate(argumentAt(context.call, index));
  if (value.type !== 'vector') throw mismatch(context.call, index, 'vector');
  return value.series;
}

/** One number per step. */
export function scalarArgument(context: CallContext, index: number): Float64Array {
  const value = context.evaluate(argumentAt(context.call, index));
  if (value.type !== 'scalar') throw mismatch(context.call, index, 'scalar');
  return value.values;
}

/**
 * The text of a literal argument; it is the same at every step. Throws `TypeError` if it has
 * another type.
 */
export function stringArgument(context: CallContext, index: number): string {
  const value = context.evaluate(argumentAt(context.call, index));
  if (value.type !== 'string') throw mismatch(context.call, index, 'string');
  return value.value;
}

/** The samples of a matrix argument (selector or subquery). Its windows have not been found yet. */
export function rangeArgument(context: CallContext, index: number): RangeValue {
  return context.evaluateRange(argumentAt(context.call, index));
}

/** An argument without the parentheses around it. */
export function bareArgument(call: Call, index: number): Expr {
  let expr = argumentAt(call, index);
  while (expr.kind === 'paren') expr = expr.expr;
  return expr;
}

/**
 * Position of an annotation about an argument: inside its parentheses; for a subquery, the start of
 * the expression. Both as in Prometheus 3.5.
 */
export function argumentSpan({ call }: CallContext, index: number): Span {
  const expr = bareArgument(call, index);
  return expr.kind === 'subquery' ? { from: 0, to: 0 } : expr.span;
}

/** The unevaluated expression at `index`. Throws `TypeError` if the call has no such argument. */
export function argumentAt(call: Call, index: number): Expr {
  const expr = call.args[index];
  if (expr === undefined) throw new TypeError(`${call.func.name} has no argument ${index}`);
  return expr;
}

function mismatch(call: Call, index: number, wanted: string): TypeError {
  return new TypeError(`Argument ${index} of ${call.func.name} is not a ${wanted}`);
}
