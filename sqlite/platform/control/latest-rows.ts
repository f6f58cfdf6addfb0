/**
 * Cache of the latest values read or written, parsed: an attempt of a delivery reads the same few
 * rows, records and short lists many times, and a burst reads rows that it has just written. Only
 * one store writes the file, so the cached values match it.
 */
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type {
  Commit,
  InstanceStep,
  RecordChange,
} from '../../../streams/platform/commit/commit.ts';
import type {
  Page,
  StoredInstance,
  StoredReads,
  StoredRecord,
} from '../../../streams/platform/commit/projection.ts';

/**
 * Maximum number of cached rows, and of cached records: those of a burst of thousands of
 * notifications.
 */
const KEPT_MAX = 32_768;
/**
 * Longest list in a cached body. Bodies with longer ones, such as the samples that decided an
 * incident, are read on demand.
 */
const BODY_ITEMS_MAX = 16;
/** Number of cached lists and counts, and length of the longest list. */
const LISTS_MAX = 64;
const LIST_ITEMS_MAX = 64;

/** Cached values; an absent row is cached as `undefined`. */
export class LatestRows {
  readonly #instances = new BoundedCache<string, StoredInstance | undefined>(KEPT_MAX);
  readonly #records = new BoundedCache<string, StoredRecord | undefined>(KEPT_MAX);
  readonly #lists = new BoundedCache<string, Page<StoredInstance>>(LISTS_MAX);
  readonly #counts = new BoundedCache<string, number>(LISTS_MAX);
  /** Number of changes to rows since the start, by project and machine. */
  readonly #changes = new Map<string, number>();

  /** The view over this cache; it reads uncached values from the file. */
  over(view: StoredReads): StoredReads {
    const { project } = view;
    return {
      ...view,
      instance: (machine, id) =>
        kept(this.#instances, keyOf(project, machine, id), () => view.instance(machine, id)),
      record: (kind, id) =>
        kept(this.#records, keyOf(project, kind, id), () => view.record(kind, id)),
      instances: (machine, options) => {
        const changes = this.#changes.get(`${project} ${machine}`) ?? 0;
        const { limit, after, descending, final, owner, incident } = options;
        const requested = JSON.stringify([limit, after, descending, final, owner, incident]);
        const key = `${keyOf(project, machine, requested)} ${changes}`;
        const known = this.#lists.get(key);
        if (known) return known;
        const page = view.instances(machine, options);
        if (page.items.length <= LIST_ITEMS_MAX) this.#lists.set(key, page);
        return page;
      },
      countInstances: (machine, of) => {
        const changes = this.#changes.get(`${project} ${machine}`) ?? 0;
        const key = `${keyOf(project, machine, JSON.stringify(of))} ${changes}`;
        return kept(this.#counts, key, () => view.countInstances(machine, of));
      },
    };
  }

  /** Applies the commit's writes to the cache. */
  apply({ project, at, decisions }: Commit): void {
    for (const { steps, records } of decisions) {
      for (const step of steps) this.#step(project, at, step);
      for (const record of records) this.#record(project, record);
    }
    // As in the file, rows are removed after all steps.
    for (const { machine, instance } of decisions.flatMap(({ forgotten = [] }) => forgotten)) {
      this.#changed(project, machine);
      this.#instances.delete(keyOf(project, machine, instance));
    }
  }

  #record(project: string, { kind, id, body, sort = '' }: RecordChange): void {
    const key = keyOf(project, kind, id);
    if (body === null) this.#records.set(key, undefined);
    else if (isLong(body)) this.#records.delete(key);
    else this.#records.set(key, { project, kind, id, body, sort });
  }

  #step(project: string, at: number, step: InstanceStep): void {
    const { machine, version, instance, to: value, context, timers, final } = step;
    this.#changed(project, machine);
    const key = keyOf(project, machine, instance);
    const before = this.#instances.get(key)?.createdMs;
    // The creation time of an uncached row is unknown here, so it is read on demand.
    const createdMs = before ?? (step.from === null ? at : undefined);
    if (createdMs === undefined) {
      this.#instances.delete(key);
      return;
    }
    const times = { createdMs, updatedMs: at };
    const row = { machine, version, instance, project, value, context, timers, final, ...times };
    this.#instances.set(key, row);
  }

  #changed(project: string, machine: string): void {
    const key = `${project} ${machine}`;
    this.#changes.set(key, (this.#changes.get(key) ?? 0) + 1);
  }
}

function kept<T>(cache: BoundedCache<string, T>, key: string, read: () => T): T {
  const known = cache.get(key);
  if (known !== undefined || cache.has(key)) return known as T;
  const value = read();
  cache.set(key, value);
  return value;
}

function isLong(body: StoredRecord['body']): boolean {
  return Object.values(body).some((value) => Array.isArray(value) && value.length > BODY_ITEMS_MAX);
}

function keyOf(project: string, list: string, id: string): string {
  return `${project} ${list} ${id}`;
}
