/**
 * The picture of a laid-out statechart, as shapes. The service writes them as an SVG document, and
 * the dashboard renders them with marks: both paint the same. Every shape has presentation
 * attributes for paper, so that a file needs no stylesheet; on a page, a stylesheet overrides them
 * by class. It runs in the browser too, so it imports neither elkjs nor xstate.
 */

/** Font size of the names of states, px. */
const NAME_SIZE = 14;
/** Font size of the labels of arrows, px. */
const LABEL_SIZE = 11.5;
/** Height of a line of events, px. */
export const LINE = 16;
/** Height of a state's header with its name, px. */
export const HEADER = 30;
/** Radius of the dots, px. */
export const START_RADIUS = 5;

/** Colours for paper. */
const INK = '#1f2933';
const PAPER = '#ffffff';
const FRAME = '#3e5c76';
const SOFT = '#52606d';
const RULE = '#bcccdc';
const FILL = '#f3f7fb';
const MARK = '#1a56b0';
const MARK_FILL = '#dbe8fb';
/** Dashes of marks that were recomputed rather than recorded. */
const MARK_DASHES = '6 4';
const REGION_DASHES = '5 4';

/** A position in the picture, px from its upper left corner. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A rectangle; the point is its upper left corner. */
export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** An event with its text in the picture. */
export interface LayoutEvent {
  readonly event: string;
  readonly guard: string;
  readonly description: string;
  readonly label: string;
}

export interface LayoutState {
  readonly id: string;
  readonly name: string;
  readonly kind: 'KIND_UNSPECIFIED' | 'ATOMIC' | 'COMPOUND' | 'PARALLEL' | 'FINAL';
  readonly description: string;
  /** Empty: the machine itself. */
  readonly parentId: string;
  readonly box?: Box | undefined;
  /** Lines below the name: events that change data only. */
  readonly stays: readonly LayoutEvent[];
}

/** The dot of a compound state, and the arrow to the state that is entered first. */
export interface LayoutStart {
  /** Empty: the machine itself. */
  readonly parentId: string;
  readonly toState: string;
  readonly point?: Point | undefined;
  readonly points: readonly Point[];
}

/** All transitions from one state to another; they share a line. */
export interface LayoutArrow {
  readonly fromState: string;
  readonly toState: string;
  /** Two points for a straight arrow, otherwise also the corners. */
  readonly points: readonly Point[];
  readonly events: readonly LayoutEvent[];
  readonly label?: Box | undefined;
}

/** Every element with its position: `svc.audit.v1.MachineLayout` as JSON. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Parents before their children. */
  readonly states: readonly LayoutState[];
  readonly starts: readonly LayoutStart[];
  readonly arrows: readonly LayoutArrow[];
}

/** Marks at one moment. States are innermost ones; their ancestors follow from the layout. */
export interface Marking {
  readonly current: readonly string[];
  /** States visited until then, including the current ones. */
  readonly visited: readonly string[];
  /** Ids from `arrowId` and `startId`. */
  readonly taken: readonly string[];
}

export const NOTHING_MARKED: Marking = { current: [], visited: [], taken: [] };

/**
 * Id of an event's transition from one state to another; without `toState` the event changes data
 * only.
 */
export function arrowId(fromState: string, event: string, toState = ''): string {
  return `${fromState} ${event} ${toState}`;
}

/** Id of the arrow to the initial child of a state; '' for the machine. */
export function startId(parentId: string): string {
  return arrowId(parentId, '[*]');
}

/** The states and all their ancestors. */
export function withAncestors(layout: Layout, ids: readonly string[]): ReadonlySet<string> {
  const parents = new Map(layout.states.map(({ id, parentId }) => [id, parentId]));
  const all = new Set<string>();
  for (const id of ids) {
    for (let at: string | undefined = id; at; at = parents.get(at)) all.add(at);
  }
  return all;
}

/** An element of SVG. */
export interface Shape {
  readonly tag: 'circle' | 'g' | 'line' | 'path' | 'rect' | 'text' | 'title';
  /** Names as in SVG; undefined: absent. */
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
  readonly content: readonly (Shape | string)[];
}

