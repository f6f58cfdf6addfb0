/**
 * Walks a machine by its model: the shortest path to every state of the model (xstate/graph), then
 * every event of the alphabet from there. Each step is done as the host does it: from a row that
 * went through JSON, with timers kept beside it.
 */
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyTransitionDefinition,
  initialTransition,
  transition,
} from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import type { MachineDefinition, StateValueJson } from '../../../machines/platform/definition.ts';
import type { Effect } from '../../../machines/platform/effects.ts';
import type { Model, ModelEvent } from './model.ts';

export interface Row {
  readonly value: StateValueJson;
  readonly context: Readonly<Record<string, unknown>>;
  readonly final: boolean;
  /** Due times (Unix ms) by timer id. */
  readonly timers: ReadonlyMap<string, number>;
}

export interface Edge {
  /** The events that led to `from`, oldest first. */
  readonly path: readonly ModelEvent[];
  readonly from: Row;
  readonly event: ModelEvent;
  readonly to: Row;
  readonly effects: readonly Effect[];
  /** The declared transitions that were taken; none if the event changed nothing. */
  readonly taken: readonly AnyTransitionDefinition[];
}

export interface Walk {
  /** One row for every state of the model, reached by a shortest path. */
  readonly rows: readonly Row[];
  /** Every event of the alphabet from every row. */
  readonly edges: readonly Edge[];
}

/** A longer walk means that a model's key is not finite; the longest one takes 15,000 steps. */
const STEPS_MAX = 100_000;

/** Throws if the walk exceeds STEPS_MAX. */
export function walk({ machine }: MachineDefinition, model: Model): Walk {
  const paths = getShortestPaths(machine, {
    input: model.input,
    limit: STEPS_MAX,
    events: ({ context }: AnyMachineSnapshot) => model.events(context),
    serializeState: ({ value, context }: AnyMachineSnapshot) =>
      JSON.stringify([value, model.key(context)]),
  });
  const start = startRow(machine, model);
  const reached = paths.map(({ steps }) => {
    const path = (steps as { event: ModelEvent }[])
      .map(({ event }) => event)
      .filter(({ type }) => type !== 'xstate.init');
    const row = path.reduce((row, event) => stepOf(machine, row, event).to, start);
    return { row, path };
  });
  return {
    rows: reached.map(({ row }) => row),
    edges: reached.flatMap(({ row, path }) =>
      model.events(row.context).map((event) => ({ path, ...stepOf(machine, row, event) })),
    ),
  };
}

/** One step from a row, done as the host does it. */
function stepOf(machine: AnyStateMachine, from: Row, event: ModelEvent): Omit<Edge, 'path'> {
  const before = machine.resolveState(JSON.parse(JSON.stringify(from)));
  const taken = machine.getTransitionData(before, event);
  const [after, actions] = transition(machine, before, event);
  const due = new Map(from.timers);
  for (const [id] of due) if (id === event.type) due.delete(id);
  const effects = perform(actions, due, event.at);
  return { from, event, to: rowOf(after, due), effects, taken: taken ?? [] };
}

function startRow(machine: AnyStateMachine, model: Model): Row {
  const [snapshot, actions] = initialTransition(machine, model.input);
  const timers = new Map<string, number>();
  perform(actions, timers, Number(model.input.at));
  return rowOf(snapshot, timers);
}

/** Effects of the machine's first step. */
export function startEffects(machine: AnyStateMachine, model: Model): Effect[] {
  return perform(initialTransition(machine, model.input)[1], new Map(), 0);
}

/** Dotted names of the innermost states: `firing.data.missing`. */
export function leavesOf(value: StateValueJson): string[] {
  if (typeof value === 'string') return [value];
  return Object.entries(value).flatMap(([name, inner]) =>
    leavesOf(inner).map((leaf) => `${name}.${leaf}`),
  );
}

function rowOf(snapshot: AnyMachineSnapshot, timers: ReadonlyMap<string, number>): Row {
  const { value, context } = JSON.parse(JSON.stringify(snapshot));
  const final = snapshot.status === 'done';
  return { value, context, final, timers: final ? new Map() : timers };
}

interface Action {
  readonly type: string;
  readonly params: unknown;
}

/**
 * Starts and stops timers in place; returns the effects. Throws on an action that no host performs.
 */
function perform(actions: readonly Action[], timers: Map<string, number>, at: number): Effect[] {
  return actions.flatMap(({ type, params }) => {
    if (type === 'effect') return [params as Effect];
    if (type === 'xstate.cancel') {
      timers.delete((params as { sendId: string }).sendId);
      return [];
    }
    if (type !== 'xstate.raise') throw new Error(`The host does not perform ${type}`);
    const { id, delay } = params as { id: string; delay: number };
    if (!Number.isFinite(delay) || delay < 0) throw new Error(`Timer ${id} in ${delay} ms`);
    timers.set(id, at + delay);
    return [];
  });
}
