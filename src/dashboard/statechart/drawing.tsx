/**
 * Renders a machine's layout as SVG. Every shape has presentation attributes for paper, so that the
 * saved file needs no stylesheet; on the page the stylesheet overrides them by class. Measures are
 * those with which the service reserved space for the texts.
 */
import type { ComponentChildren, VNode } from 'preact';
import {
  arrowId,
  type Layout,
  type LayoutArrow,
  type LayoutEvent,
  type LayoutState,
  type Marking,
  startId,
  withAncestors,
} from './marking.ts';
import { HEADER, LABEL_SIZE, LINE, NAME_SIZE, START_RADIUS } from './measures.ts';
import { texts } from './texts.ts';

/** Colours for paper. */
const INK = '#1f2933';
const PAPER = '#ffffff';
const FRAME = '#3e5c76';
const SOFT = '#52606d';
const MARK = '#1a56b0';
const MARK_FILL = '#dbe8fb';
const DASHES = '6 4';

type Point = LayoutArrow['points'][number];

export interface DrawingProps {
  readonly layout: Layout;
  readonly marking: Marking;
  /** True if marks are dashed: recomputed rather than recorded. */
  readonly isRecomputed: boolean;
  /** Wraps a state: it handles its keys and names it for screen readers. */
  readonly wrapState?: (state: LayoutState, shapes: ComponentChildren) => VNode;
}

/** The content of an `<svg>` of the layout's size. */
export function Drawing(props: DrawingProps): VNode {
  const { layout, marking, isRecomputed, wrapState = bare } = props;
  const { width, height, states, starts, arrows } = layout;
  const current = new Set(marking.current);
  const active = withAncestors(layout, marking.current);
  const visited = withAncestors(layout, marking.visited);
  const taken = new Set(marking.taken);
  const dashes = isRecomputed ? DASHES : undefined;
  return (
    <g font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" fill={INK}>
      <rect class="paper" width={width} height={height} fill={PAPER} />
      {states.map((state) => {
        const { id } = state;
        const look = { isActive: active.has(id), isVisited: visited.has(id), dashes };
        return wrapState(state, <StateBox state={state} {...look} taken={taken} />);
      })}
      {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it is focusable */}
      <g aria-hidden="true">
        {starts.map(({ parentId, point, points }) => (
          <g key={parentId}>
            <Line points={points} isTaken={taken.has(startId(parentId))} dashes={dashes} />
            {point && <circle class="start" cx={point.x} cy={point.y} r={START_RADIUS} />}
          </g>
        ))}
        {arrows.map((arrow) => (
          <Line
            key={keyOf(arrow)}
            points={arrow.points}
            isTaken={arrow.events.some((event) => taken.has(idOf(arrow, event)))}
            dashes={dashes}
          />
        ))}
        {/* Lines before labels, so that a label's background hides lines that cross it. */}
        {arrows.map((arrow) => (
          <Label key={keyOf(arrow)} arrow={arrow} taken={taken} />
        ))}
        {states.map((state) => current.has(state.id) && <NowTag key={state.id} state={state} />)}
        {states.map(
          (state) =>
            visited.has(state.id) &&
            !active.has(state.id) && <PassedTag key={state.id} state={state} />,
        )}
      </g>
    </g>
  );
}

function bare(state: LayoutState, shapes: ComponentChildren): VNode {
  return <g key={state.id}>{shapes}</g>;
}

function keyOf({ fromState, toState }: LayoutArrow): string {
  return `${fromState} ${toState}`;
}

function idOf({ fromState, toState }: LayoutArrow, { event }: LayoutEvent): string {
  return arrowId(fromState, event, toState);
}

interface StateBoxProps {
  readonly state: LayoutState;
  readonly isActive: boolean;
  readonly isVisited: boolean;
  readonly dashes: string | undefined;
  readonly taken: ReadonlySet<string>;
}

function StateBox({ state, isActive, isVisited, dashes, taken }: StateBoxProps): VNode | null {
  const { id, name, kind, description, box, stays } = state;
  if (box === undefined) return null;
  const { x, y, width, height } = box;
  const hasChildren = kind === 'COMPOUND' || kind === 'PARALLEL';
  const fill = hasChildren ? PAPER : isActive ? MARK_FILL : '#f3f7fb';
  return (
    <>
      <title>{`${name}: ${description}`}</title>
      <rect
        class={classesOf({ box: true, outer: hasChildren, active: isActive, visited: isVisited })}
        x={x}
        y={y}
        width={width}
        height={height}
        rx={8}
        fill={fill}
        stroke={isActive || isVisited ? MARK : FRAME}
        stroke-width={isActive ? 3 : 1.4}
        stroke-dasharray={isActive || isVisited ? dashes : undefined}
      />
      {kind === 'FINAL' && (
        // A double border, as in UML's bull's-eye.
        <rect
          class="inner"
          x={x + 4}
          y={y + 4}
          width={width - 8}
          height={height - 8}
          rx={5}
          fill="none"
          stroke={SOFT}
        />
      )}
      <text
        x={x + width / 2}
        y={y + 22}
        font-size={NAME_SIZE}
        font-weight={isActive ? 700 : 600}
        text-anchor="middle"
      >
        {name}
      </text>
      {stays.length > 0 && (
        <line class="rule" x1={x} x2={x + width} y1={y + HEADER} y2={y + HEADER} stroke="#bcccdc" />
      )}
      {stays.map((event, i) => (
        <EventText
          key={event.label}
          event={event}
          at={{ x: x + 12, y: y + HEADER + 14 + i * LINE }}
          isTaken={taken.has(arrowId(id, event.event))}
        />
      ))}
    </>
  );
}

