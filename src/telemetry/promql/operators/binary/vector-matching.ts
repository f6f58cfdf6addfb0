/**
 * Which series of two vectors belong together: once a query, never a step. A group holds the series
 * of both sides whose labels agree as far as `on` or `ignoring` looks at them.
 */
import type { VectorMatching } from '../../ast.ts';
import type { Budget } from '../../budget.ts';
import { quoteGoCut, SHOWN_TEXT_MAX } from '../../format-go.ts';
import { type Labels, METRIC_NAME } from '../../labels.ts';
import type { SeriesColumn } from '../../values.ts';

export interface MatchGroup {
  readonly lhs: SeriesColumn[];
  readonly rhs: SeriesColumn[];
}

export interface MatchGroups {
  /** In order of first occurrence, on the left and then on the right. */
  readonly groups: readonly MatchGroup[];
  /** Taken from the budget for the groups; to be given back after them. */
  readonly heldBytes: number;
}

/** Of a group besides its key: three lists and a place in a map. */
const GROUP_BYTES = 500;
const KEY_CHAR_BYTES = 2;

/** What a group that is found by `key` takes. */
export function groupBytes(key: string): number {
  return GROUP_BYTES + key.length * KEY_CHAR_BYTES;
}

export function matchGroups(
  lhs: readonly SeriesColumn[],
  rhs: readonly SeriesColumn[],
  matching: VectorMatching,
  budget: Budget,
): MatchGroups {
  const labelsOf = matchedLabels(matching);
  const groups = new Map<string, MatchGroup>();
  let heldBytes = 0;
  const groupOf = ({ labels }: SeriesColumn): MatchGroup => {
    budget.takeWork();
    const { key } = labelsOf(labels);
    let group = groups.get(key);
    if (group === undefined) {
      const bytes = groupBytes(key);
      budget.takeBytes(bytes);
      heldBytes += bytes;
      group = { lhs: [], rhs: [] };
      groups.set(key, group);
    }
    return group;
  };
  for (const series of lhs) groupOf(series).lhs.push(series);
  for (const series of rhs) groupOf(series).rhs.push(series);
  return { groups: [...groups.values()], heldBytes };
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

/** Labels in a message; an expression can make sets of hundreds. */
const SHOWN_PAIRS_MAX = 30;

/** A label set as it stands in Prometheus's messages; what is too long for one is cut. */
export function labelsText({ pairs }: Labels): string {
  const shown = pairs
    .slice(0, SHOWN_PAIRS_MAX)
    .map(([name, value]) => `${shownName(name)}=${quoteGoCut(value)}`);
  if (shown.length < pairs.length) shown.push('...');
  return `{${shown.join(', ')}}`;
}

function shownName(name: string): string {
  return name.length <= SHOWN_TEXT_MAX && PLAIN_NAME.test(name) ? name : quoteGoCut(name);
}
