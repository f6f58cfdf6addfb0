/**
 * The marks on a machine's drawing: the states it is in, those it was in, and the arrows that a
 * step took. Pure: it finds states and arrows by the ids of the service, and decides no transition.
 */
import type { ResponseOf } from '../data/rpc-types.ts';
import { texts } from './texts.ts';

/** Boxes and lines of a machine, as the service laid them out. */
export type Layout = NonNullable<ResponseOf<'AuditService', 'getMachine'>['layout']>;
export type LayoutState = Layout['states'][number];
export type LayoutArrow = Layout['arrows'][number];
export type LayoutEvent = LayoutArrow['events'][number];

/** A step of an instance, with the ids of its innermost states before and after. */
export interface Step {
  /** As the layout names it; empty = the creation. */
  readonly event: string;
  /** Empty for the step that created the instance. */
  readonly fromStates: readonly string[];
  readonly toStates: readonly string[];
}

/** Marks of one moment. States are innermost ones; what is around them follows from the layout. */
export interface Marking {
  readonly current: readonly string[];
  /** States it was in until then, with the current ones. */
  readonly visited: readonly string[];
  /** Ids of `arrowId` and `startId`. */
  readonly taken: readonly string[];
}

export const NOTHING_MARKED: Marking = { current: [], visited: [], taken: [] };

/** Id of an event's way from a state to another; without `toState` the event changes data only. */
export function arrowId(fromState: string, event: string, toState = ''): string {
  return `${fromState} ${event} ${toState}`;
}

/** Id of the arrow that enters the first child of a state; '' = of the machine. */
export function startId(parentId: string): string {
  return arrowId(parentId, '[*]');
}

/** What an event is called: of a timer `after snoozeEnd`, whose own name has the state's id in it. */
export function eventName(event: string): string {
  if (event === '' || event === 'xstate.init') return texts.created;
  const [, delay] = /^xstate\.after\.([^.]+)\./.exec(event) ?? [];
  return delay === undefined ? event : `after ${delay}`;
}

/** The states and all that are around them. */
export function withAncestors(layout: Layout, ids: readonly string[]): ReadonlySet<string> {
  const parents = new Map(layout.states.map(({ id, parentId }) => [id, parentId]));
  const all = new Set<string>();
  for (const id of ids) {
    for (let at: string | undefined = id; at; at = parents.get(at)) all.add(at);
  }
  return all;
}

/** The marks after each step, in their order. */
export function markingsOf(layout: Layout, steps: readonly Step[]): Marking[] {
  const visited = new Set<string>();
  return steps.map((step) => {
    for (const id of [...step.fromStates, ...step.toStates]) visited.add(id);
    return { current: step.toStates, visited: [...visited], taken: takenBy(layout, step) };
  });
}

/**
 * The arrows of a step: those of its event from a state that it was in to one that it is in. Where
 * the states changed, arrows that stay in place did not do it.
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

/** A state answers an event before those around it do. */
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
