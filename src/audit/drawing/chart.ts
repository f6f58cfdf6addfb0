/**
 * A statechart prepared for drawing: states as a tree, arrows as a flat list. The pictures, the
 * Mermaid text and the tables of the generated documentation read only this and no xstate object,
 * so that all of them show the same states, events and sentences.
 */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import type { MachineDefinition } from '../../../machines/platform/definition.ts';

/** One machine, ready to be drawn. */
export interface Chart {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** The machine itself. Its children are the top states. */
  readonly root: ChartState;
  /** In the order in which the machine declares them. */
  readonly arrows: readonly ChartArrow[];
}

/** One state with its inner states. */
export interface ChartState {
  /** Full id, e.g. `alertInstance.firing.data`; unique within the chart. */
  readonly id: string;
  /** Last part of the id. */
  readonly name: string;
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final';
  readonly description: string;
  /** Id of the child entered first; undefined unless compound. */
  readonly initial: string | undefined;
  readonly children: readonly ChartState[];
}

/** One transition. */
export interface ChartArrow {
  readonly source: string;
  /** undefined: the event changes only data; the state stays. */
  readonly target: string | undefined;
  /** Name of the event, or `after <delay>`. */
  readonly event: string;
  /** The event's type, as recorded in transitions. */
  readonly type: string;
  /** Name of the guard that must hold. */
  readonly guard: string | undefined;
  readonly description: string;
}

/** The chart of a registered machine. */
export function chartOf(definition: MachineDefinition): Chart {
  const { name, version, description, machine } = definition;
  const root = stateOf(machine.root);
  return { name, version, description, root, arrows: arrowsBelow(machine.root) };
}

/** The label of an arrow: its event, and in brackets the words of its guard. */
export function labelOf({ event, guard }: ChartArrow): string {
  return guard === undefined ? event : `${event} [${wordsOf(guard)}]`;
}

/** `isNotYetCorrected` -> `is not yet corrected`; an abbreviation stays one word. */
function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/\b[A-Z](?![A-Z])/g, (letter) => letter.toLowerCase());
}

/** The state and all states below it, parents first. */
export function statesIn(state: ChartState): ChartState[] {
  return [state, ...state.children.flatMap(statesIn)];
}

function stateOf(node: AnyStateNode): ChartState {
  return {
    id: node.id,
    name: node.key,
    kind: node.type === 'history' ? 'atomic' : node.type,
    description: node.description ?? '',
    initial: node.type === 'compound' ? node.initial.target[0]?.id : undefined,
    children: childrenOf(node).map(stateOf),
  };
}

function arrowsBelow(node: AnyStateNode): ChartArrow[] {
  const own = [...node.transitions.values()].flat().map(arrowOf);
  return [...own, ...childrenOf(node).flatMap(arrowsBelow)];
}

function arrowOf(transition: AnyTransitionDefinition): ChartArrow {
  return {
    source: transition.source.id,
    target: transition.target?.[0]?.id,
    event: eventLabel(transition.eventType, transition.source.id),
    type: transition.eventType,
    guard: guardName(transition.guard),
    description: transition.description ?? '',
  };
}

/** xstate names a delayed transition's event `xstate.after.<delay>.<state id>`. */
function eventLabel(eventType: string, sourceId: string): string {
  const prefix = 'xstate.after.';
  if (!eventType.startsWith(prefix)) return eventType;
  return `after ${eventType.slice(prefix.length, -(sourceId.length + 1))}`;
}

function guardName(guard: AnyTransitionDefinition['guard']): string | undefined {
  if (guard === undefined) return undefined;
  if (typeof guard === 'string') return guard;
  return typeof guard === 'function' ? guard.name || 'guard' : guard.type;
}

function childrenOf(node: AnyStateNode): AnyStateMachine['root'][] {
  return Object.values(node.states);
}
