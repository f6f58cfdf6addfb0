/** A machine as a tree of its states, for phones, where a diagram does not fit. */
import type { VNode } from 'preact';
import {
  arrowId,
  type Layout,
  type LayoutState,
  type Marking,
  withAncestors,
} from '../../audit/drawing/picture.ts';
import { texts } from './texts.ts';

export interface StateTreeProps {
  readonly layout: Layout;
  readonly marking: Marking;
}

export function StateTree({ layout, marking }: StateTreeProps): VNode {
  const marks: Marks = {
    layout,
    current: new Set(marking.current),
    active: withAncestors(layout, marking.current),
    visited: withAncestors(layout, marking.visited),
    taken: new Set(marking.taken),
  };
  return <States parentId="" marks={marks} />;
}

interface Marks {
  readonly layout: Layout;
  readonly current: ReadonlySet<string>;
  readonly active: ReadonlySet<string>;
  readonly visited: ReadonlySet<string>;
  readonly taken: ReadonlySet<string>;
}

function States({ parentId, marks }: { parentId: string; marks: Marks }): VNode | null {
  const states = marks.layout.states.filter((state) => state.parentId === parentId);
  if (states.length === 0) return null;
  return (
    <ul class="state-tree">
      {states.map((state) => (
        <StateItem key={state.id} state={state} marks={marks} />
      ))}
    </ul>
  );
}

function StateItem({ state, marks }: { state: LayoutState; marks: Marks }): VNode {
  const { id, name, description, kind } = state;
  const { current, active, visited } = marks;
  const isPassed = visited.has(id) && !active.has(id);
  return (
    <li class={active.has(id) ? 'active' : undefined} {...(current.has(id) && nowAttributes)}>
      <strong>{name}</strong> {current.has(id) && <span class="now-mark">{texts.now}</span>}
      {isPassed && <span class="passed-mark">✓ {texts.passed}</span>}
      {kind === 'FINAL' && <span class="weak"> {texts.final}</span>}
      <p class="weak">{description}</p>
      <Ways state={state} marks={marks} />
      <States parentId={id} marks={marks} />
    </li>
  );
}

const nowAttributes = { 'aria-current': 'true' } as const;

/** Events handled by the state, and their targets; expanded if the step used one. */
function Ways({ state, marks }: { state: LayoutState; marks: Marks }): VNode | null {
  const ways = waysFrom(marks.layout, state);
  if (ways.length === 0) return null;
  return (
    <details open={ways.some(({ id }) => marks.taken.has(id))}>
      <summary>{texts.events(ways.length)}</summary>
      <WayList ways={ways} taken={marks.taken} />
    </details>
  );
}

/** An event handled by a state, as a line of text. */
export interface WayText {
  readonly id: string;
  readonly label: string;
  /** Name of the target state; undefined for an internal transition. */
  readonly to: string | undefined;
  readonly description: string;
}

export function waysFrom(layout: Layout, { id, stays }: LayoutState): WayText[] {
  const names = new Map(layout.states.map((state) => [state.id, state.name]));
  const leading = layout.arrows
    .filter(({ fromState }) => fromState === id)
    .flatMap(({ toState, events }) =>
      events.map((event) => ({
        id: arrowId(id, event.event, toState),
        label: event.label,
        to: names.get(toState) ?? toState,
        description: event.description,
      })),
    );
  const staying = stays.map((event) => ({
    id: arrowId(id, event.event),
    label: event.label,
    to: undefined,
    description: event.description,
  }));
  return [...leading, ...staying];
}

export function WayList(props: {
  readonly ways: readonly WayText[];
  readonly taken: ReadonlySet<string>;
}): VNode {
  const { ways, taken } = props;
  return (
    <ul class="ways">
      {ways.map(({ id, label, to, description }) => (
        <li key={`${id} ${label}`} class={taken.has(id) ? 'taken' : undefined}>
          <code>{label}</code> {to === undefined ? texts.stays : `→ ${to}`}
          {taken.has(id) && <span class="now-mark">{texts.legendTaken}</span>}
          <span class="weak"> {description}</span>
        </li>
      ))}
    </ul>
  );
}
