/**
 * A decision in the making: runs the machines once, here at the writer, and records each step with
 * its outcome. Effects are expanded at once, inside the same decision, so that a firing, its
 * incident's record and its deliveries are one commit or none. Its changes so far overlay the
 * projection, and reads see both.
 */
import type { MachineName } from '../../../machines/audit/registry.ts';
import {
  type IndexName,
  indexedValue,
  type MachineDefinition,
} from '../../../machines/platform/definition.ts';
import { isAhead } from '../../../streams/platform/clock.ts';
import {
  type ChainStart,
  COMMIT_EVENTS_MAX,
  type InstanceRef,
  type InstanceStep,
  type RecordChange,
} from '../../../streams/platform/commit/commit.ts';
import {
  comparePageKeys,
  type PageKey,
  pageOf,
  parsePageToken,
} from '../../../streams/platform/commit/page.ts';
import type {
  DueTimer,
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
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Draft, EffectExpander, StepOutcome } from './host-port.ts';
import {
  type EventOf,
  type InputOf,
  type Instance,
  initialStep,
  NewerRow,
  nextStep,
  type ProjectRecord,
  type ProjectView,
  type RecordKind,
  type RecordWrite,
  type Step,
  typedInstance,
  typedView,
  upcast,
} from './rows.ts';

/** Machines and the expansion of their effects: the same for every decision of a host. */
export interface Interpretation {
  readonly machines: ReadonlyMap<string, MachineDefinition>;
  readonly expand: EffectExpander;
}

/** Maximum depth of effects that cause effects; more is a cycle. */
const EFFECT_DEPTH_MAX = 16;

/** An event of any machine, as it is committed. */
type AnyEvent = InstanceStep['event'];

/** One decision, on the project's head. If it throws, it is discarded with all its changes. */
export class DecisionDraft implements Draft {
  readonly project: string;
  readonly at: number;
  /** Steps decided so far. */
  readonly steps: InstanceStep[] = [];
  readonly changes: RecordChange[] = [];
  readonly forgotten: InstanceRef[] = [];
  truncation: ChainStart | undefined;
  readonly #overlay: Overlay;
  readonly #view: ProjectView;
  readonly #interpretation: Interpretation;
  #depth = 0;

  /** @param at time of the commit, Unix ms */
  constructor(overlay: Overlay, interpretation: Interpretation, at: number) {
    this.project = overlay.project;
    this.at = at;
    this.#overlay = overlay;
    this.#view = typedView(interpretation.machines, overlay);
    this.#interpretation = interpretation;
  }

  start<M extends MachineName>(machine: M, instance: string, input: InputOf<M>): StepOutcome<M> {
    const definition = this.#definition(machine);
    if (this.instance(machine, instance) !== undefined) {
      throw new Error(`${machine} ${instance} already exists in ${this.project}`);
    }
    const step = initialStep(definition, input, this.at);
    const event = { type: 'xstate.init', at: this.at, input };
    return this.#record<M>(definition, instance, event, undefined, step);
  }

  send<M extends MachineName>(machine: M, instance: string, event: EventOf<M>): StepOutcome<M> {
    const before = this.#existing(machine, instance);
    return this.#step(before, event, before.timers);
  }

  canMove(machine: MachineName, instance: string): boolean {
    return this.#existing(machine, instance).version <= this.#definition(machine).version;
  }

