/**
 * A buddy allocator for the head's cells: blocks of powers of two that are split and joined, so
 * that what one kind of content frees serves every other. Without joining, short-lived texts would
 * leave no room for pages.
 */

/** A block that nobody smaller than it would use: two numbers of a text and 16 of its bytes. */
const ORDER_MIN = 2;

/** Exponent of the smallest block for so many cells. */
export function orderOf(length: number): number {
  return Math.max(ORDER_MIN, 32 - Math.clz32(length - 1));
}

export class CellBlocks {
  /** Starts of the free blocks, by exponent. */
  readonly #free: Set<number>[] = [];
  #end = 0;
  #taken = 0;

  /** Cells in allocated blocks. */
  get taken(): number {
    return this.#taken;
  }

  /** First cell of a block of 2 ** `order`; undefined when it would end beyond `endMax`. */
  take(order: number, endMax: number): number | undefined {
    const start = this.#fromFree(order) ?? this.#fromEnd(order, endMax);
    if (start !== undefined) this.#taken += 2 ** order;
    return start;
  }

  give(start: number, order: number): void {
    this.#taken -= 2 ** order;
    this.#join(start, order);
  }

  #fromFree(order: number): number | undefined {
    for (let larger = order; larger < this.#free.length; larger++) {
      const blocks = this.#free[larger];
      if (blocks === undefined || blocks.size === 0) continue;
      const [start = 0] = blocks;
      blocks.delete(start);
      while (larger > order) this.#freeOf(--larger).add(start + 2 ** larger);
      return start;
    }
    return undefined;
  }

  #fromEnd(order: number, endMax: number): number | undefined {
    const size = 2 ** order;
    const start = Math.ceil(this.#end / size) * size;
    if (start + size > endMax) return undefined;
    // Blocks begin at a multiple of their size; what is skipped for it is free.
    while (this.#end < start) {
      const gap = 31 - Math.clz32(this.#end & -this.#end);
      const from = this.#end;
      this.#end += 2 ** gap;
      this.#join(from, gap);
    }
    this.#end = start + size;
    return start;
  }

  #join(start: number, order: number): void {
    let [first, joined] = [start, order];
    for (; ; joined++) {
      const size = 2 ** joined;
      const buddy = first % (2 * size) === 0 ? first + size : first - size;
      if (!this.#freeOf(joined).delete(buddy)) break;
      first = Math.min(first, buddy);
    }
    this.#freeOf(joined).add(first);
  }

  #freeOf(order: number): Set<number> {
    while (this.#free.length <= order) this.#free.push(new Set());
    return this.#free[order] as Set<number>;
  }
}
