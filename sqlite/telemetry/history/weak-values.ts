/**
 * Objects by key, shared as long as anything refers to them: an object with many users is created
 * once and freed with its last user. The map holds weak references. Keys of freed objects are
 * removed whenever the map has doubled.
 */

/** Number of keys below which the map is not pruned. */
const PRUNED_MIN = 256;

export class WeakValues<K, V extends WeakKey> {
  readonly #references = new Map<K, WeakRef<V>>();
  #pruneAt = PRUNED_MIN;

  /** Number of keys, including keys of freed objects that have not been removed yet. */
  get size(): number {
    return this.#references.size;
  }

  get(key: K): V | undefined {
    return this.#references.get(key)?.deref();
  }

  set(key: K, value: V): void {
    this.#references.set(key, new WeakRef(value));
    if (this.#references.size >= this.#pruneAt) this.#prune();
  }

  #prune(): void {
    for (const [key, reference] of this.#references) {
      if (reference.deref() === undefined) this.#references.delete(key);
    }
    this.#pruneAt = Math.max(PRUNED_MIN, 2 * this.#references.size);
  }
}
