/**
 * What vector matching refuses, told in Prometheus's words. A fault counts only at a step where the
 * series that clash are all present, and the first step with a fault is the one that is told; at one
 * step a doubled "one" side goes before a doubled result.
 */
import type { VectorMatching } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { PromqlError } from '../../errors.ts';
import type { SeriesColumn } from '../../values.ts';
import { labelsText, matchedLabels } from './vector-matching.ts';

/** Collects faults over all groups, and throws the first by time. */
export class MatchingFaults {
  readonly #matching: VectorMatching;
  /** Half steps: of one step, the doubled "one" side goes first. */
  #when = Number.POSITIVE_INFINITY;
  #message = '';

  constructor(matching: VectorMatching) {
    this.#matching = matching;
  }

  /** Throws `PromqlError` execution if there was a fault. */
  throwFirst(): void {
    if (this.#message !== '') throw new PromqlError('execution', this.#message);
  }

  /**
   * Series of one group on the side that must be unique. `others`: where the other side has any
   * series at all; where it has none, Prometheus does not look.
   */
  noteOneSide(series: readonly SeriesColumn[], others: Uint8Array, budget: Budget): void {
    const clash = firstClash(series, others, budget);
    if (clash === null || clash.step >= this.#when) return;
    const side = this.#matching.cardinality === 'one-to-many' ? 'left' : 'right';
    const group = labelsText(matchedLabels(this.#matching)(clash.later.labels));
    const pair = `[${labelsText(clash.later.labels)}, ${labelsText(clash.earlier.labels)}]`;
    this.#note(
      clash.step,
      `found duplicate series for the match group ${group} on the ${side} hand-side of the ` +
        `operation: ${pair};many-to-many matching not allowed: matching labels must be unique ` +
        'on one side',
    );
  }

  /** Series that would have the same result. `matched`: where they have a partner. */
  noteResults(series: readonly SeriesColumn[], matched: Uint8Array, budget: Budget): void {
    const clash = firstClash(series, matched, budget);
    if (clash === null) return;
    const reason =
      this.#matching.cardinality === 'one-to-one'
        ? 'many-to-one matching must be explicit (group_left/group_right)'
        : 'grouping labels must ensure unique matches';
    this.#note(clash.step + 0.5, `multiple matches for labels: ${reason}`);
  }

  #note(when: number, message: string): void {
    if (when >= this.#when) return;
    this.#when = when;
    this.#message = message;
  }
}

interface Clash {
  readonly step: number;
  readonly earlier: SeriesColumn;
  readonly later: SeriesColumn;
}

/** The first step at which two of the series are present and `where` is 1. */
function firstClash(
  series: readonly SeriesColumn[],
  where: Uint8Array,
  budget: Budget,
): Clash | null {
  if (series.length < 2) return null;
  const bytes = where.length * Int32Array.BYTES_PER_ELEMENT;
  budget.takeBytes(bytes);
  /** Which series was seen at the step, from 1. */
  const seen = new Int32Array(where.length);
  let clash: Clash | null = null;
  let before = where.length;
  for (const [index, later] of series.entries()) {
    budget.check();
    for (let i = 0; i < before; i++) {
      if ((later.present[i] as number) === 0 || (where[i] as number) === 0) continue;
      const earlier = series[(seen[i] as number) - 1];
      if (earlier === undefined) {
        seen[i] = index + 1;
        continue;
      }
      clash = { step: i, earlier, later };
      before = i;
    }
  }
  budget.giveBackBytes(bytes);
  return clash;
}
