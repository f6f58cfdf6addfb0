/**
 * Which series of two vectors belong together: once a query, never a step. A group holds the series
 * of both sides whose labels agree as far as `on` or `ignoring` looks at them.
 */
import type { VectorMatching } from '../../ast.ts';
import { quoteGo } from '../../format-go.ts';
import { type Labels, METRIC_NAME } from '../../labels.ts';
import type { SeriesColumn } from '../../values.ts';

export interface MatchGroup {
  readonly lhs: SeriesColumn[];
  readonly rhs: SeriesColumn[];
}

/** In order of first occurrence, on the left and then on the right. */
export function matchGroups(
  lhs: readonly SeriesColumn[],
  rhs: readonly SeriesColumn[],
  matching: VectorMatching,
): MatchGroup[] {
  const labelsOf = matchedLabels(matching);
  const groups = new Map<string, MatchGroup>();
  const groupOf = ({ labels }: SeriesColumn): MatchGroup => {
    const { key } = labelsOf(labels);
    let group = groups.get(key);
    if (group === undefined) {
      group = { lhs: [], rhs: [] };
      groups.set(key, group);
    }
    return group;
  };
  for (const series of lhs) groupOf(series).lhs.push(series);
  for (const series of rhs) groupOf(series).rhs.push(series);
  return [...groups.values()];
}

/** The labels that must agree. */
export function matchedLabels({ on, labels }: VectorMatching): (of: Labels) => Labels {
  if (on) {
    const names = new Set(labels);
    return (of) => of.only(names);
  }
  const names = new Set([METRIC_NAME, ...labels]);
  return (of) => of.without(names);
}

const PLAIN_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** A label set as it stands in Prometheus's messages. */
export function labelsText(labels: Labels): string {
  const pairs = labels.pairs.map(
    ([name, value]) => `${PLAIN_NAME.test(name) ? name : quoteGo(name)}=${quoteGo(value)}`,
  );
  return `{${pairs.join(', ')}}`;
}
