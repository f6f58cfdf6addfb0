/**
 * `topk` and `bottomk`. Each step keeps one heap per group with the k best so far, the worst of
 * them on top. Heaps are slots of one typed array, series are indexes, and steps are processed in
 * blocks, so no step allocates an object. Ties are broken as in Prometheus: by its heap and by the
 * order of the series.
 */
import type { Budget } from '../../budget.ts';
import { PromqlError } from '../../errors.ts';
import { formatGo } from '../../format-go.ts';
import { type SeriesColumn, seriesColumn, takePresence } from '../../values.ts';
import type { Group } from './accumulators.ts';

const BLOCK_STEPS = 64;

/** One `topk` or `bottomk`: its groups, and k, which may differ between steps. */
export interface Ranking {
  readonly groups: readonly Group[];
  /** k at each step; a value below 1 keeps nothing. */
  readonly ks: Float64Array;
  readonly order: 'topk' | 'bottomk';
}

/**
 * The selected series, each with its own values, present where it was selected. For a single step
 * they are in order of rank, group by group. Throws `PromqlError` execution for an invalid k at a
 * step that has candidate series.
 */
export function rank({ groups, ks, order }: Ranking, budget: Budget): SeriesColumn[] {
  const total = groups.reduce((sum, { members }) => sum + members.length, 0);
  const kept = limits(ks, total);
  if (kept === null) return [];
  return groups.flatMap(({ members }) => {
    const capacity = Math.min(kept.max, members.length);
    const heaps = new Heaps(Math.min(BLOCK_STEPS, ks.length), capacity, order, budget);
    const chosen = choose(members, heaps, { ks, slots: kept.slots }, budget);
    const ranked = ks.length === 1 ? heaps.bestFirst(0) : members.keys();
    const series = [...ranked].flatMap((index) => {
      const present = chosen[index];
      const member = members[index];
      if (present === undefined || member === undefined) return [];
      return [seriesColumn(member.labels, member.values, present)];
    });
    heaps.release();
    return series;
  });
}

interface Slots {
  readonly ks: Float64Array;
  /** Number of series to keep at each step. */
  readonly slots: Int32Array;
}

