/**
 * Compensated summation: a sum and its accumulated rounding error, so that a long sum of readings
 * is exact to the last digit. Neumaier's variant of Kahan's algorithm ("Rundungsfehleranalyse
 * einiger Verfahren zur Summation endlicher Summen", 1974), with Prometheus's rule for overflow.
 */
export class KahanSum {
  /** Sum without the correction. */
  sum = 0;
  /** Correction to add to `sum`; 0 once the sum is infinite. */
  correction = 0;

  reset(sum = 0, correction = 0): void {
    this.sum = sum;
    this.correction = correction;
  }

  add(value: number): void {
    const { sum } = this;
    const total = sum + value;
    if (total === Number.POSITIVE_INFINITY || total === Number.NEGATIVE_INFINITY) {
      this.correction = 0;
    } else if (Math.abs(sum) >= Math.abs(value)) {
      this.correction += sum - total + value;
    } else {
      this.correction += value - total + sum;
    }
    this.sum = total;
  }

  /** Adds the sum of another accumulator. */
  merge(sum: number, correction: number): void {
    this.add(sum);
    this.correction += correction;
  }

  /** Sum with the correction; infinite or NaN if any value was. */
  get total(): number {
    return this.sum + this.correction;
  }
}