interface LineProps {
  readonly points: readonly Point[];
  readonly isTaken: boolean;
  readonly dashes: string | undefined;
}

function Line({ points, isTaken, dashes }: LineProps): VNode {
  const path = points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join(' ');
  const colour = isTaken ? MARK : SOFT;
  return (
    <g class={isTaken ? 'arrow taken' : 'arrow'}>
      <path
        class="line"
        d={path}
        fill="none"
        stroke={colour}
        stroke-width={isTaken ? 3 : 1.3}
        stroke-dasharray={isTaken ? dashes : undefined}
      />
      <path class="head" d={headOf(points, isTaken ? 12 : 9)} fill={colour} />
    </g>
  );
}

/** A triangle at the end of the line, in its direction. */
function headOf(points: readonly Point[], size: number): string {
  const tip = points.at(-1);
  const before = points.at(-2);
  if (tip === undefined || before === undefined) return '';
  const length = Math.hypot(tip.x - before.x, tip.y - before.y) || 1;
  const along = { x: (tip.x - before.x) / length, y: (tip.y - before.y) / length };
  const back = { x: tip.x - along.x * size, y: tip.y - along.y * size };
  const side = { x: -along.y * size * 0.45, y: along.x * size * 0.45 };
  const corners = [
    tip,
    { x: back.x + side.x, y: back.y + side.y },
    { x: back.x - side.x, y: back.y - side.y },
  ];
  return `M${corners.map(({ x, y }) => `${tenths(x)} ${tenths(y)}`).join('L')}z`;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function Label(props: { arrow: LayoutArrow; taken: ReadonlySet<string> }): VNode | null {
  const { arrow, taken } = props;
  const { label, events } = arrow;
  if (label === undefined) return null;
  const { x, y, width, height } = label;
  return (
    <g>
      <rect class="paper" x={x} y={y} width={width} height={height} fill={PAPER} />
      {events.map((event, i) => (
        <EventText
          key={event.label}
          event={event}
          at={{ x: x + 4, y: y + 12 + i * LINE }}
          isTaken={taken.has(idOf(arrow, event))}
        />
      ))}
    </g>
  );
}

function EventText(props: { event: LayoutEvent; at: Point; isTaken: boolean }): VNode {
  const { event, at, isTaken } = props;
  return (
    <text
      class={isTaken ? 'event taken' : 'event'}
      x={at.x}
      y={at.y}
      font-size={LABEL_SIZE}
      {...(isTaken && { 'font-weight': 700, fill: MARK, 'text-decoration': 'underline' })}
    >
      <title>{event.description}</title>
      {event.label}
    </text>
  );
}

const TAG_WIDTH = 40;
const TAG_HEIGHT = 17;

/** On the border, where the state has no text. */
function NowTag({ state: { box } }: { readonly state: LayoutState }): VNode | null {
  if (box === undefined) return null;
  const x = box.x + box.width - TAG_WIDTH - 6;
  const y = box.y - TAG_HEIGHT / 2;
  return (
    <g class="now-tag">
      <rect x={x} y={y} width={TAG_WIDTH} height={TAG_HEIGHT} rx={TAG_HEIGHT / 2} fill={MARK} />
      <text
        x={x + TAG_WIDTH / 2}
        y={y + 12.5}
        font-size={LABEL_SIZE}
        font-weight={700}
        text-anchor="middle"
        fill={PAPER}
      >
        {texts.now}
      </text>
    </g>
  );
}

/** Radius of the mark of an earlier state, px. */
const PASSED_RADIUS = 8;

/** On the corner of the border, where the state has no text, however long its name is. */
function PassedTag({ state: { box } }: { readonly state: LayoutState }): VNode | null {
  if (box === undefined) return null;
  const { x, y } = box;
  return (
    <g class="passed-tag">
      <circle class="paper" cx={x} cy={y} r={PASSED_RADIUS} fill={PAPER} stroke={MARK} />
      <path
        class="tick"
        d={`M${x - 4} ${y}l3 3.5 5-8`}
        fill="none"
        stroke={MARK}
        stroke-width={2}
      />
    </g>
  );
}

function classesOf(classes: Readonly<Record<string, boolean>>): string {
  return Object.keys(classes)
    .filter((name) => classes[name])
    .join(' ');
}
