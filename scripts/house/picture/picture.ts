/**
 * Paints the grid as an SVG document for docs/architecture.svg: floors as rows, rooms as columns,
 * the edges of src under the roof. It has its own background, light or dark like the reader's page.
 */
import type { Floor } from '../checkout.ts';
import { rooms } from '../rooms.ts';
import { type Cell, type Grid, rowOf } from './grid.ts';
import {
  CELL_HEIGHT,
  CELL_WIDTH,
  columnLeft,
  columns,
  type Plan,
  type Point,
  planOf,
  type Route,
  WIDTH,
} from './routes.ts';

const ROOF_HEIGHT = 74;
const EDGE_HEIGHT = 40;
const EDGE_GAP = 12;
const EDGES_TOP = ROOF_HEIGHT + 14;
const GRID_TOP = EDGES_TOP + EDGE_HEIGHT + 10;
const MARGIN = 16;
const LEGEND_HEIGHT = 58;
const CORNER = 5;

/** Hue of each column, in degrees; the platform is grey. */
const HUES = [0, 262, 190, 212, 30, 350, 150, 300];

const floorNotes: Readonly<Record<Floor, readonly string[]>> = {
  src: ['the program: API,', 'queries, senders'],
  actors: ['decisions in turn,', 'kept as commits'],
  sqlite: ['what is on disk'],
  streams: ['samples, conditions,', 'never a person'],
  machines: ['statecharts: pure', 'functions, no clock'],
};

/** The picture; the same grid gives the same text. */
export function paintGrid(grid: Grid): string {
  const plan = planOf(grid, GRID_TOP);
  const height = plan.bottom + MARGIN + LEGEND_HEIGHT;
  const label = 'The five floors of the service, the rooms on each, and which room uses which';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${label}">`,
    `<title>${label}</title>`,
    `<style>${style()}</style>`,
    `<defs>${columns.map(arrowHead).join('')}</defs>`,
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="10"/>`,
    paintRoof(grid),
    ...paintFloors(plan),
    ...columns.map((room) => paintColumn(room, grid, plan)),
    ...plan.routes.toSorted((a, b) => a.use.imports - b.use.imports).map(paintRoute),
    ...grid.cells.filter(({ room }) => columns.includes(room)).map((cell) => paintCell(cell, plan)),
    ...paintLegend(plan.bottom + MARGIN + 16),
    '</svg>',
    '',
  ].join('\n');
}

function style(): string {
  const light = columns.map((_, i) => colours(i, false)).join('');
  const dark = columns.map((_, i) => colours(i, true)).join('');
  return [
    'text{font-family:Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif;fill:#1f2933}',
    '.paper{fill:#fff}.band{fill:#f4f6f8}.roof{fill:#e9edf2}.cell,.edge{fill:#fff;stroke-width:1.6}',
    '.edge{stroke:#8292a6}.name{font-size:15px;font-weight:600}.size{font-size:11.5px;fill:#52606d}',
    '.floor{font-size:17px;font-weight:700}.title{font-size:16px;font-weight:600;text-anchor:middle}',
    '.line{fill:none;stroke-linecap:round;stroke-linejoin:round}.note{font-size:12.5px;fill:#52606d}',
    `.mid{text-anchor:middle}.shaft{opacity:.55}${light}`,
    '@media (prefers-color-scheme:dark){text{fill:#e6edf3}.size,.note{fill:#9fb0c0}.paper{fill:#0f151c}',
    `.band{fill:#161e27}.roof{fill:#202b37}.cell,.edge{fill:#0f151c}.edge{stroke:#6b7c8f}${dark}}`,
  ].join('');
}

function colours(i: number, isDark: boolean): string {
  const tone = i === 0 ? '215 14%' : `${HUES[i] ?? 0} 55%`;
  const [line, shaft] = isDark ? ['66%', '17%'] : ['42%', '93%'];
  return [
    `.c${i}{stroke:${hsl(tone, line)}}.h${i}{fill:${hsl(tone, line)}}.s${i}{fill:${hsl(tone, shaft)}}`,
  ].join('');
}

function hsl(tone: string, lightness: string): string {
  return `hsl(${tone.replace(' ', ',')},${lightness})`;
}

function arrowHead(_room: string, i: number): string {
  return `<marker id="head${i}" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path class="h${i}" d="M0 .5 L10 5 L0 9.5 z"/></marker>`;
}