export interface Picture {
  /** Attributes of the group around all shapes. */
  readonly group: Shape['attributes'];
  readonly paper: Shape;
  /** In the order of the layout. */
  readonly states: readonly { readonly state: LayoutState; readonly shapes: readonly Shape[] }[];
  /** Above the states: starts, arrows, labels, and tags of current and earlier states. */
  readonly above: readonly Shape[];
}

export interface Marks {
  readonly marking: Marking;
  /** True if marks are dashed: recomputed rather than recorded. */
  readonly isRecomputed: boolean;
  /** Text of the tag on a current state. */
  readonly now: string;
}

export function pictureOf(layout: Layout, { marking, isRecomputed, now }: Marks): Picture {
  const { width, height, states, starts, arrows } = layout;
  const current = new Set(marking.current);
  const active = withAncestors(layout, marking.current);
  const visited = withAncestors(layout, marking.visited);
  const taken = new Set(marking.taken);
  const dashes = isRecomputed ? MARK_DASHES : undefined;
  const isTaken = (arrow: LayoutArrow, { event }: LayoutEvent): boolean =>
    taken.has(arrowId(arrow.fromState, event, arrow.toState));
  return {
    group: { 'font-family': "Helvetica, Arial, 'Liberation Sans', sans-serif", fill: INK },
    paper: shape('rect', { class: 'paper', width, height, fill: PAPER }),
    states: states.map((state) => {
      const mark = { isActive: active.has(state.id), isVisited: visited.has(state.id), dashes };
      return { state, shapes: stateShapes(state, mark, taken) };
    }),
    above: [
      ...starts.flatMap(({ parentId, point, points }) => [
        lineShape(points, taken.has(startId(parentId)), dashes),
        ...(point
          ? [shape('circle', { class: 'start', cx: point.x, cy: point.y, r: START_RADIUS })]
          : []),
      ]),
      ...arrows.map((arrow) => {
        const isMarked = arrow.events.some((event) => isTaken(arrow, event));
        return lineShape(arrow.points, isMarked, dashes);
      }),
      // Lines before labels, so that a label's background hides the lines that cross it.
      ...arrows.flatMap((arrow) => labelShapes(arrow, isTaken)),
      ...states.flatMap(({ id, box }) => (box && current.has(id) ? [tagShape(box, now)] : [])),
      ...states.flatMap(({ id, box }) =>
        box && visited.has(id) && !active.has(id) ? [passedShape(box)] : [],
      ),
    ],
  };
}

function shape(
  tag: Shape['tag'],
  attributes: Shape['attributes'],
  content: Shape['content'] = [],
): Shape {
  return { tag, attributes, content };
}

interface StateMark {
  readonly isActive: boolean;
  readonly isVisited: boolean;
  readonly dashes: string | undefined;
}

function stateShapes(state: LayoutState, mark: StateMark, taken: ReadonlySet<string>): Shape[] {
  const { id, name, kind, description, box, stays } = state;
  if (box === undefined) return [];
  const { x, y, width } = box;
  const shapes = [shape('title', {}, [`${name}: ${description}`]), boxShape(state, box, mark)];
  // A double border, as in UML's bull's-eye.
  if (kind === 'FINAL') {
    const look = { class: 'inner', rx: 5, fill: 'none', stroke: SOFT };
    shapes.push(shape('rect', { ...inset(box, 4), ...look }));
  }
  const look = { 'font-size': NAME_SIZE, 'font-weight': mark.isActive ? 700 : 600 };
  const middle = { x: x + width / 2, y: y + 22, 'text-anchor': 'middle' };
  shapes.push(shape('text', { ...middle, ...look }, [name]));
  if (stays.length > 0) {
    const ends = { x1: x, x2: x + width, y1: y + HEADER, y2: y + HEADER };
    shapes.push(shape('line', { class: 'rule', ...ends, stroke: RULE }));
  }
  const texts = stays.map((event, i) => {
    const at = { x: x + 12, y: y + HEADER + 14 + i * LINE };
    return eventShape(event, at, taken.has(arrowId(id, event.event)));
  });
  return [...shapes, ...texts];
}

