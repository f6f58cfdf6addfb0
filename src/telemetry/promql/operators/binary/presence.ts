/** Combines the presence of values over all steps at once. Arrays hold only 0 and 1. */
import type { Budget } from '../../budget.ts';
import { type SeriesColumn, takePresence } from '../../values.ts';

/** Keeps 1 in `target` where both have 1. Returns whether any is left. */
export function keepCommon(target: Uint8Array, other: Uint8Array): boolean {
  let any = 0;
  for (let i = 0; i < target.length; i++) {
    const common = (target[i] as number) & (other[i] as number);
    target[i] = common;
    any |= common;
  }
  return any !== 0;
}

/** Keeps 1 in `target` where `other` has 0. Returns whether any is left. */
export function keepOthers(target: Uint8Array, other: Uint8Array): boolean {
  let any = 0;
  for (let i = 0; i < target.length; i++) {
    const left = (target[i] as number) & ~(other[i] as number);
    target[i] = left;
    any |= left;
  }
  return any !== 0;
}

/**
 * Presence of any of the series. For a single series it is that series' own array: do not write to
 * it.
 */
export function anyPresence(
  series: readonly SeriesColumn[],
  count: number,
  budget: Budget,
): Uint8Array {
  const [first, second] = series;
  if (first !== undefined && second === undefined) return first.present;
  const any = takePresence(count, budget);
  for (const { present } of series) {
    budget.check();
    for (let i = 0; i < count; i++) any[i] = (any[i] as number) | (present[i] as number);
  }
  return any;
}
