/**
 * Bounded memory shared fairly by projects: when it is full, the project that holds the most gives
 * up its oldest entry. A project that keeps adding entries loses its own and no neighbour's.
 */
export class ProjectShares<V> {
  readonly #entriesMax: number;
  /** By project, the oldest first; none is empty. */
  readonly #shares = new Map<string, Map<string, V>>();
  #size = 0;

  /** @param entriesMax for all projects together */
  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  /** Number of entries of all projects. */
  get size(): number {
    return this.#size;
  }

  get(project: string, key: string): V | undefined {
    return this.#shares.get(project)?.get(key);
  }

  /** Stores it as the project's newest. */
  put(project: string, key: string, value: V): void {
    this.delete(project, key);
    const share = this.#shares.get(project) ?? new Map<string, V>();
    this.#shares.set(project, share);
    share.set(key, value);
    this.#size++;
    if (this.#size > this.#entriesMax) this.#forgetOne(project);
  }

  delete(project: string, key: string): void {
    const share = this.#shares.get(project);
    if (!share?.delete(key)) return;
    this.#size--;
    if (share.size === 0) this.#shares.delete(project);
  }

  /** Projects with their entries, each project's oldest first. */
  shares(): Iterable<readonly [project: string, entries: ReadonlyMap<string, V>]> {
    return this.#shares;
  }

  /**
   * Evicts from the project that added the last one, unless another has more than its equal share.
   */
  #forgetOne(last: string): void {
    const equal = this.#entriesMax / this.#shares.size;
    let most = last;
    if ((this.#shares.get(last)?.size ?? 0) <= equal) {
      let count = 0;
      for (const [project, { size }] of this.#shares) {
        if (size <= count) continue;
        most = project;
        count = size;
      }
    }
    for (const oldest of this.#shares.get(most)?.keys() ?? []) {
      this.delete(most, oldest);
      return;
    }
  }
}
