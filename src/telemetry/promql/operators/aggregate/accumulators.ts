/**
 * The groups of an aggregation and their accumulators. Series are assigned to groups once per
 * query, by labels alone. The columns of the members are then processed one after the other, and
 * each is added to all steps of its group at once.
 */
import type { Aggregate } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import {
  type Column,
  Labels,
  METRIC_NAME,
  release,
  type SeriesColumn,
  takeColumn,
  takeLabels,
  takePresence,
  takeValues,
} from '../../values.ts';

/** Series with equal grouping labels, and the labels of the result. */
export interface Group {
  readonly labels: Labels;
  readonly members: SeriesColumn[];
}

/** In order of first occurrence. */
export function groupsOf(
  series: readonly SeriesColumn[],
  grouping: Pick<Aggregate, 'grouping' | 'without'>,
  budget: Budget,
): Group[] {
  const labelsOf = groupLabels(grouping);
  const groups = new Map<string, Group>();
  for (const member of series) {
    budget.takeWork();
    const labels = labelsOf(member.labels);
    const group = groups.get(labels.key);
    if (group !== undefined) group.members.push(member);
    else groups.set(labels.key, { labels: takeLabels(labels, budget), members: [member] });
  }
  return [...groups.values()];
}

/** The labels of the group that a series belongs to. */
export function groupLabels({
  grouping,
  without,
}: Pick<Aggregate, 'grouping' | 'without'>): (of: Labels) => Labels {
  if (without) {
    const dropped = new Set([METRIC_NAME, ...grouping]);
    return (of) => of.without(dropped);
  }
  if (grouping.length === 0) return () => Labels.empty;
  const kept = new Set(grouping);
  return (of) => of.only(kept);
}

/**
 * Folds the columns of a group's members into one, so that memory does not grow with the number of
 * members.
 */
export interface Accumulator {
  /**
   * Adds a member. Members are added in a fixed order, so order-dependent results are reproducible.
   */
  add(member: Column): void;
  /** Returns the group's column; nothing may be added afterwards. */
  finish(): Column;
}

/** `count`: number of members with a sample at the step. Without any, the step is absent, not 0. */
export class Count implements Accumulator {
  readonly #column: Column;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
  }

  add({ present }: Column): void {
    const { values: counts, present: seen } = this.#column;
    for (let i = 0; i < counts.length; i++) {
      counts[i] = (counts[i] as number) + (present[i] as number);
      seen[i] = (seen[i] as number) | (present[i] as number);
    }
  }

  finish(): Column {
    return this.#column;
  }
}

/** `group`: 1 wherever any member is present. */
export class Presence implements Accumulator {
  readonly #column: Column;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
    this.#column.values.fill(1);
  }

  add({ present }: Column): void {
    const { present: seen } = this.#column;
    for (let i = 0; i < seen.length; i++) seen[i] = (seen[i] as number) | (present[i] as number);
  }

  finish(): Column {
    return this.#column;
  }
}

/**
 * `sum`, with Neumaier's compensation, so that the result does not depend on the order of magnitude
 * of single members.
 */
export class Sum implements Accumulator {
  readonly #column: Column;
  readonly #corrections: Float64Array;
  readonly #budget: Budget;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
    this.#corrections = takeValues(count, budget);
    this.#budget = budget;
  }

  add({ values, present }: Column): void {
    const { values: sums, present: seen } = this.#column;
    const corrections = this.#corrections;
    for (let i = 0; i < sums.length; i++) {
      if (present[i] === 0) continue;
      seen[i] = 1;
      const value = values[i] as number;
      const sum = sums[i] as number;
      const total = sum + value;
      sums[i] = total;
      corrections[i] = correctionAfter(corrections[i] as number, sum, value, total);
    }
  }

  finish(): Column {
    const { values: sums } = this.#column;
    const corrections = this.#corrections;
    for (let i = 0; i < sums.length; i++) {
      sums[i] = (sums[i] as number) + (corrections[i] as number);
    }
    release(this.#budget, corrections);
    return this.#column;
  }
}

/** Correction to add to `total` = `sum` + `value` (Neumaier; 0 once it is infinite). */
function correctionAfter(correction: number, sum: number, value: number, total: number): number {
  if (total === Number.POSITIVE_INFINITY || total === Number.NEGATIVE_INFINITY) return 0;
  if (Math.abs(sum) >= Math.abs(value)) return correction + (sum - total + value);
  return correction + (value - total + sum);
}

/**
 * `avg`: sum divided by count; a running mean from the step on at which the sum would overflow a
 * double.
 */
export class Average implements Accumulator {
  readonly #budget: Budget;
  /** Sums; means at steps that switched to the running mean. */
  readonly #column: Column;
  readonly #corrections: Float64Array;
  readonly #counts: Float64Array;
  /** 1 where the running mean replaces the sum. Created at the first overflow. */
  #carried: Uint8Array | null = null;

