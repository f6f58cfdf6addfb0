/**
 * Arithmetic over one classic histogram at one step: its quantiles, and the share of observations
 * between two values. Linear within a bucket, whose counts are cumulative (Prometheus 3.5,
 * `promql/quantile.go`).
 */

/** Buffer for the buckets of one step, reused. Upper bounds rise; `length` of them count. */
export class BucketCounts {
  readonly uppers: Float64Array;
  readonly counts: Float64Array;
  length = 0;

  constructor(capacity: number) {
    this.uppers = new Float64Array(capacity);
    this.counts = new Float64Array(capacity);
  }

  clear(): void {
    this.length = 0;
  }

  /** Buckets in order of upper bounds; counts of equal bounds ("1" and "1.0") are added. */
  push(upper: number, count: number): void {
    const last = this.length - 1;
    if (last >= 0 && this.uppers[last] === upper) {
      this.counts[last] = (this.counts[last] as number) + count;
      return;
    }
    this.uppers[this.length] = upper;
    this.counts[this.length++] = count;
  }

  get endsInInfinity(): boolean {
    return this.length > 0 && this.uppers[this.length - 1] === Number.POSITIVE_INFINITY;
  }

  /** All observations. */
  get total(): number {
    return this.counts[this.length - 1] as number;
  }
}

/** `corrected`: counts fell from one bucket to the next and were raised. */
interface BucketQuantile {
  value: number;
  corrected: boolean;
}

/** Writes into `result`. Makes the counts of `buckets` rise. */
export function bucketQuantile(phi: number, buckets: BucketCounts, result: BucketQuantile): void {
  result.corrected = false;
  result.value = outOfRange(phi);
  if (!(phi >= 0 && phi <= 1)) return;
  result.value = Number.NaN;
  if (!buckets.endsInInfinity) return;
  const corrected = makeMonotonic(buckets);
  if (buckets.length < 2 || buckets.total === 0) return;
  result.corrected = corrected;
  result.value = interpolateRank(phi * buckets.total, buckets);
}

function outOfRange(phi: number): number {
  if (Number.isNaN(phi)) return phi;
  return phi < 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function interpolateRank(rank: number, { uppers, counts, length }: BucketCounts): number {
  const at = firstReaching(rank, counts, length - 1);
  // In the bucket without an upper bound: the greatest bound there is.
  if (at === length - 1) return uppers[length - 2] as number;
  const upper = uppers[at] as number;
  if (at === 0 && upper <= 0) return upper;
  const lower = at === 0 ? 0 : (uppers[at - 1] as number);
  const below = at === 0 ? 0 : (counts[at - 1] as number);
  return lower + (upper - lower) * ((rank - below) / ((counts[at] as number) - below));
}

/** Bisection, not a linear search, so that NaN counts behave as in Prometheus. */
function firstReaching(rank: number, counts: Float64Array, end: number): number {
  let low = 0;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((counts[middle] as number) >= rank) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Differences between counts that are an effect of adding doubles in another order. */
const TOLERANCE = 1e-12;
const SMALLEST_NORMAL = 2 ** -1022;

/** Sets counts that fall to the count before; true when one fell by more than rounding. */
function makeMonotonic({ counts, length }: BucketCounts): boolean {
  let forced = false;
  let before = counts[0] as number;
  for (let i = 1; i < length; i++) {
    const count = counts[i] as number;
    if (count === before) continue;
    if (almostEqual(before, count)) counts[i] = before;
    else if (count < before) {
      counts[i] = before;
      forced = true;
    } else before = count;
  }
  return forced;
}

function almostEqual(a: number, b: number): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  const sum = Math.abs(a) + Math.abs(b);
  const difference = Math.abs(a - b);
  if (a === 0 || b === 0 || sum < SMALLEST_NORMAL) return difference < TOLERANCE * SMALLEST_NORMAL;
  return difference / Math.min(sum, Number.MAX_VALUE) < TOLERANCE;
}

/** The share of observations in (lower, upper], NaN where there are none. */
export function bucketFraction(lower: number, upper: number, buckets: BucketCounts): number {
  if (!buckets.endsInInfinity || buckets.total === 0) return Number.NaN;
  if (Number.isNaN(lower) || Number.isNaN(upper)) return Number.NaN;
  if (lower >= upper) return 0;
  return (rankOf(upper, buckets) - rankOf(lower, buckets)) / buckets.total;
}

/**
 * Number of observations up to `value`, at most all of them. If the lowest bucket has no lower end
 * (its bound is not positive), all of its observations lie below every value, as those of the
 * highest lie above (since Prometheus 3.6; earlier versions answered NaN).
 */
function rankOf(value: number, { uppers, counts, length, total }: BucketCounts): number {
  let below = 0;
  let lower = (uppers[0] as number) > 0 ? 0 : Number.NEGATIVE_INFINITY;
  for (let i = 0; i < length; i++) {
    const upper = uppers[i] as number;
    const count = counts[i] as number;
    if (lower >= value) return Math.min(below, total);
    if (upper > value) {
      if (lower === Number.NEGATIVE_INFINITY) return Math.min(count, total);
      return Math.min(below + ((count - below) * (value - lower)) / (upper - lower), total);
    }
    below = count;
    lower = upper;
  }
  return total;
}
