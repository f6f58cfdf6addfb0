/**
 * A cache with a bound in bytes, in all and for each project: a project that asks for ever new
 * things evicts its own entries and not the others'. The least recently used go first.
 */

export interface Weighed {
  /** Memory it takes now, about, bytes; may rise while it is in use. */
  readonly bytes: number;
}

interface Entry<V> {
  readonly value: V;
  /** As counted; less than it is while it is in use. */
  counted: number;
}

interface Share<V> {
  /** What was used longest ago first. */
  readonly entries: Map<string, Entry<V>>;
  bytes: number;
}

export interface ProjectCacheOptions {
  readonly bytesMax: number;
  /** Of one project. */
  readonly projectBytesMax: number;
}

export class ProjectCache<V extends Weighed> {
  readonly #options: ProjectCacheOptions;
  /** The project that asked longest ago first; none is empty. */
  readonly #shares = new Map<string, Share<V>>();
  #bytes = 0;
  #inUse: { readonly project: string; readonly key: string } | undefined;

  constructor(options: ProjectCacheOptions) {
    this.#options = options;
  }

  /** Of everything that is kept, as far as it was counted: all but what is in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** In use until the next call, which counts its size at that time. */
  get(project: string, key: string): V | undefined {
    this.settle();
    const entry = this.#shares.get(project)?.entries.get(key);
    if (entry === undefined) return undefined;
    this.#use(project, key, entry);
    return entry.value;
  }

  /** Keeps it as far as there is room; in use until the next call. */
  put(project: string, key: string, value: V): void {
    this.settle();
    this.#drop(project, key);
    const entry = { value, counted: 0 };
    this.#use(project, key, entry);
    this.#count(project, entry);
    this.#makeRoom(project);
  }

  /** Counts what was in use as it is now, and drops what there is no room for. */
  settle(): void {
    if (this.#inUse === undefined) return;
    const { project, key } = this.#inUse;
    this.#inUse = undefined;
    const entry = this.#shares.get(project)?.entries.get(key);
    if (entry === undefined) return;
    this.#count(project, entry);
    this.#makeRoom(project);
  }

  /** Everything that is kept, of one project or of all. */
  *values(project?: string): Iterable<V> {
    for (const [name, { entries }] of this.#shares) {
      if (project !== undefined && project !== name) continue;
      for (const { value } of entries.values()) yield value;
    }
  }

  /** Counts everything again, after something outside has made it lighter. */
  recount(): void {
    for (const [project, { entries }] of this.#shares) {
      for (const entry of entries.values()) this.#count(project, entry);
    }
  }

  forget(project: string): void {
    this.#bytes -= this.#shares.get(project)?.bytes ?? 0;
    this.#shares.delete(project);
  }

  #use(project: string, key: string, entry: Entry<V>): void {
    const share = this.#shares.get(project) ?? { entries: new Map(), bytes: 0 };
    this.#shares.delete(project);
    this.#shares.set(project, share);
    share.entries.delete(key);
    share.entries.set(key, entry);
    this.#inUse = { project, key };
  }

  #count(project: string, entry: Entry<V>): void {
    const { bytes } = entry.value;
    const more = bytes - entry.counted;
    entry.counted = bytes;
    this.#bytes += more;
    const share = this.#shares.get(project);
    if (share !== undefined) share.bytes += more;
  }

  #makeRoom(project: string): void {
    const { bytesMax, projectBytesMax } = this.#options;
    while ((this.#shares.get(project)?.bytes ?? 0) > projectBytesMax) this.#dropOldest(project);
    while (this.#bytes > bytesMax) {
      const [oldest = project] = this.#shares.keys();
      this.#dropOldest(oldest);
    }
  }

  #dropOldest(project: string): void {
    const [key = ''] = this.#shares.get(project)?.entries.keys() ?? [];
    this.#drop(project, key);
  }

  #drop(project: string, key: string): void {
    const share = this.#shares.get(project);
    const entry = share?.entries.get(key);
    if (share === undefined || entry === undefined) return;
    share.entries.delete(key);
    share.bytes -= entry.counted;
    this.#bytes -= entry.counted;
    if (share.entries.size === 0) this.#shares.delete(project);
  }
}
