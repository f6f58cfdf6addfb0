/**
 * What happens when dropping or rewriting labels makes series equal. Over all steps at once,
 * because Prometheus allows it as long as no step has two of them: the parts of one time line,
 * told apart before, are then one series.
 */
import { PromqlError } from './errors.ts';
import { createColumn, type SeriesColumn } from './values.ts';

/**
 * Each label set once, where it first stood. Columns of equal labels become one new column; the
 * others are passed on as they are. Calls `onCollision` where two have a value at the same step
 * (Prometheus 3.5, `rangeEval` and `cleanupMetricLabels`).
 */
export function mergeSeries(
  series: readonly SeriesColumn[],
  onCollision: () => never = refuseCollision,
): SeriesColumn[] {
  const merged = new Map<string, SeriesColumn>();
  const owned = new Set<SeriesColumn>();
  for (const column of series) {
    const { key } = column.labels;
    const earlier = merged.get(key);
    if (earlier === undefined) {
      merged.set(key, column);
      continue;
    }
    const target = owned.has(earlier) ? earlier : copyOf(earlier);
    owned.add(target);
    merged.set(key, target);
    addTo(target, column, onCollision);
  }
  return merged.size === series.length ? [...series] : [...merged.values()];
}

/** Throws `PromqlError` execution, in Prometheus's words. */
function refuseCollision(): never {
  throw new PromqlError('execution', 'vector cannot contain metrics with the same labelset');
}

function copyOf(column: SeriesColumn): SeriesColumn {
  const copy = createColumn(column.values.length);
  copy.values.set(column.values);
  copy.present.set(column.present);
  return { labels: column.labels, ...copy };
}

function addTo(target: SeriesColumn, column: SeriesColumn, onCollision: () => never): void {
  const { values, present } = column;
  for (let i = 0; i < values.length; i++) {
    if (present[i] === 0) continue;
    if (target.present[i] === 1) onCollision();
    target.values[i] = values[i] as number;
    target.present[i] = 1;
  }
}