  /**
   * Fires a timer: removes it from the instance and sends its event. `undefined` if the instance
   * does not have that timer (any more), or it is not due at `at`. A timer of an instance whose
   * last step is in the future may be due earlier than it states: `set-back-timers.ts` decides.
   */
  fire(timer: DueTimer): StepOutcome | undefined {
    const stored = this.#overlay.instance(timer.machine, timer.instance);
    const before = stored && typedInstance(this.#interpretation.machines, stored);
    const row = before?.timers.find((candidate) => candidate.id === timer.id);
    if (before === undefined || row === undefined) return undefined;
    if (row.dueMs > this.at && !isAhead(before.updatedMs, this.at)) return undefined;
    const left = before.timers.filter((candidate) => candidate !== row);
    return this.#step(before, { ...row.event, at: this.at }, left);
  }

  putRecord<K extends RecordKind>(change: RecordWrite<K>): void {
    const { kind, id, body, sort = '' } = change;
    // Reads never happen between the steps of a decision: of several changes of a record only the
    // last counts.
    const before = this.changes.findIndex((each) => each.kind === kind && each.id === id);
    if (before >= 0) this.changes.splice(before, 1);
    this.changes.push(change);
    this.#assertBounded();
    const record = body === null ? null : { project: this.project, kind, id, body, sort };
    this.#overlay.putRecord(kind, id, record);
  }

  forget(machine: MachineName, instance: string): void {
    if (!this.#existing(machine, instance).final) {
      throw new Error(`${machine} ${instance} of ${this.project} has not ended: its row stays`);
    }
    this.forgotten.push({ machine, instance });
    this.#assertBounded();
    this.#overlay.removeInstance(machine, instance);
  }

  truncate(start: ChainStart): void {
    this.truncation = start;
  }

  #step<M extends MachineName>(
    before: Instance<M>,
    event: AnyEvent,
    timers: Instance['timers'],
  ): StepOutcome<M> {
    if (before.final) return { instance: before, changed: false, effects: [] };
    const definition = this.#definition(before.machine);
    const row = { ...upcastRow(definition, before), timers };
    const step = nextStep(definition, row, event, this.at);
    const fired = timers.length < before.timers.length;
    if (step) return this.#record<M>(definition, before.instance, event, before, step);
    if (!fired) return { instance: before, changed: false, effects: [] };
    // The state ignored its timer, but the timer is spent all the same.
    const spent = { ...row, final: false, effects: [] };
    return this.#record<M>(definition, before.instance, event, before, spent);
  }

  #record<M extends MachineName>(
    definition: MachineDefinition,
    instance: string,
    event: AnyEvent,
    before: StoredInstance | undefined,
    step: Step,
  ): StepOutcome<M> {
    const { value, context, timers, final, effects } = step;
    const { name: machine, version } = definition;
    const outcome = { machine, version, instance, context, timers, final };
    this.steps.push({ ...outcome, event, from: before?.value ?? null, to: value });
    this.#assertBounded();
    const createdMs = before?.createdMs ?? this.at;
    const times = { createdMs, updatedMs: this.at };
    const stored = { ...outcome, ...times, project: this.project, value };
    this.#overlay.putInstance(stored);
    const row = typedInstance<M>(this.#interpretation.machines, stored);
    this.#expand(effects, typedInstance(this.#interpretation.machines, stored));
    return {
      instance: effects.length > 0 ? this.#existing(row.machine, instance) : row,
      changed: true,
      effects,
    };
  }

  #expand(effects: Step['effects'], source: Instance): void {
    if (effects.length === 0) return;
    if (++this.#depth > EFFECT_DEPTH_MAX) {
      throw new Error(`Effects of ${source.machine} form a cycle: ${effects[0]?.type}`);
    }
    for (const effect of effects) this.#interpretation.expand(effect, source, this);
    this.#depth--;
  }

  #assertBounded(): void {
    const events = this.steps.length + this.changes.length + this.forgotten.length;
    if (events <= COMMIT_EVENTS_MAX) return;
    throw new Refusal(
      'REQUEST_TOO_LARGE',
      `One change may touch at most ${COMMIT_EVENTS_MAX} things: split it`,
    );
  }

  #existing<M extends MachineName>(machine: M, instance: string): Instance<M> {
    const found = this.instance(machine, instance);
    if (found) return found;
    throw new Refusal('NOT_FOUND', `There is no ${machine} ${instance} in ${this.project}`);
  }

  #definition(machine: string): MachineDefinition {
    const definition = this.#interpretation.machines.get(machine);
    if (definition) return definition;
    throw new Error(`There is no machine ${machine}`);
  }

  instance<M extends MachineName>(machine: M, instance: string): Instance<M> | undefined {
    return this.#view.instance(machine, instance);
  }

  instances<M extends MachineName>(
    machine: M,
    options: ListOptions & InstanceFilter,
  ): Page<Instance<M>> {
    return this.#view.instances(machine, options);
  }

  countInstances(machine: MachineName, options: InstanceCount): number {
    return this.#view.countInstances(machine, options);
  }

  record<K extends RecordKind>(kind: K, id: string): ProjectRecord<K> | undefined {
    return this.#view.record(kind, id);
  }

  records<K extends RecordKind>(kind: K, options: ListOptions): Page<ProjectRecord<K>> {
    return this.#view.records(kind, options);
  }

  transitions(options: ListOptions & TransitionFilter): Page<RecordedTransition> {
    return this.#view.transitions(options);
  }
}

