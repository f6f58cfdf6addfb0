/**
 * Draws a statechart as SVG, self-contained and on a light background, with the sentence of each
 * state and event as a tooltip. The layout comes from `layout.ts`; this file only paints.
 */
import ELK, { type ElkExtendedEdge, type ElkNode } from 'elkjs/lib/elk.bundled.js';
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import {
  type Chart,
  type ChartArrow,
  type ChartState,
  chartOf,
  labelOf,
  statesIn,
} from './chart.ts';

/** Font size of the names of states, px. */
export const NAME_SIZE = 14;
/** Font size of the labels of arrows, px, by which the layout reserves their space. */
export const LABEL_SIZE = 11.5;

/** The machine's drawing as an SVG document. The same machine gives the same text. */
export async function toSvg(definition: MachineDefinition): Promise<string> {
  return svgOf(definition, await layoutOf(chartOf(definition)));
}

/** The same for a known layout. */
export function svgOf(definition: MachineDefinition, layout: Layout): string {
  const { width, height, states, starts, arrows } = layout;
  const title = `${definition.name}, version ${definition.version}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(`${title}: ${definition.description}`)}</title>`,
    `<style>${style}</style>`,
    arrowHead,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...states.map(paintState),
    ...starts.map(({ x, y }) => `<circle class="start" cx="${x}" cy="${y}" r="${START_RADIUS}"/>`),
    // Lines before labels, so that a label's background hides the lines that cross it.
    ...arrows.map(paintLine),
    ...arrows.map(paintLabel),
    '</svg>',
    '',
  ].join('\n');
}

const style = [
  'text{font-family:Helvetica,Arial,"Liberation Sans",sans-serif;fill:#1f2933}',
  '.paper{fill:#ffffff}',
  '.state{fill:#f3f7fb;stroke:#3e5c76;stroke-width:1.4}',
  '.compound{fill:#fbfcfe;stroke:#3e5c76;stroke-width:1.4}',
  '.region{fill:#ffffff;stroke:#9fb3c8;stroke-width:1.2;stroke-dasharray:5 4}',
  '.final{fill:#eef0f2;stroke:#52606d;stroke-width:1.4}',
  '.inner{fill:none;stroke:#52606d;stroke-width:1}',
  '.rule{stroke:#bcccdc;stroke-width:1}',
  `.name{font-size:${NAME_SIZE}px;font-weight:600;text-anchor:middle}`,
  `.event{font-size:${LABEL_SIZE}px}`,
  '.line{fill:none;stroke:#52606d;stroke-width:1.3}',
  '.back{fill:#ffffff}',
  '.start,.head{fill:#1f2933}',
].join('');

const arrowHead =
  '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="head" d="M0 1 L10 5 L0 9 z"/></marker></defs>';

function paintState({ state, stays, x, y, width, height }: PlacedState): string {
  const regions = state.id.split('.').length > 2 && state.children.length > 0;
  const kind = state.children.length === 0 ? 'state' : regions ? 'region' : 'compound';
  const shape = state.kind === 'final' ? 'final' : kind;
  const middle = x + width / 2;
  const lines = [
    `<g><title>${escaped(`${state.name}: ${state.description}`)}</title>`,
    `<rect class="${shape}" x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>`,
    `<text class="name" x="${middle}" y="${y + 22}">${escaped(state.name)}</text></g>`,
  ];
  if (state.kind === 'final') lines.push(innerFrame({ x, y, width, height }));
  if (stays.length > 0) {
    lines.push(
      `<line class="rule" x1="${x}" y1="${y + HEADER}" x2="${x + width}" y2="${y + HEADER}"/>`,
    );
  }
  return [
    ...lines,
    ...stays.map((arrow, i) => paintStay(arrow, x + 12, y + HEADER + 14 + i * LINE)),
  ].join('\n');
}

/** A final state has a double frame, as in UML's bull's-eye. */
function innerFrame({ x, y, width, height }: Point & { width: number; height: number }): string {
  return `<rect class="inner" x="${x + 3}" y="${y + 3}" width="${width - 6}" height="${height - 6}" rx="6"/>`;
}

function paintStay(arrow: ChartArrow, x: number, y: number): string {
  return `<text class="event" x="${x}" y="${y}">${titled(arrow)}${escaped(labelOf(arrow))}</text>`;
}

function paintLine({ points, arrows }: PlacedArrow): string {
  const path = points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join(' ');
  const title = arrows.map((arrow) => `${labelOf(arrow)}: ${arrow.description}`).join('\n');
  const tooltip = title === '' ? '' : `<title>${escaped(title)}</title>`;
  return `<path class="line" d="${path}" marker-end="url(#head)">${tooltip}</path>`;
}

