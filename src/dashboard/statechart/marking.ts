/**
 * Marks on a machine's diagram: current states, earlier states, and transitions taken by a step.
 * Pure: it finds states and arrows by the service's ids, and decides no transition.
 */
import {
  arrowId,
  type Layout,
  type LayoutEvent,
  type Marking,
  startId,
  withAncestors,
} from '../../audit/drawing/picture.ts';
import { texts } from './texts.ts';

/** A step of an instance, with the ids of its innermost states before and after. */
export interface Step {
  /** Name in the layout; empty for the creation. */
  readonly event: string;
  /** Empty for the step that created the instance. */
  readonly fromStates: readonly string[];
  readonly toStates: readonly string[];
}

/**
 * Display name of an event: `after snoozeEnd` for a timer, whose own name contains the state's id.
 */
export function eventName(event: string): string {
  if (event === '' || event === 'xstate.init') return texts.created;
  const [, delay] = /^xstate\.after\.([^.]+)\./.exec(event) ?? [];
  return delay === undefined ? event : `after ${delay}`;
}

/** The marks after each step, in order. */
export function markingsOf(layout: Layout, steps: readonly Step[]): Marking[] {
  const visited = new Set<string>();
  return steps.map((step) => {
    for (const id of [...step.fromStates, ...step.toStates]) visited.add(id);
    return { current: step.toStates, visited: [...visited], taken: takenBy(layout, step) };
  });
}

/**
 * The arrows of a step: those of its event from a previous to a current state. If the states
 * changed, internal transitions are excluded.
 */
function takenBy(layout: Layout, { event, fromStates, toStates }: Step): string[] {
  const before = withAncestors(layout, fromStates);
  const after = withAncestors(layout, toStates);
  if (fromStates.length === 0) return startsInto(layout, after);
  const isOf = (one: LayoutEvent): boolean => one.event === event;
  const arrows = layout.arrows.filter(
    ({ fromState, toState, events }) =>
      before.has(fromState) && after.has(toState) && events.some(isOf),
  );
  const leaving = arrows.filter(({ toState }) => !before.has(toState));
  if (leaving.length > 0) return innermost(layout, leaving, event);
  const stays = layout.states
    .filter(({ id, stays }) => before.has(id) && after.has(id) && stays.some(isOf))
    .map(({ id }) => ({ fromState: id, toState: '' }));
  return innermost(layout, [...arrows, ...stays], event);
}

function startsInto(layout: Layout, after: ReadonlySet<string>): string[] {
  return layout.starts
    .filter(
      ({ parentId, toState }) => (parentId === '' || after.has(parentId)) && after.has(toState),
    )
    .map(({ parentId }) => startId(parentId));
}

interface Way {
  readonly fromState: string;
  readonly toState: string;
}

/** A state handles an event before its ancestors do. */
function innermost(layout: Layout, ways: readonly Way[], event: string): string[] {
  return ways
    .filter(({ fromState }) =>
      ways.every(
        (other) =>
          other.fromState === fromState || !withAncestors(layout, [other.fromState]).has(fromState),
      ),
    )
    .map(({ fromState, toState }) => arrowId(fromState, event, toState));
}