function upcastRow(definition: MachineDefinition, instance: StoredInstance) {
  try {
    return upcast(definition, instance);
  } catch (error) {
    if (error instanceof NewerRow) throw new Refusal('NOT_READY', error.message);
    throw error;
  }
}

// A project's projection plus the changes of a commit in the making. Reads see both, so a limit
// counted by one decision holds for the next in the same commit; a refused decision is rolled back
// to its savepoint and leaves nothing.

type Machines = ReadonlyMap<string, Pick<MachineDefinition, 'indexes'>>;

/** Changed items by their id; null: removed. */
type Changes<T> = Map<string, T | null>;

/**
 * The projection with the changes of a batch over it; the changes of a decision that threw are
 * rolled back.
 */
export class Overlay implements StoredView {
  readonly project: string;
  readonly #base: StoredView;
  readonly #machines: Machines;
  /** Changed instances by machine, and changed records by kind. */
  readonly #instances = new Map<string, Changes<StoredInstance>>();
  readonly #records = new Map<string, Changes<StoredRecord>>();
  /** Requested counts, by machine and filter: nothing is applied while a batch is decided. */
  readonly #counts = new Map<string, Map<string, Count>>();
  #undo: (() => void)[] = [];

  constructor(base: StoredView, machines: Machines) {
    this.project = base.project;
    this.#base = base;
    this.#machines = machines;
  }

  /** `rollback` reverts changes made from now on. */
  savepoint(): void {
    this.#undo = [];
  }

  rollback(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
    this.#counts.clear();
  }

  putInstance(item: StoredInstance): void {
    this.#putInstance(item.machine, item.instance, item);
  }

  removeInstance(machine: string, instance: string): void {
    this.#putInstance(machine, instance, null);
  }

