/**
 * One step of a machine, purely: a row and an event in, the next row, its timers and its effects
 * out. A statechart's `after` shows up in the actions of `transition()` as a delayed raise, and as
 * a cancel when the state is left; here they become timers with absolute due times, which is how a
 * delay of 24 hours survives a restart.
 */
import type { AnyMachineSnapshot } from 'xstate';
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
import type { TimerRow } from '../../../streams/platform/commit/commit.ts';

/** What a step came to. */
export interface Step extends MachineRow {
  readonly timers: readonly TimerRow[];
  readonly final: boolean;
  readonly effects: readonly Effect[];
}

/** What a step starts from. */
export interface StepFrom extends MachineRow {
  readonly timers: readonly TimerRow[];
}

/** First step of an instance. @param at commit time, Unix ms: what delays count from */
export function initialStep(
  definition: MachineDefinition,
  input: Readonly<Record<string, unknown>>,
  at: number,
): Step {
  const { snapshot, actions } = firstTransition(definition.machine, input);
  return stepFrom(definition, snapshot, actions, [], at);
}

/** The next step, or undefined when the state does not take the event and nothing changes. */
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
    else throw new Error(`Machine ${definition.name} asks for ${type}, which nothing performs`);
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
  /** ms; absent for a raise that `transition()` has already worked off. */
  readonly delay?: number;
}

function raise(timers: Map<string, TimerRow>, raised: DelayedRaise, at: number): void {
  const { event, delay, id = event.type } = raised;
  if (delay === undefined) return;
  if (!Number.isFinite(delay)) throw new Error(`Timer ${id} has a delay of ${delay} ms`);
  timers.set(id, { id, dueMs: Math.ceil(at + Math.max(0, delay)), event });
}

/**
 * The row in its machine's current version. Throws `NewerRow` when a newer program wrote it, and an
 * Error when an up-caster is missing.
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

/** A row of a machine's version that this program does not have yet. */
export class NewerRow extends Error {
  constructor(definition: MachineDefinition, version: number) {
    super(
      `An instance of ${definition.name} has version ${version}, this program knows ` +
        `${definition.version}: ask a node that runs the newer program`,
    );
    this.name = 'NewerRow';
  }
}
