/**
 * Renders a machine's layout as SVG, with the shapes of `pictureOf`. Their attributes are for
 * paper, so that the saved file needs no stylesheet; on the page the stylesheet overrides them.
 */
import { type ComponentChildren, h, type VNode } from 'preact';
import {
  type Layout,
  type LayoutState,
  type Marking,
  pictureOf,
  type Shape,
} from '../../audit/drawing/picture.ts';
import { texts } from './texts.ts';

export interface DrawingProps {
  readonly layout: Layout;
  readonly marking: Marking;
  /** True if marks are dashed: recomputed rather than recorded. */
  readonly isRecomputed: boolean;
  /** Wraps a state: it handles its keys and names it for screen readers. */
  readonly wrapState?: (state: LayoutState, shapes: ComponentChildren) => VNode;
}

/** The content of an `<svg>` of the layout's size. */
export function Drawing({ layout, wrapState = bare, ...marks }: DrawingProps): VNode {
  const { group, paper, states, above } = pictureOf(layout, { ...marks, now: texts.now });
  return (
    <g {...group}>
      {nodeOf(paper)}
      {states.map(({ state, shapes }) => wrapState(state, shapes.map(nodeOf)))}
      {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it is focusable */}
      <g aria-hidden="true">{above.map(nodeOf)}</g>
    </g>
  );
}

function bare(state: LayoutState, shapes: ComponentChildren): VNode {
  return <g key={state.id}>{shapes}</g>;
}

function nodeOf(shape: Shape | string): VNode | string {
  if (typeof shape === 'string') return shape;
  return h(shape.tag, shape.attributes, ...shape.content.map(nodeOf));
}
