/**
 * Bounded heaps of series for `topk` and `bottomk`, one a step of a block, in one array for all.
 * The worst of those kept is on top, so that a better one knows at once whom to replace. NaN is
 * worse than every number. Moves elements as Go's `container/heap` does, because the places of equal
 * values decide which of them stays.
 */
import type { Budget } from '../../budget.ts';

export class Heaps {
  readonly #budget: Budget;
  readonly #capacity: number;
  readonly #isTop: boolean;
  readonly #sizes: Int32Array;
  readonly #indexes: Int32Array;
  readonly #values: Float64Array;

  /** `capacity`: places a heap. */
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

  giveBack(): void {
    const { byteLength } = this.#sizes;
    this.#budget.giveBackBytes(byteLength + this.#indexes.byteLength + this.#values.byteLength);
  }

  /** Keeps `index` among the best `kept` of the heap, if it is one of them. */
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

  /** Calls `visit` for all that the first `heaps` heaps have kept. */
  visit(heaps: number, visit: (index: number, heap: number) => void): void {
    for (let heap = 0; heap < heaps; heap++) {
      const base = heap * this.#capacity;
      const size = this.#sizes[heap] as number;
      for (let place = base; place < base + size; place++) {
        visit(this.#indexes[place] as number, heap);
      }
    }
  }

  /** What one heap has kept; equal values in the order of their places. */
  bestFirst(heap: number): Int32Array {
    const base = heap * this.#capacity;
    const places = Int32Array.from({ length: this.#sizes[heap] as number }, (_, i) => base + i);
    places.sort((a, b) => {
      this.#budget.takeWork();
      return this.#rankOf(a) - this.#rankOf(b) || this.#compare(a, b) || a - b;
    });
    return places.map((place) => this.#indexes[place] as number);
  }

  /** NaN comes last. */
  #rankOf(place: number): number {
    return Number.isNaN(this.#values[place]) ? 1 : 0;
  }

  #compare(a: number, b: number): number {
    const valueA = this.#values[a] as number;
    const valueB = this.#values[b] as number;
    if (valueA === valueB || Number.isNaN(valueA) || Number.isNaN(valueB)) return 0;
    return valueA > valueB === this.#isTop ? -1 : 1;
  }

  #set(place: number, index: number, value: number): void {
    this.#indexes[place] = index;
    this.#values[place] = value;
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
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isWorse(base + place, base + parent)) return;
      this.#swap(base + parent, base + place);
      place = parent;
    }
  }

  #moveDown(base: number, size: number): void {
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= size) return;
      if (child + 1 < size && this.#isWorse(base + child + 1, base + child)) child++;
      if (!this.#isWorse(base + child, base + place)) return;
      this.#swap(base + place, base + child);
      place = child;
    }
  }
}