  constructor(count: number, budget: Budget) {
    this.#budget = budget;
    this.#column = takeColumn(count, budget);
    this.#corrections = takeValues(count, budget);
    this.#counts = takeValues(count, budget);
  }

  add({ values, present }: Column): void {
    const { values: sums, present: seen } = this.#column;
    const corrections = this.#corrections;
    const counts = this.#counts;
    for (let i = 0; i < sums.length; i++) {
      if (present[i] === 0) continue;
      const value = values[i] as number;
      const sum = sums[i] as number;
      const total = sum + value;
      counts[i] = (counts[i] as number) + 1;
      if ((this.#carried !== null && this.#carried[i] === 1) || isInfinite(total)) {
        if (seen[i] === 1) this.#carry(i, value);
        else sums[i] = value;
      } else {
        sums[i] = total;
        corrections[i] = correctionAfter(corrections[i] as number, sum, value, total);
      }
      seen[i] = 1;
    }
  }

  #carry(i: number, value: number): void {
    const means = this.#column.values;
    const corrections = this.#corrections;
    const count = this.#counts[i] as number;
    this.#carried ??= takePresence(means.length, this.#budget);
    if (this.#carried[i] === 0) {
      this.#carried[i] = 1;
      means[i] = (means[i] as number) / (count - 1);
      corrections[i] = (corrections[i] as number) / (count - 1);
    }
    const share = (count - 1) / count;
    const mean = share * (means[i] as number);
    const part = value / count;
    const total = mean + part;
    corrections[i] = correctionAfter(share * (corrections[i] as number), mean, part, total);
    means[i] = total;
  }

  finish(): Column {
    const { values } = this.#column;
    for (let i = 0; i < values.length; i++) {
      const count = this.#carried?.[i] === 1 ? 1 : (this.#counts[i] as number);
      values[i] = (values[i] as number) / count + (this.#corrections[i] as number) / count;
    }
    release(this.#budget, this.#corrections, this.#counts);
    if (this.#carried !== null) release(this.#budget, this.#carried);
    return this.#column;
  }
}

function isInfinite(value: number): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
}

/** Any number replaces NaN. */
export class Minimum implements Accumulator {
  readonly #column: Column;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
    this.#column.values.fill(Number.NaN);
  }

  add({ values, present }: Column): void {
    const { values: least, present: seen } = this.#column;
    for (let i = 0; i < least.length; i++) {
      if (present[i] === 0) continue;
      seen[i] = 1;
      const value = values[i] as number;
      const before = least[i] as number;
      if (value < before || Number.isNaN(before)) least[i] = value;
    }
  }

  finish(): Column {
    return this.#column;
  }
}

/** Any number replaces NaN. */
export class Maximum implements Accumulator {
  readonly #column: Column;

  constructor(count: number, budget: Budget) {
    this.#column = takeColumn(count, budget);
    this.#column.values.fill(Number.NaN);
  }

  add({ values, present }: Column): void {
    const { values: greatest, present: seen } = this.#column;
    for (let i = 0; i < greatest.length; i++) {
      if (present[i] === 0) continue;
      seen[i] = 1;
      const value = values[i] as number;
      const before = greatest[i] as number;
      if (value > before || Number.isNaN(before)) greatest[i] = value;
    }
  }

  finish(): Column {
    return this.#column;
  }
}

/**
 * `stdvar` and `stddev` of the population, by Welford's method: one pass, without the difference of
 * two large sums.
 */
export class Variance implements Accumulator {
  readonly #budget: Budget;
  /** Sums of squared differences from the mean. */
  readonly #column: Column;
  readonly #means: Float64Array;
  readonly #counts: Float64Array;
  readonly #isRoot: boolean;

  /** `isRoot`: compute the standard deviation instead of the variance. */
  constructor(count: number, budget: Budget, isRoot: boolean) {
    this.#budget = budget;
    this.#column = takeColumn(count, budget);
    this.#means = takeValues(count, budget);
    this.#counts = takeValues(count, budget);
    this.#isRoot = isRoot;
  }

  add({ values, present }: Column): void {
    const { values: squares, present: seen } = this.#column;
    const means = this.#means;
    const counts = this.#counts;
    for (let i = 0; i < squares.length; i++) {
      if (present[i] === 0) continue;
      const value = values[i] as number;
      const count = (counts[i] as number) + 1;
      counts[i] = count;
      if (seen[i] === 0) {
        seen[i] = 1;
        means[i] = value;
        // 0 for a single value; NaN for an infinite or NaN value.
        squares[i] = value - value;
        continue;
      }
      const before = means[i] as number;
      const mean = before + (value - before) / count;
      means[i] = mean;
      squares[i] = (squares[i] as number) + (value - before) * (value - mean);
    }
  }

  finish(): Column {
    const { values } = this.#column;
    for (let i = 0; i < values.length; i++) {
      const variance = (values[i] as number) / (this.#counts[i] as number);
      values[i] = this.#isRoot ? Math.sqrt(variance) : variance;
    }
    release(this.#budget, this.#means, this.#counts);
    return this.#column;
  }
}
