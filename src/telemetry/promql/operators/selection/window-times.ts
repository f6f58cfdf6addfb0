/**
 * Where a selector or subquery looks at each step, once `offset` and `@` are applied.
 */
import type { AtModifier } from '../../ast.ts';
import type { Grid } from '../../values.ts';

/** The ends of the whole query, which `@ start()` and `@ end()` mean, also inside subqueries. */
export interface QueryRange {
  readonly startMs: number;
  readonly endMs: number;
}

export interface TimeModifiers {
  /** Positive looks back, ms. */
  readonly offsetMs: number;
  readonly at: AtModifier | null;
}

/** Step i looks at `firstMs + i * stepMs`; with `@` every step at the same time, `stepMs` 0. */
export interface LookTimes {
  readonly firstMs: number;
  readonly stepMs: number;
  readonly count: number;
}

export function lookTimes(
  { offsetMs, at }: TimeModifiers,
  grid: Grid,
  range: QueryRange,
): LookTimes {
  const { count } = grid;
  if (at === null) return { firstMs: grid.startMs - offsetMs, stepMs: grid.stepMs, count };
  return { firstMs: fixedTime(at, range) - offsetMs, stepMs: 0, count };
}

export function lastLook({ firstMs, stepMs, count }: LookTimes): number {
  return firstMs + (count - 1) * stepMs;
}

function fixedTime(at: AtModifier, { startMs, endMs }: QueryRange): number {
  if (at === 'start') return startMs;
  return at === 'end' ? endMs : at.ms;
}
