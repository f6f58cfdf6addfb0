/**
 * Groups of series that are aggregated into one: settled once a query, by labels alone.
 */
import type { Aggregate } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { takeLabels } from '../../column-memory.ts';
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
