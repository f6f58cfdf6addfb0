/**
 * The right answer, the slow way: what sorted observations say, straight from the definition, by
 * looking back over all of them at each one. Shares no code with the evaluator.
 */

export interface OracleSample {
  readonly observedMs: number;
  readonly value: number;
}

export interface OracleRule {
  /** In breach above it. */
  readonly threshold: number;
  readonly sustainedMs: number;
  /** Good at or below it; absent: good when not in breach. */
  readonly recoveryThreshold?: number;
  readonly recoveryMs: number;
}

/** A stretch of firing: the observation that completed the run, the run's first, the end. */
export interface OracleSpan {
  readonly firedMs: number;
  readonly startedMs: number;
  /** The observation that completed the recovery; Infinity while it lasts. */
  endMs: number;
}

const TOLERANCE_MS = 90_000;
const LATENESS_MS = 300_000;

/** Firing stretches of a timeline. @param sorted by time, one observation a time */
export function oracleSpans(sorted: readonly OracleSample[], rule: OracleRule): OracleSpan[] {
  const isBreach = ({ value }: OracleSample): boolean => value > rule.threshold;
  const isGood = (sample: OracleSample): boolean =>
    !isBreach(sample) && sample.value <= (rule.recoveryThreshold ?? rule.threshold);
  const spans: OracleSpan[] = [];
  for (const [i, { observedMs }] of sorted.entries()) {
    const open = spans.at(-1)?.endMs === Number.POSITIVE_INFINITY ? spans.at(-1) : undefined;
    if (open) {
      const startMs = startOfRun(sorted, i, isGood);
      if (startMs !== undefined && observedMs - startMs >= rule.recoveryMs) open.endMs = observedMs;
    } else {
      const startedMs = startOfRun(sorted, i, isBreach);
      if (startedMs === undefined || observedMs - startedMs < rule.sustainedMs) continue;
      spans.push({ firedMs: observedMs, startedMs, endMs: Number.POSITIVE_INFINITY });
    }
  }
  return spans;
}

/** First time of the longest unbroken stretch of such samples that ends at index `end`. */
function startOfRun(
  sorted: readonly OracleSample[],
  end: number,
  belongs: (sample: OracleSample) => boolean,
): number | undefined {
  let startMs: number | undefined;
  for (let i = end; i >= 0; i--) {
    const sample = sorted[i];
    if (!sample || !belongs(sample)) break;
    if (startMs !== undefined && startMs - sample.observedMs > TOLERANCE_MS) break;
    startMs = sample.observedMs;
  }
  return startMs;
}

/** The observations an evaluator may know after these arrivals, sorted: the first of a time counts. */
export class OracleObservations {
  readonly #values = new Map<number, number>();
  #newestMs = Number.NEGATIVE_INFINITY;

  arrive({ observedMs, value }: OracleSample): void {
    if (observedMs < this.#newestMs - LATENESS_MS || this.#values.has(observedMs)) return;
    this.#values.set(observedMs, value);
    this.#newestMs = Math.max(this.#newestMs, observedMs);
  }

  sorted(): OracleSample[] {
    return [...this.#values]
      .map(([observedMs, value]) => ({ observedMs, value }))
      .sort((a, b) => a.observedMs - b.observedMs);
  }
}