  #putInstance(machine: string, id: string, item: StoredInstance | null): void {
    const counts = this.#counts.get(machine);
    const before = counts && this.instance(machine, id);
    for (const count of counts?.values() ?? []) {
      count.value += this.#weight(item, count.of) - this.#weight(before, count.of);
    }
    this.#put(this.#instances, machine, id, item);
  }

  putRecord(kind: string, id: string, item: StoredRecord | null): void {
    this.#put(this.#records, kind, id, item);
  }

  #put<T>(lists: Map<string, Changes<T>>, list: string, id: string, item: T | null): void {
    const changes: Changes<T> = lists.get(list) ?? new Map();
    lists.set(list, changes);
    const before = changes.get(id);
    changes.set(id, item);
    this.#undo.push(() => (before === undefined ? changes.delete(id) : changes.set(id, before)));
  }

  instance(machine: string, instance: string): StoredInstance | undefined {
    const change = this.#instances.get(machine)?.get(instance);
    return change === undefined ? this.#base.instance(machine, instance) : (change ?? undefined);
  }

  instances(machine: string, options: ListOptions & InstanceFilter): Page<StoredInstance> {
    const { final, owner, incident } = options;
    const filter = {
      ...(final === undefined ? {} : { final }),
      ...(owner === undefined ? {} : { owner }),
      ...(incident === undefined ? {} : { incident }),
    };
    const changes = this.#instances.get(machine) ?? NO_CHANGES;
    return mergePage(options, ['number', 'string'], {
      changed: changes,
      put: () => [...changes.values()].filter((item) => this.#weight(item, filter) > 0),
      read: (page) => this.#base.instances(machine, { ...page, ...filter }),
      idOf: (item) => item.instance,
      keyOf: (item) => [item.createdMs, item.instance],
    });
  }

  countInstances(machine: string, of: InstanceCount): number {
    const counts = this.#counts.get(machine) ?? new Map<string, Count>();
    this.#counts.set(machine, counts);
    const key = JSON.stringify(of);
    const known = counts.get(key);
    if (known) return known.value;
    const count = { of, value: this.#base.countInstances(machine, of) };
    for (const [id, item] of this.#instances.get(machine) ?? NO_CHANGES) {
      const before = this.#base.instance(machine, id);
      count.value += this.#weight(item, of) - this.#weight(before, of);
    }
    counts.set(key, count);
    return count.value;
  }

  /** 1 if the item matches, else 0. */
  #weight(item: StoredInstance | null | undefined, filter: InstanceFilter | InstanceCount): number {
    return item && this.#matches(item, filter) ? 1 : 0;
  }

  #matches(item: StoredInstance, filter: InstanceFilter | InstanceCount): boolean {
    const definition = this.#machines.get(item.machine);
    const indexed = (index: IndexName) => indexedValue(definition, index, item.context);
    if ('destination' in filter) {
      return item.value === filter.state && indexed('destination') === filter.destination;
    }
    const { final, owner, incident }: InstanceFilter = filter;
    if (incident !== undefined) return indexed('incident') === incident;
    if (final !== undefined && item.final !== final) return false;
    return owner === undefined || indexed('owner') === owner;
  }

  record(kind: string, id: string): StoredRecord | undefined {
    const change = this.#records.get(kind)?.get(id);
    return change === undefined ? this.#base.record(kind, id) : (change ?? undefined);
  }

  records(kind: string, options: ListOptions): Page<StoredRecord> {
    const changes = this.#records.get(kind) ?? NO_CHANGES;
    return mergePage(options, ['string', 'string'], {
      changed: changes,
      put: () => [...changes.values()],
      read: (page) => this.#base.records(kind, page),
      idOf: (item) => item.id,
      keyOf: (item) => [item.sort, item.id],
    });
  }

  transitions(options: ListOptions & TransitionFilter): Page<RecordedTransition> {
    return this.#base.transitions(options);
  }
}

const NO_CHANGES: ReadonlyMap<string, never> = new Map<string, never>();

/** A count with the changes made since it was first requested. */
interface Count {
  readonly of: InstanceCount;
  value: number;
}

interface Merge<T> {
  /** By the ids whose stored item no longer counts. */
  readonly changed: ReadonlyMap<string, unknown>;
  /** Changed items that match; null: a removed one. */
  put(): readonly (T | null)[];
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
  // That many stored items may be changed ones; one more shows that there is a next page.
  const stored = merge.read({ ...options, limit: limit + merge.changed.size + 1 });
  const items = stored.items.filter((item) => !merge.changed.has(merge.idOf(item)));
  const put = merge.put().filter((item) => item !== null);
  const following = put.filter(
    (item) => start === undefined || order(merge.keyOf(item), start) > 0,
  );
  const all = [...items, ...following].sort((a, b) => order(merge.keyOf(a), merge.keyOf(b)));
  return pageOf(all, limit, merge.keyOf);
}
