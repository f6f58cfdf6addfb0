/**
 * A memory bound for decoded columns: the least recently used are dropped first. A use only writes
 * one number, because a query touches thousands of columns in a millisecond; the order is computed
 * only when something has to be dropped. Equal time columns are shared: the VMs of a host are
 * polled together.
 */

/** An entry of the cache. `drop` removes it from its owner. */
export interface Cached {
  readonly bytes: number;
  /** The cache's clock at its last use. */
  usedAt: number;
  /** false once it was dropped: a reader that found it before must look it up again. */
  alive: boolean;
  drop(): void;
}

/** Share of the bound that is kept when entries are dropped. */
const KEPT = 0.8;

/**
 * The bound of one thread's decoded columns, bytes. Dropping one costs no more than decoding it
 * again.
 */
export class ColumnCache {
  readonly #bytesMax: number;
  readonly #entries = new Set<Cached>();
  readonly #times = new Map<string, { readonly timesMs: Float64Array; owners: number }>();
  #bytes = 0;
  #now = 0;
  #evictions = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Size of all cached columns, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of evictions: after one, earlier results may no longer be cached. */
  get evictions(): number {
    return this.#evictions;
  }

  /** Value for `usedAt`; increases from use to use. */
  get now(): number {
    return this.#now;
  }

  /** Begins a new use: a query. Its columns are kept until the next use. */
  tick(): void {
    if (this.#bytes > this.#bytesMax) this.#makeRoom();
    this.#now++;
  }

  add(entry: Cached): void {
    this.#entries.add(entry);
    this.#bytes += entry.bytes;
  }

  remove(entry: Cached): void {
    if (!this.#entries.delete(entry)) return;
    this.#bytes -= entry.bytes;
    entry.alive = false;
    entry.drop();
  }

  /** An equal cached array, or this one; return it with `releaseTimes`. */
  shareTimes(timesMs: Float64Array): Float64Array {
    const key = keyOf(timesMs);
    const known = this.#times.get(key);
    if (known === undefined) {
      this.#times.set(key, { timesMs, owners: 1 });
      this.#bytes += timesMs.byteLength;
      return timesMs;
    }
    if (!isEqual(known.timesMs, timesMs)) {
      this.#bytes += timesMs.byteLength;
      return timesMs;
    }
    known.owners++;
    return known.timesMs;
  }

  releaseTimes(timesMs: Float64Array): void {
    const key = keyOf(timesMs);
    const known = this.#times.get(key);
    if (known?.timesMs !== timesMs) {
      this.#bytes -= timesMs.byteLength;
      return;
    }
    if (--known.owners > 0) return;
    this.#times.delete(key);
    this.#bytes -= timesMs.byteLength;
  }

  /**
   * Also drops columns of the last use if it alone exceeds the bound: otherwise queries that each
   * need a little more than the one before would have no bound.
   */
  #makeRoom(): void {
    this.#evictions++;
    for (const entry of [...this.#entries].sort((a, b) => a.usedAt - b.usedAt)) {
      if (this.#bytes <= this.#bytesMax * KEPT) return;
      this.remove(entry);
    }
  }
}

function keyOf(timesMs: Float64Array): string {
  return `${timesMs.length} ${timesMs[0]} ${timesMs[timesMs.length - 1]}`;
}

function isEqual(a: Float64Array, b: Float64Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
