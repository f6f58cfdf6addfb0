/**
 * Lays a statechart out and writes its picture as SVG, self-contained and on a light background,
 * with the sentence of each state and event as a tooltip. elkjs places boxes, arrows and labels
 * (layered, including children), so that no browser is needed. Sizes are estimated from text
 * lengths, because the result must be the same on every machine, whatever fonts it has.
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
import {
  type Box,
  HEADER,
  type Layout,
  type LayoutEvent,
  type LayoutState,
  LINE,
  NOTHING_MARKED,
  type Point,
  pictureOf,
  type Shape,
  START_RADIUS,
  tenths,
} from './picture.ts';

/** The machine's drawing as an SVG document. The same machine gives the same text. */
export async function toSvg(definition: MachineDefinition): Promise<string> {
  return svgOf(definition, await layoutOf(chartOf(definition)));
}

/** The same for a known layout. */
export function svgOf(definition: MachineDefinition, layout: Layout): string {
  const { width, height } = layout;
  const title = `${definition.name}, version ${definition.version}`;
  const marks = { marking: NOTHING_MARKED, isRecomputed: false, now: '' };
  const { group, paper, states, above } = pictureOf(layout, marks);
  const shapes = [paper, ...states.flatMap((state) => state.shapes), ...above];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(`${title}: ${definition.description}`)}</title>`,
    `<g${attributesText(group)}>`,
    ...shapes.map(textOf),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** Classes are omitted, because the document has no stylesheet. */
function textOf(shape: Shape | string): string {
  if (typeof shape === 'string') return escaped(shape);
  const { class: _, ...attributes } = shape.attributes;
  const opening = `<${shape.tag}${attributesText(attributes)}`;
  if (shape.content.length === 0) return `${opening}/>`;
  return `${opening}>${shape.content.map(textOf).join('')}</${shape.tag}>`;
}

function attributesText(attributes: Shape['attributes']): string {
  return Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    .join('');
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

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
      : [{ id: startEdgeId(id), sources: [startId(id)], targets: [initial] }],
  );
}

/**
 * The last region of a parallel state is below the others, because three side by side are wider
 * than a page. These edges are not in the layout.
 */
function belowEdges(root: ChartState): ElkExtendedEdge[] {
  return statesIn(root).flatMap(({ kind, children }) => {
    const last = children.at(-1);
    if (kind !== 'parallel' || last === undefined || children.length < 3) return [];
    const others = children.slice(0, -1);
    return others.map(({ id }) => ({ id: `${id}.below`, sources: [id], targets: [last.id] }));
  });
}

function startId(stateId: string): string {
  return `${stateId}.[*]`;
}

function startEdgeId(stateId: string): string {
  return `${startId(stateId)}.edge`;
}

function edgeId(index: number): string {
  return `edge.${index}`;
}

interface Sources {
  readonly chart: Chart;
  readonly stays: Stays;
  readonly pairs: readonly Pair[];
}

const KINDS = {
  atomic: 'ATOMIC',
  compound: 'COMPOUND',
  parallel: 'PARALLEL',
  final: 'FINAL',
} as const satisfies Readonly<Record<ChartState['kind'], LayoutState['kind']>>;

function readLayout(placed: ElkNode, { chart, stays, pairs }: Sources): Layout {
  const boxes = new Map(nodesIn(placed).map((node) => [node.id, boxOf(node)]));
  const edges = new Map(edgesIn(placed).map((edge) => [edge.id, edge]));
  const pointsOfEdge = (id: string): Point[] => pointsOf(edges.get(id));
  const root = chart.root.id;
  const parents = new Map(
    statesIn(chart.root).flatMap(({ id, children }) => children.map((child) => [child.id, id])),
  );
  const parentOf = (id: string): string => parents.get(id) ?? '';
  return {
    ...size(placed),
    states: statesIn(chart.root)
      .slice(1)
      .map(({ id, name, kind, description }) => ({
        id,
        name,
        kind: KINDS[kind],
        description,
        parentId: parentOf(id) === root ? '' : parentOf(id),
        box: boxes.get(id) ?? noBox,
        stays: (stays.get(id) ?? []).map(eventOf),
      })),
    starts: statesIn(chart.root).flatMap(({ id, initial }) => {
      const box = boxes.get(startId(id));
      if (initial === undefined || !box) return [];
      const point = { x: box.x + START_RADIUS, y: box.y + START_RADIUS };
      const points = pointsOfEdge(startEdgeId(id));
      return [{ parentId: id === root ? '' : id, toState: initial, point, points }];
    }),
    arrows: pairs.map(({ source, target, arrows }, i) => {
      const label = edges.get(edgeId(i))?.labels?.[0];
      return {
        fromState: source,
        toState: target,
        points: pointsOfEdge(edgeId(i)),
        events: arrows.map(eventOf),
        label: label && boxOf(label),
      };
    }),
  };
}

function eventOf(arrow: ChartArrow): LayoutEvent {
  const { type, guard = '', description } = arrow;
  return { event: type, guard, description, label: labelOf(arrow) };
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

function pointsOf(edge: ElkExtendedEdge | undefined): Point[] {
  return (edge?.sections ?? [])
    .flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint])
    .map(({ x, y }) => ({ x: tenths(x), y: tenths(y) }));
}
