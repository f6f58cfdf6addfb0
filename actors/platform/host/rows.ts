/**
 * Rows of machines: how one step makes the next row, and the types of rows and records by name.
 *
 * A step is pure: a row and an event in, the next row, its timers and its effects out. A
 * statechart's `after` appears in the actions of `transition()` as a delayed raise, and as a cancel
 * when the state is left; here they become timers with absolute due times, so a delay of 24 hours
 * survives a restart.
 */
import type { AnyMachineSnapshot } from 'xstate';
import type { MachineName, MachineTypes } from '../../../machines/audit/registry.ts';
import type {
  MachineDefinition,
  MachineRow,
  StateValueJson,
} from '../../../machines/platform/definition.ts';
import type { Effect } from '../../../machines/platform/effects.ts';
import {
  type ActionRequest,
  firstTransition,
  nextTransition,
  snapshotOf,
} from '../../../machines/platform/transition.ts';
import type { RecordChange, TimerRow } from '../../../streams/platform/commit/commit.ts';
import type {
  DeliveryFilter,
  IncidentCount,
  IncidentFilter,
  InstanceCount,
  InstanceFilter,
  ListOptions,
  Page,
  RecordedTransition,
  StateCounts,
  StoredInstance,
  StoredReads,
  StoredRecord,
  StoredView,
  TransitionFilter,
} from '../../../streams/platform/commit/projection.ts';

/** Result of a step. */
export interface Step extends MachineRow {
  readonly timers: readonly TimerRow[];
  readonly final: boolean;
  readonly effects: readonly Effect[];
}

/** Start of a step. */
export interface StepFrom extends MachineRow {
  readonly timers: readonly TimerRow[];
}

/** First step of an instance. @param at commit time, Unix ms: start of all delays */
export function initialStep(
  definition: MachineDefinition,
  input: Readonly<Record<string, unknown>>,
  at: number,
): Step {
  const { snapshot, actions } = firstTransition(definition.machine, input);
  return stepFrom(definition, snapshot, actions, [], at);
}

/** The next step, or undefined if the state does not accept the event and nothing changes. */
export function nextStep(
  definition: MachineDefinition,
  row: StepFrom,
  event: { readonly type: string },
  at: number,
): Step | undefined {
  const { machine } = definition;
  const next = nextTransition(machine, snapshotOf(machine, row), event);
  return next && stepFrom(definition, next.snapshot, next.actions, row.timers, at);
}

function stepFrom(
  definition: MachineDefinition,
  snapshot: AnyMachineSnapshot,
  actions: readonly ActionRequest[],
  timers: readonly TimerRow[],
  at: number,
): Step {
  if (snapshot.status === 'error') {
    throw new Error(`Machine ${definition.name} failed`, { cause: snapshot.error });
  }
  const left = new Map(timers.map((timer) => [timer.id, timer]));
  const effects: Effect[] = [];
  for (const { type, params } of actions) {
    if (type === 'xstate.raise') raise(left, params as DelayedRaise, at);
    else if (type === 'xstate.cancel') left.delete((params as { sendId: string }).sendId);
    // The machines' own action type: its params are an `Effect` by the machines' types.
    else if (type === 'effect') effects.push(params as Effect);
    else throw new Error(`Machine ${definition.name} requests ${type}, which nothing performs`);
  }
  const final = snapshot.status === 'done';
  return {
    value: snapshot.value as StateValueJson,
    context: snapshot.context as Record<string, unknown>,
    timers: final ? [] : [...left.values()],
    final,
    effects,
  };
}

interface DelayedRaise {
  readonly event: { readonly type: string };
  readonly id?: string;
  /** Delay, ms; absent for a raise that `transition()` has already processed. */
  readonly delay?: number;
}

function raise(timers: Map<string, TimerRow>, raised: DelayedRaise, at: number): void {
  const { event, delay, id = event.type } = raised;
  if (delay === undefined) return;
  if (!Number.isFinite(delay)) throw new Error(`Timer ${id} has a delay of ${delay} ms`);
  timers.set(id, { id, dueMs: Math.ceil(at + Math.max(0, delay)), event });
}

/**
 * The row in its machine's current version. Throws `NewerRow` if a newer program wrote it, and an
 * Error if an up-caster is missing.
 */
export function upcast(
  definition: MachineDefinition,
  row: MachineRow & { readonly version: number },
): MachineRow {
  if (row.version > definition.version) throw new NewerRow(definition, row.version);
  let current: MachineRow = row;
  for (let version = row.version; version < definition.version; version++) {
    const upcaster = definition.upcasters[version];
    if (!upcaster) throw new Error(`Machine ${definition.name} has no up-caster from ${version}`);
    current = upcaster(current);
  }
  return current;
}

/** A row of a machine version that this program does not yet have. */
export class NewerRow extends Error {
  constructor(definition: MachineDefinition, version: number) {
    super(
      `An instance of ${definition.name} has version ${version}, this program knows ` +
        `${definition.version}: use a node that runs the newer program`,
    );
    this.name = 'NewerRow';
  }
}

// Rows of the projection, typed by the name of their machine or the kind of their record. The types
// hold because every row is written through a `Draft`, which accepts only what its machine or kind
// allows, and because contexts of older versions are upgraded when they are read.

/**
 * A machine's instance, in the machine version that this program runs. For several machines a
 * union, which comparing `machine` narrows.
 */
export type Instance<M extends MachineName = MachineName> = { [Name in M]: InstanceOf<Name> }[M];

interface InstanceOf<M extends MachineName> extends StoredInstance {
  readonly machine: M;
  readonly context: ContextOf<M>;
}

