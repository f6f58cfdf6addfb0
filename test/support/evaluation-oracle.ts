/**
 * The right answer, computed the slow way: straight from the definition, by looking back over all
 * sorted observations at each one. Shares no code with the evaluator.
 */

export interface OracleSample {
  readonly observedMs: number;
  readonly value: number;
}

export interface OracleRule {
  /** Values above it breach. */
  readonly threshold: number;
  readonly sustainedMs: number;
  /** Values at or below it are good; absent: good if not in breach. */
  readonly recoveryThreshold?: number;
  readonly recoveryMs: number;
}

/**
 * A stretch of firing: the observation that completed the run, the run's first observation, and the
 * end.
 */
export interface OracleSpan {
  readonly firedMs: number;
  readonly startedMs: number;
  /** Time of the observation that completed the recovery; Infinity while it fires. */
  endMs: number;
}

const TOLERANCE_MS = 90_000;
const LATENESS_MS = 300_000;

/** Firing stretches of a timeline. @param sorted by time, one observation per time */
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

/**
 * Observations that an evaluator may know after these arrivals, sorted. The first arrival of a time
 * counts.
 */
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

export interface OracleAgeRule {
  readonly thresholdMs: number;
  readonly sustainedMs: number;
  readonly recoveryMs: number;
}

/** A sign of life of the VM. After its owner stops it, no more signs are expected. */
export interface OracleSign {
  readonly observedMs: number;
  readonly isStopped: boolean;
}

const GRACE_MS = 120_000;

/**
 * Stretches in which the VM was silent for too long. @param sorted one sign per time, oldest first
 */
export function oracleSilence(
  sorted: readonly OracleSign[],
  rule: OracleAgeRule,
  nowMs: number,
): OracleSpan[] {
  const spans: OracleSpan[] = [];
  for (const [i, sign] of sorted.entries()) {
    const open = spans.find(({ endMs }) => endMs === Number.POSITIVE_INFINITY);
    if (open && !sign.isStopped) {
      const sinceMs = startOfSigns(sorted, i, rule);
      if (sign.observedMs - sinceMs >= rule.recoveryMs) open.endMs = sign.observedMs;
    }
    const isOpen = spans.some(({ endMs }) => endMs === Number.POSITIVE_INFINITY);
    if (isOpen || sign.isStopped) continue;
    const startedMs = Math.max(sign.observedMs + rule.thresholdMs, graceAt(sorted, i));
    const firedMs = startedMs + rule.sustainedMs;
    const untilMs = sorted[i + 1]?.observedMs ?? nowMs;
    if (firedMs < untilMs) spans.push({ firedMs, startedMs, endMs: Number.POSITIVE_INFINITY });
  }
  return spans;
}

/** First of the signs up to `end` whose distances are short enough to recover. */
function startOfSigns(sorted: readonly OracleSign[], end: number, rule: OracleAgeRule): number {
  const gapMs = Math.min(TOLERANCE_MS, rule.thresholdMs);
  let startMs = sorted[end]?.observedMs ?? Number.NaN;
  for (let i = end - 1; i >= 0; i--) {
    const sign = sorted[i];
    if (!sign || sign.isStopped || startMs - sign.observedMs > gapMs) break;
    startMs = sign.observedMs;
  }
  return startMs;
}

/**
 * End of the grace period after the VM's last stop before `at`; -Infinity: it was never stopped.
 */
function graceAt(sorted: readonly OracleSign[], at: number): number {
  const stop = sorted.slice(0, at + 1).findLastIndex(({ isStopped }) => isStopped);
  const ran = stop < 0 ? undefined : sorted[stop + 1];
  return ran ? ran.observedMs + GRACE_MS : Number.NEGATIVE_INFINITY;
}