function paintLabel({ label, arrows }: PlacedArrow): string {
  if (!label) return '';
  const { x, y, width, height } = label;
  const texts = arrows.map((arrow, i) => {
    const baseline = y + 12 + i * LINE;
    return `<text class="event" x="${x + 4}" y="${baseline}">${titled(arrow)}${escaped(labelOf(arrow))}</text>`;
  });
  return [
    `<rect class="back" x="${x}" y="${y}" width="${width}" height="${height}"/>`,
    ...texts,
  ].join('\n');
}

function titled(arrow: ChartArrow): string {
  return `<title>${escaped(arrow.description)}</title>`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

// Places a statechart's boxes, arrows and labels with elkjs (layered, including children), so that
// no browser is needed. Sizes are estimated from text lengths, because the result must be the same
// on every machine, whatever fonts it has.

/** A position in the drawing, px from its upper left corner. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A rectangle; the point is its upper left corner. */
export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** A state and its position in the drawing. */
export interface PlacedState extends Box {
  readonly state: ChartState;
  /** Lines under the name: events that change only data. */
  readonly stays: readonly ChartArrow[];
}

/** A line and the arrows that share it. */
export interface PlacedArrow {
  /** Two points for a straight arrow, otherwise also the corners. */
  readonly points: readonly Point[];
  /** For the arrow of an initial state: the compound state that starts with it. */
  readonly start: string | undefined;
  /** Arrows of one pair of states share a line; empty = the arrow of an initial state. */
  readonly arrows: readonly ChartArrow[];
  readonly label: Box | undefined;
}

/** The dot from which an initial arrow starts. */
export interface PlacedStart extends Point {
  /** Id of the compound state. */
  readonly parent: string;
  /** Id of the state that is entered first. */
  readonly initial: string;
}

/** All elements with their positions; painters only choose colours. */
export interface Layout {
  /** Id of the machine's root, which contains the top states and is not among them. */
  readonly root: string;
  readonly width: number;
  readonly height: number;
  /** Parents before their children. */
  readonly states: readonly PlacedState[];
  /** The starts of compound states: the dots from which initial arrows start. */
  readonly starts: readonly PlacedStart[];
  readonly arrows: readonly PlacedArrow[];
}

/** Font sizes and measures, px. */
export const LINE = 16;
/** Height of a compound state's header with its name, px. */
export const HEADER = 30;
/** Radius of the dots, px. */
export const START_RADIUS = 5;
const NAME_WIDTH = 8.2;
const LABEL_WIDTH = 6.5;
const PADDING = 14;

const layoutOptions = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.randomSeed': '1',
  'elk.padding': '[top=16,left=16,bottom=16,right=16]',
  'elk.spacing.nodeNode': '36',
  'elk.spacing.edgeNode': '20',
  'elk.spacing.edgeEdge': '16',
  'elk.spacing.edgeLabel': '4',
  'elk.layered.spacing.nodeNodeBetweenLayers': '40',
  'elk.layered.spacing.edgeNodeBetweenLayers': '18',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.cycleBreaking.strategy': 'MODEL_ORDER',
  'elk.spacing.nodeSelfLoop': '18',
};

/** Lays the chart out; coordinates in px from the top left. */
export async function layoutOf(chart: Chart): Promise<Layout> {
  const stays = Map.groupBy(
    chart.arrows.filter(({ target }) => target === undefined),
    ({ source }) => source,
  );
  const pairs = pairsOf(chart);
  const graph: ElkNode = {
    id: chart.root.id,
    layoutOptions,
    children: childNodes(chart.root, stays),
    edges: [...pairs.map(edgeOf), ...startEdges(chart.root), ...belowEdges(chart.root)],
  };
  const placed = await new ELK.default().layout(graph);
  return readLayout(placed, { chart, stays, pairs });
}

interface Pair {
  readonly source: string;
  readonly target: string;
  readonly arrows: readonly ChartArrow[];
  /** The target is declared after the source, so the arrow should point down. */
  readonly forward: boolean;
}

function pairsOf({ arrows, root }: Chart): Pair[] {
  const order = new Map(statesIn(root).map(({ id }, i) => [id, i]));
  const pairs = new Map<string, Pair>();
  for (const arrow of arrows) {
    const { source, target } = arrow;
    if (target === undefined) continue;
    const key = `${source} ${target}`;
    const forward = (order.get(target) ?? 0) > (order.get(source) ?? 0);
    const merged = [...(pairs.get(key)?.arrows ?? []), arrow];
    pairs.set(key, { source, target, arrows: merged, forward });
  }
  return [...pairs.values()];
}

type Stays = ReadonlyMap<string, readonly ChartArrow[]>;

function childNodes(parent: ChartState, stays: Stays): ElkNode[] {
  const start = parent.initial === undefined ? [] : [startNode(parent)];
  return [...start, ...parent.children.map((child) => nodeOf(child, stays))];
}

function startNode(parent: ChartState): ElkNode {
  const size = 2 * START_RADIUS;
  return { id: startId(parent.id), width: size, height: size };
}

