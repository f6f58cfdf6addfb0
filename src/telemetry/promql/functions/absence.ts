/**
 * absent and absent_over_time: 1 where nothing was selected, with the labels that the selector
 * names. Only here does an absent sample become a value.
 */
import type { Expr } from '../ast.ts';
import type { Matcher } from '../matcher.ts';
import {
  Labels,
  METRIC_NAME,
  release,
  takePresence,
  takeValues,
  type VectorValue,
} from '../values.ts';
import { bareArgument, rangeArgument, vectorArgument } from './arguments.ts';
import type { CallContext, PromqlFunction } from './function.ts';
import { WindowLocator } from './windows.ts';

/**
 * Both return at most one series. Its labels are those of the equality matchers; a label that is
 * matched twice is left out.
 */
export const absenceFunctions: Readonly<Record<string, PromqlFunction>> = {
  absent: (context) => {
    const found = takePresence(context.grid.count, context.budget);
    for (const { present } of vectorArgument(context, 0)) {
      for (let step = 0; step < found.length; step++) if (present[step] === 1) found[step] = 1;
      context.budget.takeSamples(found.length);
    }
    return absentAt(context, found);
  },
  absent_over_time: (context) => {
    const found = takePresence(context.grid.count, context.budget);
    const range = rangeArgument(context, 0);
    const locator = new WindowLocator(range, false, context.budget);
    for (const { runs } of range.series) {
      const { from, to } = locator.locate(runs);
      for (let step = 0; step < found.length; step++) {
        if ((to[step] as number) > (from[step] as number)) found[step] = 1;
      }
      context.budget.takeSamples(found.length);
    }
    locator.release();
    return absentAt(context, found);
  },
};

/** 1 where `found` is 0. `found` becomes a part of the result. */
function absentAt(context: CallContext, found: Uint8Array): VectorValue {
  if (!found.includes(0)) {
    release(context.budget, found);
    return { type: 'vector', series: [] };
  }
  const values = takeValues(found.length, context.budget).fill(1);
  const present = found;
  for (let step = 0; step < present.length; step++) present[step] = 1 - (found[step] as number);
  const labels = selectedLabels(bareArgument(context.call, 0));
  return { type: 'vector', series: [{ labels, values, present }] };
}

/**
 * Labels that a selector requires with `=`, except the metric name; any other matcher of the same
 * label removes it again. Other expressions have none (Prometheus 3.5,
 * `createLabelsForAbsentFunction`).
 */
function selectedLabels(expr: Expr): Labels {
  const requested = new Map<string, string>();
  const known = new Set([METRIC_NAME]);
  for (const { label, op, value } of matchersOf(expr)) {
    if (op === '=' && !known.has(label)) requested.set(label, value);
    else requested.delete(label);
    if (op === '=') known.add(label);
  }
  return Labels.of(requested);
}

function matchersOf(expr: Expr): readonly Matcher[] {
  if (expr.kind === 'vectorSelector') return expr.matchers;
  return expr.kind === 'matrixSelector' ? expr.selector.matchers : [];
}
