/**
 * Merges series whose labels become equal when labels are dropped or rewritten. All steps are
 * considered at once, because Prometheus allows equal series as long as no step has two of them:
 * the parts then form one series.
 */
import type { Budget } from './budget.ts';
import { PromqlError } from './errors.ts';
import { type SeriesColumn, takeColumn } from './values.ts';

/**
 * Returns the columns with each label set once, in order of first occurrence. Columns with equal
 * labels become one new column; the others are passed on unchanged. Throws `PromqlError` execution
 * if two of them have a value at the same step (Prometheus 3.5, `rangeEval` and
 * `cleanupMetricLabels`).
 */
export function mergeSeries(series: readonly SeriesColumn[], budget: Budget): SeriesColumn[] {
  const merged = new Map<string, SeriesColumn>();
  const owned = new Set<SeriesColumn>();
  for (const column of series) {
    budget.takeWork();
    const { key } = column.labels;
    const earlier = merged.get(key);
    if (earlier === undefined) {
      merged.set(key, column);
      continue;
    }
    const target = owned.has(earlier) ? earlier : copyOf(earlier, budget);
    owned.add(target);
    merged.set(key, target);
    addTo(target, column);
  }
  return merged.size === series.length ? [...series] : [...merged.values()];
}

/** Throws `PromqlError` execution, in Prometheus's words. */
function refuseCollision(): never {
  throw new PromqlError('execution', 'vector cannot contain metrics with the same labelset');
}

function copyOf(column: SeriesColumn, budget: Budget): SeriesColumn {
  const copy = takeColumn(column.values.length, budget);
  copy.values.set(column.values);
  copy.present.set(column.present);
  return { labels: column.labels, ...copy };
}

function addTo(target: SeriesColumn, column: SeriesColumn): void {
  const { values, present } = column;
  for (let i = 0; i < values.length; i++) {
    if (present[i] === 0) continue;
    if (target.present[i] === 1) refuseCollision();
    target.values[i] = values[i] as number;
    target.present[i] = 1;
  }
}