/** Steps at which each member was selected; undefined if it never was. */
function choose(
  members: readonly SeriesColumn[],
  heaps: Heaps,
  { ks, slots }: Slots,
  budget: Budget,
): (Uint8Array | undefined)[] {
  const count = ks.length;
  const chosen: (Uint8Array | undefined)[] = members.map(() => undefined);
  for (let start = 0; start < count; start += BLOCK_STEPS) {
    const end = Math.min(count, start + BLOCK_STEPS);
    budget.check();
    heaps.clear();
    for (const [index, member] of members.entries()) {
      offer(heaps, { member, index, start, end, ks, slots });
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
  /** Maximum over all steps. */
  readonly max: number;
  /** Number of series to keep at each step, at most all; -1 if k is not a 64-bit integer. */
  readonly slots: Int32Array;
}

/** One more than the greatest 64-bit integer. */
const INT64_END = 2 ** 63;

/** null if every k is below 1: nothing is kept, so no series is read. */
function limits(ks: Float64Array, total: number): Limits | null {
  const slots = new Int32Array(ks.length);
  let max = 0;
  let isBelow = true;
  for (let i = 0; i < ks.length; i++) {
    const k = ks[i] as number;
    if (!(k < 1)) isBelow = false;
    const isValid = k < INT64_END && k >= -INT64_END;
    const kept = isValid ? Math.max(0, Math.min(total, Math.trunc(k))) : -1;
    slots[i] = kept;
    if (kept > max) max = kept;
  }
  return isBelow ? null : { max, slots };
}

interface Offer {
  readonly member: SeriesColumn;
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly ks: Float64Array;
  readonly slots: Int32Array;
}

function offer(heaps: Heaps, { member, index, start, end, ks, slots }: Offer): void {
  const { values, present } = member;
  for (let i = start; i < end; i++) {
    if (present[i] === 0) continue;
    const kept = slots[i] as number;
    if (kept < 0) {
      const text = `Scalar value ${formatGo(ks[i] as number)} overflows int64`;
      throw new PromqlError('execution', text);
    }
    if (kept > 0) heaps.offer(i - start, kept, index, values[i] as number);
  }
}

class Heaps {
  readonly #budget: Budget;
  readonly #capacity: number;
  readonly #isTop: boolean;
  readonly #sizes: Int32Array;
  readonly #indexes: Int32Array;
  readonly #values: Float64Array;

  /** `capacity`: slots per heap. */
  constructor(heaps: number, capacity: number, order: 'topk' | 'bottomk', budget: Budget) {
    budget.takeBytes(heaps * (12 * capacity + 4));
    this.#budget = budget;
    this.#capacity = capacity;
    this.#isTop = order === 'topk';
    this.#sizes = new Int32Array(heaps);
    this.#indexes = new Int32Array(heaps * capacity);
    this.#values = new Float64Array(heaps * capacity);
  }

  clear(): void {
    this.#sizes.fill(0);
  }

  release(): void {
    const { byteLength } = this.#sizes;
    this.#budget.releaseBytes(byteLength + this.#indexes.byteLength + this.#values.byteLength);
  }

  /** Keeps `index` if it is among the best `kept` of the heap. */
  offer(heap: number, kept: number, index: number, value: number): void {
    const base = heap * this.#capacity;
    const size = this.#sizes[heap] as number;
    if (size < kept && size < this.#capacity) {
      this.#set(base + size, index, value);
      this.#sizes[heap] = size + 1;
      this.#moveUp(base, size);
      return;
    }
    const worst = this.#values[base] as number;
    const isBetter = this.#isTop ? value > worst : value < worst;
    if (!isBetter && !(Number.isNaN(worst) && !Number.isNaN(value))) return;
    this.#set(base, index, value);
    this.#moveDown(base, size);
  }

  /** Calls `visit` for each entry of the first `heaps` heaps. */
  visit(heaps: number, visit: (index: number, heap: number) => void): void {
    for (let heap = 0; heap < heaps; heap++) {
      const base = heap * this.#capacity;
      const size = this.#sizes[heap] as number;
      for (let slot = base; slot < base + size; slot++) {
        visit(this.#indexes[slot] as number, heap);
      }
    }
  }

  /** Entries of one heap, best first; equal values in the order of their slots. */
  bestFirst(heap: number): Int32Array {
    const base = heap * this.#capacity;
    const slots = Int32Array.from({ length: this.#sizes[heap] as number }, (_, i) => base + i);
    slots.sort((a, b) => {
      this.#budget.takeWork();
      return this.#rankOf(a) - this.#rankOf(b) || this.#compare(a, b) || a - b;
    });
    return slots.map((slot) => this.#indexes[slot] as number);
  }

  /** NaN ranks last. */
  #rankOf(slot: number): number {
    return Number.isNaN(this.#values[slot]) ? 1 : 0;
  }

  #compare(a: number, b: number): number {
    const valueA = this.#values[a] as number;
    const valueB = this.#values[b] as number;
    if (valueA === valueB || Number.isNaN(valueA) || Number.isNaN(valueB)) return 0;
    return valueA > valueB === this.#isTop ? -1 : 1;
  }

  #set(slot: number, index: number, value: number): void {
    this.#indexes[slot] = index;
    this.#values[slot] = value;
  }

  #isWorse(a: number, b: number): boolean {
    const valueA = this.#values[a] as number;
    const valueB = this.#values[b] as number;
    if (Number.isNaN(valueA)) return true;
    return this.#isTop ? valueA < valueB : valueA > valueB;
  }

  #swap(a: number, b: number): void {
    const index = this.#indexes[a] as number;
    const value = this.#values[a] as number;
    this.#set(a, this.#indexes[b] as number, this.#values[b] as number);
    this.#set(b, index, value);
  }

  #moveUp(base: number, from: number): void {
    let slot = from;
    while (slot > 0) {
      const parent = (slot - 1) >> 1;
      if (!this.#isWorse(base + slot, base + parent)) return;
      this.#swap(base + parent, base + slot);
      slot = parent;
    }
  }

  #moveDown(base: number, size: number): void {
    let slot = 0;
    for (;;) {
      let child = 2 * slot + 1;
      if (child >= size) return;
      if (child + 1 < size && this.#isWorse(base + child + 1, base + child)) child++;
      if (!this.#isWorse(base + child, base + slot)) return;
      this.#swap(base + slot, base + child);
      slot = child;
    }
  }
}
