/** Bounded cache: an entry beyond the bound displaces the one that was set longest ago. */
export class BoundedCache<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** True also for an entry whose value is undefined. */
  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** Makes the entry the newest, even if the key already exists. */
  set(key: K, value: V): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#sizeMax) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    this.#entries.set(key, value);
  }

  /** Longest set first. */
  values(): IterableIterator<V> {
    return this.#entries.values();
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }
}
