/**
 * A project's projection plus the changes of a commit in the making. Reads see both, so a limit
 * counted by one decision holds for the next in the same commit; a refused decision is taken back
 * to its savepoint and leaves nothing.
 */
import {
  type IndexName,
  indexedValue,
  type MachineDefinition,
} from '../../../machines/platform/definition.ts';
import {
  comparePageKeys,
  type PageKey,
  pageOf,
  parsePageToken,
} from '../../../streams/platform/commit/page.ts';
import type {
  InstanceCount,
  InstanceFilter,
  ListOptions,
  Page,
  RecordedTransition,
  StoredInstance,
  StoredRecord,
  StoredView,
  TransitionFilter,
} from '../../../streams/platform/commit/projection.ts';

type Machines = ReadonlyMap<string, Pick<MachineDefinition, 'indexes'>>;

interface Change<T> {
  readonly list: string;
  /** null: removed. */
  readonly item: T | null;
}

export class Overlay implements StoredView {
  readonly project: string;
  readonly #base: StoredView;
  readonly #machines: Machines;
  readonly #instances = new Map<string, Change<StoredInstance>>();
  readonly #records = new Map<string, Change<StoredRecord>>();
  #undo: (() => void)[] = [];

  constructor(base: StoredView, machines: Machines) {
    this.project = base.project;
    this.#base = base;
    this.#machines = machines;
  }

  /** Has anything been put here that the projection does not have? */
  get hasChanges(): boolean {
    return this.#instances.size > 0 || this.#records.size > 0;
  }

  /** From here on, `rollback` takes back what is put. */
  savepoint(): void {
    this.#undo = [];
  }

  rollback(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
  }

  putInstance(item: StoredInstance): void {
    this.#put(this.#instances, keyOf(item.machine, item.instance), { list: item.machine, item });
  }

  removeInstance(machine: string, instance: string): void {
    this.#put(this.#instances, keyOf(machine, instance), { list: machine, item: null });
  }

  putRecord(kind: string, id: string, item: StoredRecord | null): void {
    this.#put(this.#records, keyOf(kind, id), { list: kind, item });
  }

  #put<T>(changes: Map<string, Change<T>>, key: string, change: Change<T>): void {
    const before = changes.get(key);
    changes.set(key, change);
    this.#undo.push(() => (before ? changes.set(key, before) : changes.delete(key)));
  }

  instance(machine: string, instance: string): StoredInstance | undefined {
    const change = this.#instances.get(keyOf(machine, instance));
    return change ? (change.item ?? undefined) : this.#base.instance(machine, instance);
  }

  instances(machine: string, options: ListOptions & InstanceFilter): Page<StoredInstance> {
    const { final, owner, incident } = options;
    const filter = {
      ...(final === undefined ? {} : { final }),
      ...(owner === undefined ? {} : { owner }),
      ...(incident === undefined ? {} : { incident }),
    };
    const changes = changesOf(this.#instances, machine);
    return mergePage(options, ['number', 'string'], {
      changed: new Set(changes.map(([id]) => id)),
      put: changes.flatMap(([, { item }]) => (item && this.#matches(item, filter) ? [item] : [])),
      read: (page) => this.#base.instances(machine, { ...page, ...filter }),
      idOf: (item) => item.instance,
      keyOf: (item) => [item.createdMs, item.instance],
    });
  }

  countInstances(machine: string, options: InstanceCount): number {
    let count = this.#base.countInstances(machine, options);
    for (const [id, { item }] of changesOf(this.#instances, machine)) {
      const before = this.#base.instance(machine, id);
      if (before && this.#matches(before, options)) count--;
      if (item && this.#matches(item, options)) count++;
    }
    return count;
  }

  #matches(item: StoredInstance, { final, owner, incident }: InstanceFilter): boolean {
    const definition = this.#machines.get(item.machine);
    const indexed = (index: IndexName) => indexedValue(definition, index, item.context);
    if (incident !== undefined) return indexed('incident') === incident;
    if (final !== undefined && item.final !== final) return false;
    return owner === undefined || indexed('owner') === owner;
  }

  record(kind: string, id: string): StoredRecord | undefined {
    const change = this.#records.get(keyOf(kind, id));
    return change ? (change.item ?? undefined) : this.#base.record(kind, id);
  }

  records(kind: string, options: ListOptions): Page<StoredRecord> {
    const changes = changesOf(this.#records, kind);
    return mergePage(options, ['string', 'string'], {
      changed: new Set(changes.map(([id]) => id)),
      put: changes.flatMap(([, { item }]) => (item ? [item] : [])),
      read: (page) => this.#base.records(kind, page),
      idOf: (item) => item.id,
      keyOf: (item) => [item.sort, item.id],
    });
  }

  transitions(options: ListOptions & TransitionFilter): Page<RecordedTransition> {
    return this.#base.transitions(options);
  }
}

function keyOf(list: string, id: string): string {
  return `${list} ${id}`;
}

/** Changes of one list, each with the id that it is of. */
function changesOf<T>(changes: Map<string, Change<T>>, list: string): [string, Change<T>][] {
  const of = [...changes].filter(([, change]) => change.list === list);
  return of.map(([key, change]) => [key.slice(list.length + 1), change]);
}

interface Merge<T> {
  /** Ids whose stored item does not count any more. */
  readonly changed: ReadonlySet<string>;
  readonly put: readonly T[];
  read(options: ListOptions): Page<T>;
  idOf(item: T): string;
  keyOf(item: T): PageKey;
}

/** A page of stored and changed items in one order. */
function mergePage<T>(
  options: ListOptions,
  shape: readonly ('string' | 'number')[],
  merge: Merge<T>,
): Page<T> {
  if (merge.changed.size === 0) return merge.read(options);
  const { limit, after, descending = false } = options;
  const sign = descending ? -1 : 1;
  const order = (a: PageKey, b: PageKey) => sign * comparePageKeys(a, b);
  const start = after === undefined ? undefined : parsePageToken(after, shape);
  // So many stored items may be changed ones; one more shows that there is a next page.
  const stored = merge.read({ ...options, limit: limit + merge.changed.size + 1 });
  const items = stored.items.filter((item) => !merge.changed.has(merge.idOf(item)));
  const put = merge.put.filter(
    (item) => start === undefined || order(merge.keyOf(item), start) > 0,
  );
  const all = [...items, ...put].sort((a, b) => order(merge.keyOf(a), merge.keyOf(b)));
  return pageOf(all, limit, merge.keyOf);
}