function nodeOf(state: ChartState, stays: Stays): ElkNode {
  const lines = stays.get(state.id) ?? [];
  const labels = lines.map((arrow) => labelOf(arrow).length * LABEL_WIDTH);
  const width = Math.max(90, state.name.length * NAME_WIDTH, ...labels) + 2 * PADDING;
  const height = HEADER + 6 + lines.length * LINE;
  if (state.children.length === 0) return { id: state.id, width, height };
  return {
    id: state.id,
    children: childNodes(state, stays),
    layoutOptions: {
      'elk.padding': `[top=${height + 12},left=16,bottom=16,right=16]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${width},${height})`,
    },
  };
}

function edgeOf({ source, target, arrows, forward }: Pair, index: number): ElkExtendedEdge {
  const texts = arrows.map(labelOf);
  const width = Math.max(...texts.map((text) => text.length)) * LABEL_WIDTH + 8;
  return {
    id: edgeId(index),
    sources: [source],
    targets: [target],
    layoutOptions: { 'elk.layered.priority.direction': forward ? '10' : '0' },
    labels: [
      {
        id: `${edgeId(index)}.label`,
        text: texts.join('\n'),
        width,
        height: texts.length * LINE,
        layoutOptions: { 'elk.edgeLabels.inline': 'true', 'elk.edgeLabels.placement': 'CENTER' },
      },
    ],
  };
}

function startEdges(root: ChartState): ElkExtendedEdge[] {
  return statesIn(root).flatMap(({ id, initial }) =>
    initial === undefined
      ? []
      : [{ id: `${startId(id)}.edge`, sources: [startId(id)], targets: [initial] }],
  );
}

/**
 * The last region of a parallel state is below the others, because three side by side are wider
 * than a page. These edges are not painted.
 */
function belowEdges(root: ChartState): ElkExtendedEdge[] {
  return statesIn(root).flatMap(({ kind, children }) => {
    const last = children.at(-1);
    if (kind !== 'parallel' || last === undefined || children.length < 3) return [];
    const others = children.slice(0, -1);
    return others.map(({ id }) => ({ id: id + BELOW, sources: [id], targets: [last.id] }));
  });
}

const BELOW = '.below';

function startId(stateId: string): string {
  return `${stateId}${START}`;
}

const START = '.[*]';

function edgeId(index: number): string {
  return `edge.${index}`;
}

interface Sources {
  readonly chart: Chart;
  readonly stays: Stays;
  readonly pairs: readonly Pair[];
}

function readLayout(placed: ElkNode, { chart, stays, pairs }: Sources): Layout {
  const boxes = new Map(nodesIn(placed).map((node) => [node.id, boxOf(node)]));
  const below = statesIn(chart.root).slice(1);
  const arrowsById = new Map(pairs.map(({ arrows }, i) => [edgeId(i), arrows]));
  return {
    ...size(placed),
    root: chart.root.id,
    states: below.map((state) => ({
      ...(boxes.get(state.id) ?? noBox),
      state,
      stays: stays.get(state.id) ?? [],
    })),
    starts: statesIn(chart.root).flatMap(({ id, initial }) => {
      const box = boxes.get(startId(id));
      return initial === undefined || !box
        ? []
        : [{ parent: id, initial, x: box.x + START_RADIUS, y: box.y + START_RADIUS }];
    }),
    arrows: paintedIn(placed).map((edge) => ({
      points: pointsOf(edge),
      start: edge.sources[0]?.endsWith(START) ? edge.sources[0].slice(0, -START.length) : undefined,
      arrows: arrowsById.get(edge.id) ?? [],
      label: edge.labels?.[0] && boxOf(edge.labels[0]),
    })),
  };
}

const noBox: Box = { x: 0, y: 0, width: 0, height: 0 };

function nodesIn(node: ElkNode): ElkNode[] {
  return [node, ...(node.children ?? []).flatMap(nodesIn)];
}

function edgesIn(node: ElkNode): ElkExtendedEdge[] {
  return [...(node.edges ?? []), ...(node.children ?? []).flatMap(edgesIn)];
}

function paintedIn(node: ElkNode): ElkExtendedEdge[] {
  return edgesIn(node).filter(({ id }) => !id.endsWith(BELOW));
}

function size({ width = 0, height = 0 }: ElkNode): { width: number; height: number } {
  return { width: Math.ceil(width), height: Math.ceil(height) };
}

interface Placed {
  x?: number;
  y?: number;
  width?: number;
  height?: number;
}

function boxOf({ x = 0, y = 0, width = 0, height = 0 }: Placed): Box {
  return { x: tenths(x), y: tenths(y), width: tenths(width), height: tenths(height) };
}

function pointsOf(edge: ElkExtendedEdge): Point[] {
  return (edge.sections ?? [])
    .flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint])
    .map(({ x, y }) => ({ x: tenths(x), y: tenths(y) }));
}

/**
 * Coordinates are rounded, so that the last digit of a float does not make a drawing look stale.
 */
function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