/** Context of a machine by its name, in its newest version. */
export type ContextOf<M extends MachineName> = MachineTypes[M]['context'];
/** Events of a machine by its name. */
export type EventOf<M extends MachineName> = MachineTypes[M]['event'];
/** Input of a machine, by its name. */
export type InputOf<M extends MachineName> = MachineTypes[M]['input'];

/**
 * Bodies of records by their kind. Each room declares its kinds beside the code that writes them:
 * `declare module '…/host/rows.ts' { interface RecordBodies { vm: VmBody } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the rooms add its members.
export interface RecordBodies {}

/** Kinds of records that a room has declared. */
export type RecordKind = keyof RecordBodies;

/** A document beside the machines. */
export interface ProjectRecord<K extends RecordKind = RecordKind> extends StoredRecord {
  readonly kind: K;
  readonly body: Readonly<RecordBodies[K]>;
}

/** A change of a record; a null body removes it. */
export interface RecordWrite<K extends RecordKind = RecordKind> extends RecordChange {
  readonly kind: K;
  readonly body: Readonly<RecordBodies[K]> | null;
}

/** Kind of incidents' records, which their room declares. */
type IncidentKind = Extract<RecordKind, 'incident'>;
type PageStart = Omit<ListOptions, 'descending'>;

/** Reads of one project's projection: synchronous, consistent within one turn of the event loop. */
export interface ProjectView {
  readonly project: string;
  instance<M extends MachineName>(machine: M, instance: string): Instance<M> | undefined;
  /** Ordered by creation time, then id. Throws `Refusal` INVALID_FIELD for a foreign `after`. */
  instances<M extends MachineName>(
    machine: M,
    options: ListOptions & InstanceFilter,
  ): Page<Instance<M>>;
  countInstances(machine: MachineName, options: InstanceCount): number;
  record<K extends RecordKind>(kind: K, id: string): ProjectRecord<K> | undefined;
  /** Ordered by `sort`, then id (byte order). */
  records<K extends RecordKind>(kind: K, options: ListOptions): Page<ProjectRecord<K>>;
  /** Ordered by position; only applied records, even in a draft. See `StoredView.transitions`. */
  transitions(options: ListOptions & TransitionFilter): Page<RecordedTransition>;
}

/** The applied rows, found by more indexes than decisions need; see `StoredReads`. */
export interface ProjectReads extends ProjectView {
  countByState(machine: MachineName, of: 'live' | { readonly endedSinceMs: number }): StateCounts;
  incidents(filter: IncidentFilter, page: PageStart): Page<ProjectRecord<IncidentKind>>;
  countIncidents(): readonly IncidentCount[];
  deliveries(filter: DeliveryFilter, page: PageStart): Page<Instance<'delivery'>>;
}

/** Records of a project from a reader of the projection's file, typed by their kind. */
export function recordsOf<K extends RecordKind>(
  reader: { read(project: string, kind: string): readonly Pick<StoredRecord, 'id' | 'body'>[] },
  project: string,
  kind: K,
): readonly Pick<ProjectRecord<K>, 'id' | 'body'>[] {
  return reader.read(project, kind) as Pick<ProjectRecord<K>, 'id' | 'body'>[];
}

/** Narrows a committed change of any record to one of this kind. */
export function isRecordOf<K extends RecordKind>(
  change: RecordChange,
  kind: K,
): change is RecordWrite<K> {
  return change.kind === kind;
}

/**
 * The row in its machine's current version. A row of a newer program's version is returned
 * unchanged: this node shows the fields that it knows, and refuses decisions on it.
 */
export function typedInstance<M extends MachineName>(
  machines: ReadonlyMap<string, MachineDefinition>,
  row: StoredInstance,
): Instance<M> {
  const definition = machines.get(row.machine);
  const current =
    definition === undefined || row.version >= definition.version
      ? row
      : { ...row, ...upcast(definition, row), version: definition.version };
  // The one place where stored JSON gets its machine's type: only that machine writes such rows.
  return current as Instance<M>;
}

/** The view with every instance in its machine's current version. */
export function typedView(
  machines: ReadonlyMap<string, MachineDefinition>,
  view: StoredView,
): ProjectView {
  return {
    project: view.project,
    instance(machine, id) {
      const found = view.instance(machine, id);
      return found && typedInstance(machines, found);
    },
    instances(machine, options) {
      const page = view.instances(machine, options);
      return { ...page, items: page.items.map((item) => typedInstance(machines, item)) };
    },
    countInstances: (machine, options) => view.countInstances(machine, options),
    // Only `Draft.putRecord` writes bodies, each of its kind's type.
    record: <K extends RecordKind>(kind: K, id: string) =>
      view.record(kind, id) as ProjectRecord<K> | undefined,
    records: <K extends RecordKind>(kind: K, options: ListOptions) =>
      view.records(kind, options) as Page<ProjectRecord<K>>,
    transitions: (options) => view.transitions(options),
  };
}

/** The same for everything applied. */
export function typedReads(
  machines: ReadonlyMap<string, MachineDefinition>,
  view: StoredReads,
): ProjectReads {
  return {
    ...typedView(machines, view),
    countByState: (machine, of) => view.countByState(machine, of),
    incidents: (filter, page) => view.incidents(filter, page) as Page<ProjectRecord<IncidentKind>>,
    countIncidents: () => view.countIncidents(),
    deliveries(filter, options) {
      const page = view.deliveries(filter, options);
      return { ...page, items: page.items.map((item) => typedInstance(machines, item)) };
    },
  };
}
