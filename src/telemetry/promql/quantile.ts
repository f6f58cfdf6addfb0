/**
 * The φ-quantile of unsorted values, as PromQL defines it: linear between the two nearest ranks,
 * with NaN below every number. It selects instead of sorting, because only two ranks matter.
 */
import { formatGo } from './format-go.ts';

/**
 * The quantile of `values[0..count)`, which it reorders. NaN for no values or φ NaN, -Inf for φ <
 * 0, +Inf for φ > 1 (Prometheus 3.5, `promql/quantile.go`).
 */
export function quantileOf(phi: number, values: Float64Array, count: number): number {
  if (count === 0 || Number.isNaN(phi)) return Number.NaN;
  if (phi < 0) return Number.NEGATIVE_INFINITY;
  if (phi > 1) return Number.POSITIVE_INFINITY;
  const nans = gatherNaNs(values, count);
  const rank = phi * (count - 1);
  const lower = Math.floor(rank);
  const upper = Math.min(count - 1, lower + 1);
  const weight = rank - lower;
  // Ranks below `nans` are NaN: the result is NaN even if the other rank is a number.
  if (lower < nans) return Number.NaN;
  select(values, lower, nans, count - 1);
  const low = values[lower] as number;
  const high = upper === lower ? low : smallest(values, upper, count);
  return low * (1 - weight) + high * weight;
}

/** Warning text for an invalid φ; undefined for a valid one. */
export function invalidQuantile(phi: number): string | undefined {
  if (phi >= 0 && phi <= 1) return undefined;
  return `quantile value should be between 0 and 1, got ${formatGo(phi)}`;
}

/** Moves NaNs to the front and returns their number. */
function gatherNaNs(values: Float64Array, count: number): number {
  let nans = 0;
  for (let i = 0; i < count; i++) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) continue;
    values[i] = values[nans] as number;
    values[nans++] = value;
  }
  return nans;
}

/**
 * Moves the value of rank `rank` to its index: no value before it is greater, none after it is
 * smaller.
 */
function select(values: Float64Array, rank: number, from: number, through: number): void {
  let low = from;
  let high = through;
  while (low < high) {
    const pivot = medianOfThree(values, low, high);
    let i = low;
    let j = high;
    while (i <= j) {
      while ((values[i] as number) < pivot) i++;
      while ((values[j] as number) > pivot) j--;
      if (i > j) break;
      const swapped = values[i] as number;
      values[i++] = values[j] as number;
      values[j--] = swapped;
    }
    if (rank <= j) high = j;
    else if (rank >= i) low = i;
    else return;
  }
}

function medianOfThree(values: Float64Array, low: number, high: number): number {
  const a = values[low] as number;
  const b = values[(low + high) >> 1] as number;
  const c = values[high] as number;
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}

function smallest(values: Float64Array, from: number, to: number): number {
  let least = values[from] as number;
  for (let i = from + 1; i < to; i++)
    if ((values[i] as number) < least) least = values[i] as number;
  return least;
}
