/**
 * Who is next: one queue a project, and the projects in turn. A project that asks much waits for
 * itself; another's first query is at most one round behind, whatever the rest have queued.
 */
export class FairQueue<T> {
  /** The first project of the map is next; each queue is oldest first and never empty. */
  readonly #queues = new Map<string, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(project: string, entry: T): void {
    const queue = this.#queues.get(project);
    if (queue === undefined) this.#queues.set(project, new Set([entry]));
    else queue.add(entry);
    this.#size++;
  }

  /**
   * The oldest entry of the next project that `may` have one, taken out; that project goes to the
   * end, and those that may not keep their slot.
   */
  next(may: (project: string) => boolean = () => true): T | undefined {
    for (const [project, queue] of this.#queues) {
      if (!may(project)) continue;
      const [entry] = queue;
      this.#queues.delete(project);
      if (entry === undefined) return undefined;
      queue.delete(entry);
      if (queue.size > 0) this.#queues.set(project, queue);
      this.#size--;
      return entry;
    }
    return undefined;
  }

  /** Takes out an entry that no longer waits; false when it had its turn already. */
  remove(project: string, entry: T): boolean {
    const queue = this.#queues.get(project);
    if (queue?.delete(entry) !== true) return false;
    if (queue.size === 0) this.#queues.delete(project);
    this.#size--;
    return true;
  }
}
