/**
 * The series that an expression's selectors find, each selection asked of the source once. In order
 * of labels, so that sums and ties come out the same whatever order the source keeps.
 */
import type { Budget } from '../../budget.ts';
import { compareLabels } from '../../labels.ts';
import type { Selection, SeriesSource, StoredSeries } from '../../series-source.ts';
import { matchersKey } from '../plan.ts';

export class FetchedSeries {
  readonly #source: SeriesSource;
  readonly #budget: Budget;
  readonly #fetched = new Map<string, readonly StoredSeries[]>();

  constructor(source: SeriesSource, budget: Budget) {
    this.#source = source;
    this.#budget = budget;
  }

  select(selection: Selection): readonly StoredSeries[] {
    const { matchers, afterMs, throughMs } = selection;
    const key = `${afterMs} ${throughMs} ${matchersKey(matchers)}`;
    let series = this.#fetched.get(key);
    if (series === undefined) {
      series = inOrder(this.#source.select(selection, this.#budget), this.#budget);
      this.#fetched.set(key, series);
    }
    return series;
  }
}

function inOrder(series: readonly StoredSeries[], budget: Budget): readonly StoredSeries[] {
  return [...series].sort((a, b) => {
    budget.takeWork();
    return compareLabels(a.labels, b.labels);
  });
}
