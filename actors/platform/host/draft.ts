/**
 * A decision in the making: runs the machines once, here at the writer, and writes down each step
 * with its outcome. Effects are expanded at once, inside the same decision, so that a firing, its
 * incident's record and its deliveries are one commit or none.
 */
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import {
  type ChainStart,
  COMMIT_EVENTS_MAX,
  type InstanceRef,
  type InstanceStep,
  type RecordChange,
} from '../../../streams/platform/commit/commit.ts';
import type {
  DueTimer,
  Instance,
  InstanceCount,
  InstanceFilter,
  ListOptions,
  Page,
  RecordedTransition,
  StoredRecord,
  TransitionFilter,
} from '../../../streams/platform/commit/projection.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Draft, EffectExpander, StepOutcome } from './host-port.ts';
import { initialStep, NewerRow, nextStep, type Step, upcast } from './interpreter.ts';
import type { Overlay } from './overlay.ts';

/** Machines and what expands their effects: the same for every decision of a host. */
export interface Interpretation {
  readonly machines: ReadonlyMap<string, MachineDefinition>;
  readonly expand: EffectExpander;
}

/** Effects may cause effects so deep; more is a circle. */
const EFFECT_DEPTH_MAX = 16;

type MachineEvent = { readonly type: string; readonly at: number } & Readonly<
  Record<string, unknown>
>;

export class DecisionDraft implements Draft {
  readonly project: string;
  readonly at: number;
  /** What has been decided so far. */
  readonly steps: InstanceStep[] = [];
  readonly changes: RecordChange[] = [];
  readonly forgotten: InstanceRef[] = [];
  truncation: ChainStart | undefined;
  readonly #overlay: Overlay;
  readonly #interpretation: Interpretation;
  #depth = 0;

  /** @param at time of the commit, Unix ms */
  constructor(overlay: Overlay, interpretation: Interpretation, at: number) {
    this.project = overlay.project;
    this.at = at;
    this.#overlay = overlay;
    this.#interpretation = interpretation;
  }

  start(machine: string, instance: string, input: Readonly<Record<string, unknown>>): StepOutcome {
    const definition = this.#definition(machine);
    if (this.instance(machine, instance) !== undefined) {
      throw new Error(`${machine} ${instance} exists already in ${this.project}`);
    }
    const step = initialStep(definition, input, this.at);
    const event = { type: 'xstate.init', at: this.at, input };
    return this.#record(definition, instance, event, undefined, step);
  }

  send(machine: string, instance: string, event: MachineEvent): StepOutcome {
    const before = this.#existing(machine, instance);
    return this.#step(before, event, before.timers);
  }

  /**
   * Fires a timer: takes it off the instance and sends its event. `undefined` when the instance
   * does not have that timer (any more), or it is not due at `at`.
   */
  fire(timer: DueTimer): StepOutcome | undefined {
    const before = this.instance(timer.machine, timer.instance);
    const row = before?.timers.find((candidate) => candidate.id === timer.id);
    if (before === undefined || row === undefined || row.dueMs > this.at) return undefined;
    const left = before.timers.filter((candidate) => candidate !== row);
    return this.#step(before, { ...row.event, at: this.at }, left);
  }

  putRecord(change: RecordChange): void {
    const { kind, id, body, sort = '' } = change;
    // Nobody sees between the steps of a decision: of several changes of a record the last counts.
    const before = this.changes.findIndex((each) => each.kind === kind && each.id === id);
    if (before >= 0) this.changes.splice(before, 1);
    this.changes.push(change);
    this.#assertBounded();
    const record = body === null ? null : { project: this.project, kind, id, body, sort };
    this.#overlay.putRecord(kind, id, record);
  }

  forget(machine: string, instance: string): void {
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

  #step(before: Instance, event: MachineEvent, timers: Instance['timers']): StepOutcome {
    if (before.final) return { instance: before, changed: false, effects: [] };
    const definition = this.#definition(before.machine);
    const row = { ...upcastRow(definition, before), timers };
    const step = nextStep(definition, row, event, this.at);
    const fired = timers.length < before.timers.length;
    if (step) return this.#record(definition, before.instance, event, before, step);
    if (!fired) return { instance: before, changed: false, effects: [] };
    // The state took no notice of its timer, but the timer is spent all the same.
    const spent = { ...row, final: false, effects: [] };
    return this.#record(definition, before.instance, event, before, spent);
  }

  #record(
    definition: MachineDefinition,
    instance: string,
    event: MachineEvent,
    before: Instance | undefined,
    step: Step,
  ): StepOutcome {
    const { value, context, timers, final, effects } = step;
    const { name: machine, version } = definition;
    const outcome = { machine, version, instance, context, timers, final };
    this.steps.push({ ...outcome, event, from: before?.value ?? null, to: value });
    this.#assertBounded();
    const createdMs = before?.createdMs ?? this.at;
    const row: Instance = {
      ...outcome,
      project: this.project,
      value,
      createdMs,
      updatedMs: this.at,
    };
    this.#overlay.putInstance(row);
    this.#expand(effects, row);
    return {
      instance: effects.length > 0 ? this.#existing(machine, instance) : row,
      changed: true,
      effects,
    };
  }

  #expand(effects: Step['effects'], source: Instance): void {
    if (effects.length === 0) return;
    if (++this.#depth > EFFECT_DEPTH_MAX) {
      throw new Error(`Effects of ${source.machine} go in circles: ${effects[0]?.type}`);
    }
    for (const effect of effects) this.#interpretation.expand(effect, source, this);
    this.#depth--;
  }

  #assertBounded(): void {
    const events = this.steps.length + this.changes.length + this.forgotten.length;
    if (events <= COMMIT_EVENTS_MAX) return;
    throw new Refusal(
      'REQUEST_TOO_LARGE',
      `One change may touch ${COMMIT_EVENTS_MAX} things at most: make it in several`,
    );
  }

  #existing(machine: string, instance: string): Instance {
    const found = this.instance(machine, instance);
    if (found) return found;
    throw new Refusal('NOT_FOUND', `There is no ${machine} ${instance} in ${this.project}`);
  }

  #definition(machine: string): MachineDefinition {
    const definition = this.#interpretation.machines.get(machine);
    if (definition) return definition;
    throw new Error(`There is no machine ${machine}`);
  }

  instance(machine: string, instance: string): Instance | undefined {
    return this.#overlay.instance(machine, instance);
  }

  instances(machine: string, options: ListOptions & InstanceFilter): Page<Instance> {
    return this.#overlay.instances(machine, options);
  }

  countInstances(machine: string, options: InstanceCount): number {
    return this.#overlay.countInstances(machine, options);
  }

  record(kind: string, id: string): StoredRecord | undefined {
    return this.#overlay.record(kind, id);
  }

  records(kind: string, options: ListOptions): Page<StoredRecord> {
    return this.#overlay.records(kind, options);
  }

  transitions(options: ListOptions & TransitionFilter): Page<RecordedTransition> {
    return this.#overlay.transitions(options);
  }
}

function upcastRow(definition: MachineDefinition, instance: Instance) {
  try {
    return upcast(definition, instance);
  } catch (error) {
    if (error instanceof NewerRow) throw new Refusal('NOT_READY', error.message);
    throw error;
  }
}
