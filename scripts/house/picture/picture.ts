/**
 * Paints the grid as an SVG document for docs/architecture.svg: floors as rows, rooms as columns,
 * the edges of src under the roof, and below them the matrix of uses. It has its own background,
 * light or dark as the reader's page is.
 */
import { type Floor, floors } from '../checkout.ts';
import { rooms } from '../rooms.ts';
import { type Cell, type Grid, rowOf } from './grid.ts';
import { CELL_WIDTH, columnLeft, columns, MARGIN, WIDTH } from './layout.ts';
import { paintMatrix } from './matrix.ts';

const ROOF_HEIGHT = 74;
const EDGE_HEIGHT = 40;
const EDGE_GAP = 8;
const EDGES_TOP = ROOF_HEIGHT + 14;
const GRID_TOP = EDGES_TOP + EDGE_HEIGHT + 24;
const CELL_HEIGHT = 52;
const FLOOR_GAP = 22;
/** Between the lowest floor and the matrix. */
const PARTS_GAP = 30;

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
  const floorsBottom = rowTop(floors.length) - FLOOR_GAP;
  const matrix = paintMatrix(grid, floorsBottom + PARTS_GAP);
  const height = floorsBottom + PARTS_GAP + matrix.height;
  const label = 'The five floors of the service, the rooms on each, and which room uses which';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${label}">`,
    `<title>${label}</title>`,
    `<style>${style()}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="10"/>`,
    paintRoof(grid),
    ...paintFloors(),
    ...columns.map((room) => paintColumn(room, grid)),
    ...grid.cells.filter(({ room }) => columns.includes(room)).map(paintCell),
    ...matrix.lines,
    '</svg>',
    '',
  ].join('\n');
}

/** Top of the cells of a row; the row after the last one is where the next would begin. */
function rowTop(row: number): number {
  return GRID_TOP + row * (CELL_HEIGHT + FLOOR_GAP);
}

function style(): string {
  const light = columns.map((_, i) => colours(i, false)).join('');
  const dark = columns.map((_, i) => colours(i, true)).join('');
  return [
    'text{font-family:Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif;fill:#1f2933}',
    '.paper{fill:#fff}.band{fill:#f4f6f8}.roof{fill:#e9edf2}.cell,.edge{fill:#fff;stroke-width:1.6}',
    '.edge{stroke:#8292a6}.name{font-size:14px;font-weight:600}.size{font-size:11.5px;fill:#52606d}',
    '.floor{font-size:17px;font-weight:700}.title{font-size:16px;font-weight:600;text-anchor:middle}',
    '.row{fill:#8292a6;opacity:.1}.track{fill:#8292a6;opacity:.35}.own{fill:#8292a6}.note{font-size:12.5px;fill:#52606d}',
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

function paintFloors(): string[] {
  const names = Object.keys(floorNotes) as Floor[];
  return names.flatMap((floor) => {
    const top = rowTop(rowOf({ floor }));
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

/** The shaft behind a room's cells. */
function paintColumn(room: string, { cells }: Grid): string {
  const rows = cells.filter((cell) => cell.room === room).map(rowOf);
  const top = rowTop(Math.min(...rows));
  const bottom = rowTop(Math.max(...rows)) + CELL_HEIGHT;
  const x = columnLeft(room) - 5;
  return `<rect class="shaft s${columns.indexOf(room)}" x="${x}" y="${top - 5}" width="${CELL_WIDTH + 10}" height="${bottom - top + 10}" rx="9"/>`;
}

function paintCell(cell: Cell): string {
  const x = columnLeft(cell.room);
  const y = rowTop(rowOf(cell));
  const purpose = rooms.find(({ name }) => name === cell.room)?.purpose ?? '';
  const middle = x + CELL_WIDTH / 2;
  return [
    `<g><title>${cell.floor}/${cell.room}: ${purpose}</title>`,
    `<rect class="cell c${columns.indexOf(cell.room)}" x="${x}" y="${y}" width="${CELL_WIDTH}" height="${CELL_HEIGHT}" rx="7"/>`,
    `<text class="name mid" x="${middle}" y="${y + 23}">${cell.room}</text>`,
    `<text class="size mid" x="${middle}" y="${y + 40}">${sizeText(cell)}</text></g>`,
  ].join('');
}

function sizeText({ files }: Cell): string {
  return files === 1 ? '1 file' : `${files} files`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