/** The roof with its title, and below it the edges of src. */
function paintRoof({ cells }: Grid): string {
  const middle = WIDTH / 2;
  const edges = rooms.flatMap(({ name, purpose, isEdge }) => {
    const cell = cells.find(({ room }) => room === name);
    return isEdge && cell ? [{ cell, purpose }] : [];
  });
  const width = (WIDTH - 2 * MARGIN - EDGE_GAP * (edges.length - 1)) / edges.length;
  return [
    `<path class="roof" d="M${MARGIN} ${ROOF_HEIGHT} L${middle} 10 L${WIDTH - MARGIN} ${ROOF_HEIGHT} z"/>`,
    `<text class="title" x="${middle}" y="${ROOF_HEIGHT - 14}">Five floors; a room has one name on all of its floors</text>`,
    ...edges.reverse().map(({ cell, purpose }, i) => {
      const x = round(MARGIN + i * (width + EDGE_GAP));
      const centre = round(x + width / 2);
      return [
        `<g><title>src/${cell.room}: ${purpose}</title>`,
        `<rect class="edge" x="${x}" y="${EDGES_TOP}" width="${round(width)}" height="${EDGE_HEIGHT}" rx="6"/>`,
        `<text class="name mid" x="${centre}" y="${EDGES_TOP + 18}">${cell.room}</text>`,
        `<text class="size mid" x="${centre}" y="${EDGES_TOP + 33}">${sizeText(cell)}</text></g>`,
      ].join('');
    }),
  ].join('\n');
}

function paintFloors({ rowTops }: Plan): string[] {
  const names = Object.keys(floorNotes) as Floor[];
  return names.flatMap((floor) => {
    const top = rowTops[rowOf({ floor })] ?? 0;
    return [
      `<rect class="band" x="${MARGIN}" y="${top - 6}" width="${WIDTH - 2 * MARGIN}" height="${CELL_HEIGHT + 12}" rx="8"/>`,
      `<text class="floor" x="${MARGIN + 12}" y="${top + 17}">${floor}</text>`,
      ...floorNotes[floor].map(
        (note, i) =>
          `<text class="size" x="${MARGIN + 12}" y="${top + 33 + i * 14}">${note}</text>`,
      ),
    ];
  });
}

/** The shaft behind a room's cells: a room uses its own floors below without an arrow. */
function paintColumn(room: string, { cells }: Grid, { rowTops }: Plan): string {
  const rows = cells.filter((cell) => cell.room === room).map(rowOf);
  const top = rowTops[Math.min(...rows)] ?? 0;
  const bottom = (rowTops[Math.max(...rows)] ?? 0) + CELL_HEIGHT;
  const x = columnLeft(room) - 5;
  return `<rect class="shaft s${columns.indexOf(room)}" x="${x}" y="${top - 5}" width="${CELL_WIDTH + 10}" height="${bottom - top + 10}" rx="9"/>`;
}

function paintCell(cell: Cell, { rowTops }: Plan): string {
  const x = columnLeft(cell.room);
  const y = rowTops[rowOf(cell)] ?? 0;
  const purpose = rooms.find(({ name }) => name === cell.room)?.purpose ?? '';
  const middle = x + CELL_WIDTH / 2;
  return [
    `<g><title>${cell.floor}/${cell.room}: ${purpose}</title>`,
    `<rect class="cell c${columns.indexOf(cell.room)}" x="${x}" y="${y}" width="${CELL_WIDTH}" height="${CELL_HEIGHT}" rx="7"/>`,
    `<text class="name mid" x="${middle}" y="${y + 23}">${cell.room}</text>`,
    `<text class="size mid" x="${middle}" y="${y + 40}">${sizeText(cell)}</text></g>`,
  ].join('');
}

function paintRoute({ use, points }: Route): string {
  const i = columns.indexOf(use.from.room);
  const title = `${use.from.floor}/${use.from.room} uses ${use.to.room}`;
  return `<path class="line c${i}" stroke-width="${widthOf(use.imports)}" d="${roundedPath(points)}" marker-end="url(#head${i})"><title>${title}</title></path>`;
}

/** In few steps, so that one more import seldom changes the picture. */
function widthOf(imports: number): number {
  return round(1 + Math.round(Math.log2(imports) / 2) * 1.1);
}

/** A path through the points with round corners. */
function roundedPath(points: readonly Point[]): string {
  const corners = points.filter((point, i) => {
    const [before, after] = [points[i - 1], points[i + 1]];
    if (before === undefined || after === undefined) return true;
    return (
      !(before.x === point.x && after.x === point.x) &&
      !(before.y === point.y && after.y === point.y)
    );
  });
  return corners
    .map((point, i) => {
      const [before, after] = [corners[i - 1], corners[i + 1]];
      if (before === undefined) return `M${point.x} ${point.y}`;
      if (after === undefined) return `L${point.x} ${point.y}`;
      const entry = towards(point, before);
      const exit = towards(point, after);
      return `L${entry.x} ${entry.y}Q${point.x} ${point.y} ${exit.x} ${exit.y}`;
    })
    .join('');
}

function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const share = Math.min(CORNER, length / 2) / length;
  return { x: round(from.x + (to.x - from.x) * share), y: round(from.y + (to.y - from.y) * share) };
}

function paintLegend(y: number): string[] {
  const notes = [
    'An arrow means that a room uses another one, in the colour of the using room; the thicker, the more imports. It points at the highest floor used.',
    'Not drawn: a room uses its own lower floors (the shaft behind it); every room uses the platform; the rooms under the roof use what they open.',
  ];
  return notes.map(
    (note, i) => `<text class="note" x="${MARGIN + 12}" y="${y + i * 19}">${note}</text>`,
  );
}

function sizeText({ files }: Cell): string {
  return files === 1 ? '1 file' : `${files} files`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
