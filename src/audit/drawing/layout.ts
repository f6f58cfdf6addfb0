/**
 * Places a statechart's boxes, arrows and labels with elkjs (layered, children included), so that
 * no browser is needed. Sizes are estimated from text lengths: the result must be the same on
 * every machine, whatever fonts it has.
 */
import ELK, { type ElkExtendedEdge, type ElkNode } from 'elkjs/lib/elk.bundled.js';
import { type Chart, type ChartArrow, type ChartState, labelOf, statesIn } from './chart.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface PlacedState extends Box {
  readonly state: ChartState;
  /** Lines under the name: events that change data only. */
  readonly stays: readonly ChartArrow[];
}

export interface PlacedArrow {
  /** Two for a straight arrow; the corners between. */
  readonly points: readonly Point[];
  /** Of the arrow of an initial state: the compound state that begins with it. */
  readonly start: string | undefined;
  /** Arrows of one pair of states share a line; empty = the arrow of an initial state. */
  readonly arrows: readonly ChartArrow[];
  readonly label: Box | undefined;
}

export interface PlacedStart extends Point {
  /** Id of the compound state. */
  readonly parent: string;
  /** Id of the state that is entered first. */
  readonly initial: string;
}

export interface Layout {
  /** Id of the machine's root, which holds the top states and is not among them. */
  readonly root: string;
  readonly width: number;
  readonly height: number;
  /** Parents before their children. */
  readonly states: readonly PlacedState[];
  /** Where each compound state starts: the dots that initial arrows leave. */
  readonly starts: readonly PlacedStart[];
  readonly arrows: readonly PlacedArrow[];
}

/** Font sizes and measures, px. */
export const NAME_SIZE = 14;
export const LABEL_SIZE = 11.5;
export const LINE = 16;
export const HEADER = 30;
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
    edges: [...pairs.map(edgeOf), ...startEdges(chart.root)],
  };
  const placed = await new ELK.default().layout(graph);
  return readLayout(placed, { chart, stays, pairs });
}

interface Pair {
  readonly source: string;
  readonly target: string;
  readonly arrows: readonly ChartArrow[];
  /** The target is declared after the source: the arrow should point down. */
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
    arrows: edgesIn(placed).map((edge) => ({
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

/** Coordinates are rounded so that no last digit of a float makes a drawing look stale. */
function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
