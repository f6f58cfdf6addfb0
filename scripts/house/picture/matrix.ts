/**
 * The matrix below the floors: a row for each room that uses others, a column for each room that is
 * used. A mark has a line for each floor of the used room, from the top; its bar grows with the
 * imports of that floor. Bars grow in three steps, so that one more import seldom changes them.
 */
import { type Floor, floors } from '../checkout.ts';
import { isEdge, rooms } from '../rooms.ts';
import { type Grid, rowOf, type Use } from './grid.ts';
import { CELL_WIDTH, columnLeft, columns, MARGIN, WIDTH } from './layout.ts';

const TITLE_HEIGHT = 34;
const HEADER_HEIGHT = 24;
const ROW_HEIGHT = 34;
const ROW_GAP = 4;
const GROUP_GAP = 14;
const LINE_STEP = 6;
const LINE_HEIGHT = 4;
const MARK_WIDTH = 66;
const LEGEND_HEIGHT = 88;

/** Least number of imports for a bar of one, two and three thirds. */
const STEPS = [1, 4, 16];

interface Row {
  readonly room: string;
  readonly top: number;
}

/** The matrix with its title and legend, from `top` downwards, and the height of all. */
export function paintMatrix(
  grid: Grid,
  top: number,
): { readonly lines: readonly string[]; readonly height: number } {
  const rows = rowsOf(grid, top + TITLE_HEIGHT + HEADER_HEIGHT);
  const bottom = (rows.at(-1)?.top ?? top) + ROW_HEIGHT;
  return {
    lines: [
      `<text class="title" x="${WIDTH / 2}" y="${top + 20}">Which room uses which: the room on the left imports the room above</text>`,
      ...columns.map((room) => paintHeader(room, top + TITLE_HEIGHT, bottom)),
      ...rows.flatMap((row) => paintRow(row, grid)),
      ...paintLegend(bottom + 22),
    ],
    height: bottom + LEGEND_HEIGHT - top,
  };
}

/** Rooms that use others: those of the domain first, then the edges. */
function rowsOf({ uses }: Grid, top: number): Row[] {
  const users = rooms.filter(({ name }) => uses.some(({ from }) => from === name));
  const domain = users.filter(({ name }) => !isEdge(name));
  return [...domain, ...users.filter(({ name }) => isEdge(name))].map(({ name }, i) => ({
    room: name,
    top: top + i * (ROW_HEIGHT + ROW_GAP) + (i < domain.length ? 0 : GROUP_GAP),
  }));
}

function paintHeader(room: string, top: number, bottom: number): string {
  const x = columnLeft(room);
  return [
    `<rect class="shaft s${columns.indexOf(room)}" x="${x}" y="${top}" width="${CELL_WIDTH}" height="${bottom - top + 4}" rx="7"/>`,
    `<text class="name mid" x="${x + CELL_WIDTH / 2}" y="${top + 17}">${room}</text>`,
  ].join('');
}

function paintRow({ room, top }: Row, { cells, uses }: Grid): string[] {
  return [
    `<rect class="row" x="${MARGIN}" y="${top}" width="${WIDTH - 2 * MARGIN}" height="${ROW_HEIGHT}" rx="6"/>`,
    `<text class="name" x="${MARGIN + 12}" y="${top + ROW_HEIGHT / 2 + 5}">${room}</text>`,
    ...uses
      .filter(({ from }) => from === room)
      .map((use) => {
        const own = cells.filter((cell) => cell.room === use.to).map(({ floor }) => floor);
        return paintUse(use, own, top);
      }),
    ...(columns.includes(room) ? [paintOwn(room, top)] : []),
  ];
}

/** The crossing of a room with itself. */
function paintOwn(room: string, top: number): string {
  const x = columnLeft(room) + CELL_WIDTH / 2;
  return `<circle class="own" cx="${x}" cy="${top + ROW_HEIGHT / 2}" r="3"><title>${room} uses its own lower floors</title></circle>`;
}

function paintUse({ from, to, imports }: Use, own: readonly Floor[], top: number): string {
  const used = own.filter((floor) => imports.has(floor)).join(', ');
  return [
    `<g><title>${from} uses ${to}: ${used}</title>`,
    paintMark(columnLeft(to) + (CELL_WIDTH - MARK_WIDTH) / 2, top, columns.indexOf(to), (floor) =>
      own.includes(floor) ? (imports.get(floor) ?? 0) : undefined,
    ),
    '</g>',
  ].join('');
}

/** One line for each floor that has imports, even none: absent floors leave their place empty. */
function paintMark(
  x: number,
  top: number,
  colour: number,
  importsOf: (floor: Floor) => number | undefined,
): string {
  const first = top + (ROW_HEIGHT - floors.length * LINE_STEP) / 2 + 1;
  return floors
    .flatMap((floor) => {
      const imports = importsOf(floor);
      if (imports === undefined) return [];
      const y = first + rowOf({ floor }) * LINE_STEP;
      const bar = (MARK_WIDTH * STEPS.filter((least) => imports >= least).length) / STEPS.length;
      return [
        `<rect class="track" x="${x}" y="${y + 1}" width="${MARK_WIDTH}" height="${LINE_HEIGHT - 2}"/>`,
        ...(bar > 0
          ? [
              `<rect class="h${colour}" x="${x}" y="${y}" width="${bar}" height="${LINE_HEIGHT}" rx="1"/>`,
            ]
          : []),
      ];
    })
    .join('');
}

function paintLegend(top: number): string[] {
  const sample: readonly number[] = [1, 4, 16, 0, 1];
  const names = floors.toReversed().join(', ');
  const notes = [
    `A mark has a line for each floor of the used room, from the top: ${names}.`,
    'A bar on a line: that floor is imported, in 1 to 3, 4 to 15, or at least 16 places. A dot: the room itself.',
    'Below the gap: the rooms under the roof. Imports of these rooms, such as the messages in gen, are not drawn.',
  ];
  return [
    paintMark(MARGIN + 12, top - 2, 0, (floor) => sample[rowOf({ floor })]),
    ...notes.map(
      (note, i) =>
        `<text class="note" x="${MARGIN + 12 + MARK_WIDTH + 16}" y="${top + 4 + i * 18}">${note}</text>`,
    ),
  ];
}
