/**
 * `topk` and `bottomk`. Each step keeps, a group, a heap of the k best so far with the worst of
 * them on top; heaps are places in one typed array, series are their numbers, and steps are worked
 * in blocks, so that no step makes an object. Which of equal values stay is settled as in
 * Prometheus: by its heap, and by the order of the series.
 */
import type { Budget } from '../../budget.ts';
import { takePresence } from '../../column-memory.ts';
import { PromqlError } from '../../errors.ts';
import { formatGo } from '../../format-go.ts';
import type { SeriesColumn } from '../../values.ts';
import { seriesColumn } from '../columns.ts';
import type { Group } from './grouping.ts';
import { Heaps } from './heaps.ts';

const BLOCK_STEPS = 64;

export interface Ranking {
  readonly groups: readonly Group[];
  /** k at each step; what is below 1 keeps nothing. */
  readonly ks: Float64Array;
  readonly order: 'topk' | 'bottomk';
}

/**
 * The chosen series, each with its own values and present where it was chosen. For a single step
 * they are in order of rank, group by group. Throws `PromqlError` execution for a k that is no
 * number of series, at a step where there is one to choose.
 */
export function rank({ groups, ks, order }: Ranking, budget: Budget): SeriesColumn[] {
  const total = groups.reduce((sum, { members }) => sum + members.length, 0);
  const kept = limits(ks, total);
  if (kept === null) return [];
  return groups.flatMap(({ members }) => {
    const capacity = Math.min(kept.max, members.length);
    const heaps = new Heaps(Math.min(BLOCK_STEPS, ks.length), capacity, order, budget);
    const chosen = choose(members, heaps, { ks, places: kept.places }, budget);
    const ranked = ks.length === 1 ? heaps.bestFirst(0) : members.keys();
    const series = [...ranked].flatMap((index) => {
      const present = chosen[index];
      const member = members[index];
      if (present === undefined || member === undefined) return [];
      return [seriesColumn(member.labels, member.values, present)];
    });
    heaps.giveBack();
    return series;
  });
}

interface Places {
  readonly ks: Float64Array;
  /** Series to keep at each step. */
  readonly places: Int32Array;
}

/** Where each member was chosen; undefined for those that never were. */
function choose(
  members: readonly SeriesColumn[],
  heaps: Heaps,
  { ks, places }: Places,
  budget: Budget,
): (Uint8Array | undefined)[] {
  const count = ks.length;
  const chosen: (Uint8Array | undefined)[] = members.map(() => undefined);
  for (let start = 0; start < count; start += BLOCK_STEPS) {
    const end = Math.min(count, start + BLOCK_STEPS);
    budget.check();
    heaps.clear();
    for (const [index, member] of members.entries()) {
      offer(heaps, { member, index, start, end, ks, places });
    }
    heaps.visit(end - start, (index, step) => {
      const present = chosen[index] ?? takePresence(count, budget);
      chosen[index] = present;
      present[start + step] = 1;
    });
  }
  return chosen;
}

interface Limits {
  /** Of all steps. */
  readonly max: number;
  /** Series to keep at each step, at most all; -1 where k is not an integer of 64 bits. */
  readonly places: Int32Array;
}

/** One more than the greatest integer of 64 bits. */
const INT64_END = 2 ** 63;

/** null where every k is below 1: nothing is kept, and none of them is looked at. */
function limits(ks: Float64Array, total: number): Limits | null {
  const places = new Int32Array(ks.length);
  let max = 0;
  let isBelow = true;
  for (let i = 0; i < ks.length; i++) {
    const k = ks[i] as number;
    if (!(k < 1)) isBelow = false;
    const isValid = k < INT64_END && k >= -INT64_END;
    const kept = isValid ? Math.max(0, Math.min(total, Math.trunc(k))) : -1;
    places[i] = kept;
    if (kept > max) max = kept;
  }
  return isBelow ? null : { max, places };
}

interface Offer {
  readonly member: SeriesColumn;
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly ks: Float64Array;
  readonly places: Int32Array;
}

function offer(heaps: Heaps, { member, index, start, end, ks, places }: Offer): void {
  const { values, present } = member;
  for (let i = start; i < end; i++) {
    if (present[i] === 0) continue;
    const kept = places[i] as number;
    if (kept < 0) {
      const text = `Scalar value ${formatGo(ks[i] as number)} overflows int64`;
      throw new PromqlError('execution', text);
    }
    if (kept > 0) heaps.offer(i - start, kept, index, values[i] as number);
  }
}