function boxShape({ kind, parentId }: LayoutState, box: Box, mark: StateMark): Shape {
  const { isActive, isVisited, dashes } = mark;
  const isOuter = kind === 'COMPOUND' || kind === 'PARALLEL';
  const isMarked = isActive || isVisited;
  const classes = { outer: isOuter, active: isActive, visited: isVisited };
  const region = isOuter && parentId !== '' ? REGION_DASHES : undefined;
  return shape('rect', {
    class: ['box', ...Object.keys(classes).filter((name) => classes[name as 'outer'])].join(' '),
    ...inset(box, 0),
    rx: 8,
    fill: isOuter ? PAPER : isActive ? MARK_FILL : FILL,
    stroke: isMarked ? MARK : FRAME,
    'stroke-width': isActive ? 3 : 1.4,
    'stroke-dasharray': isMarked ? dashes : region,
  });
}

function inset({ x, y, width, height }: Box, by: number): Shape['attributes'] {
  return { x: x + by, y: y + by, width: width - 2 * by, height: height - 2 * by };
}

function lineShape(points: readonly Point[], isTaken: boolean, dashes: string | undefined): Shape {
  const path = points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join(' ');
  const colour = isTaken ? MARK : SOFT;
  return shape('g', { class: isTaken ? 'arrow taken' : 'arrow' }, [
    shape('path', {
      class: 'line',
      d: path,
      fill: 'none',
      stroke: colour,
      'stroke-width': isTaken ? 3 : 1.3,
      'stroke-dasharray': isTaken ? dashes : undefined,
    }),
    shape('path', { class: 'head', d: headOf(points, isTaken ? 12 : 9), fill: colour }),
  ]);
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

/** Rounded, so that the last digit of a float does not make a drawing look stale. */
export function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function labelShapes(
  arrow: LayoutArrow,
  isTaken: (arrow: LayoutArrow, event: LayoutEvent) => boolean,
): Shape[] {
  const { label, events } = arrow;
  if (label === undefined) return [];
  return [
    shape('rect', { class: 'paper', ...inset(label, 0), fill: PAPER }),
    ...events.map((event, i) => {
      const at = { x: label.x + 4, y: label.y + 12 + i * LINE };
      return eventShape(event, at, isTaken(arrow, event));
    }),
  ];
}

function eventShape({ description, label }: LayoutEvent, at: Point, isTaken: boolean): Shape {
  const mark = isTaken ? { 'font-weight': 700, fill: MARK, 'text-decoration': 'underline' } : {};
  const look = { class: isTaken ? 'event taken' : 'event', 'font-size': LABEL_SIZE };
  return shape('text', { ...look, x: at.x, y: at.y, ...mark }, [
    shape('title', {}, [description]),
    label,
  ]);
}

const TAG_WIDTH = 40;
const TAG_HEIGHT = 17;

/** On the border, where the state has no text. */
function tagShape(box: Box, text: string): Shape {
  const x = box.x + box.width - TAG_WIDTH - 6;
  const y = box.y - TAG_HEIGHT / 2;
  const size = { width: TAG_WIDTH, height: TAG_HEIGHT, rx: TAG_HEIGHT / 2 };
  const middle = { x: x + TAG_WIDTH / 2, y: y + 12.5, 'text-anchor': 'middle' };
  const look = { 'font-size': LABEL_SIZE, 'font-weight': 700, fill: PAPER };
  return shape('g', { class: 'now-tag' }, [
    shape('rect', { x, y, ...size, fill: MARK }),
    shape('text', { ...middle, ...look }, [text]),
  ]);
}

/** Radius of the mark of an earlier state, px. */
const PASSED_RADIUS = 8;

/** On the corner of the border, where the state has no text, however long its name is. */
function passedShape({ x, y }: Box): Shape {
  const tick = `M${x - 4} ${y}l3 3.5 5-8`;
  return shape('g', { class: 'passed-tag' }, [
    shape('circle', { class: 'paper', cx: x, cy: y, r: PASSED_RADIUS, fill: PAPER, stroke: MARK }),
    shape('path', { class: 'tick', d: tick, fill: 'none', stroke: MARK, 'stroke-width': 2 }),
  ]);
}
