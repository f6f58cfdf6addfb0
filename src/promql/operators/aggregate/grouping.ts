/**
 * Which series of a vector are aggregated into one: settled once a query, by labels alone.
 */
import type { Aggregate } from '../../ast.ts';
import { Labels, METRIC_NAME } from '../../labels.ts';
import type { SeriesColumn } from '../../values.ts';

export interface Group {
  readonly labels: Labels;
  readonly members: SeriesColumn[];
}

/** In order of first occurrence. */
export function groupsOf(
  series: readonly SeriesColumn[],
  grouping: Pick<Aggregate, 'grouping' | 'without'>,
): Group[] {
  const labelsOf = groupLabels(grouping);
  const groups = new Map<string, Group>();
  for (const member of series) {
    const labels = labelsOf(member.labels);
    const group = groups.get(labels.key);
    if (group === undefined) groups.set(labels.key, { labels, members: [member] });
    else group.members.push(member);
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
