/**
 * A memory bound for decoded columns: the least recently used go first. A use is one number
 * written, because a query touches thousands of columns in a millisecond; the order is computed
 * only when something has to go. Equal time columns are shared: the VMs of a host are polled
 * together.
 */

/** What the cache counts. `drop` forgets it where it is kept. */
export interface Cached {
  readonly bytes: number;
  /** The cache's clock when it was last used. */
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

  /** Bytes of all columns that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How often something had to go: what was found before is perhaps not kept any more. */
  get evictions(): number {
    return this.#evictions;
  }

  /** To be written into `usedAt`; rises from use to use. */
  get now(): number {
    return this.#now;
  }

  /** A new use begins: a query. All that it touches is kept until the next one. */
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

  /** An equal array that is kept already, or this one; give it back with `releaseTimes`. */
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
   * Of what the last use has touched too, where it alone is more than the bound: queries that each
   * ask for a little more than the one before would have no bound otherwise.
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
