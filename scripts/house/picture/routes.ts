/**
 * Places the cells and routes the arrows of the picture. One line leaves a cell and branches to
 * everything that it uses: upwards for rooms of its own floor, downwards for floors below. Lines
 * run in the channels between floors and in the gutters between columns, never through a cell.
 */
import { floors } from '../checkout.ts';
import { rooms } from '../rooms.ts';
import { type Line, tracksOf } from './channels.ts';
import { type Cell, type Grid, rowOf, type Use } from './grid.ts';

export const CELL_WIDTH = 126;
export const CELL_HEIGHT = 54;
const LEFT = 156;
const COLUMN_GAP = 32;
const TRACK = 8;
const CHANNEL_PADDING = 16;
const PORT_GAP = 13;

/** Rooms with a column of their own. */
export const columns: readonly string[] = rooms
  .filter((room) => room.isEdge !== true)
  .map(({ name }) => name);

export const WIDTH = LEFT + columns.length * (CELL_WIDTH + COLUMN_GAP);

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** An arrow. Its way starts with the part that it shares with the other arrows of its cell. */
export interface Route {
  readonly use: Use;
  readonly points: readonly Point[];
}

export interface Plan {
  /** Top of each row's cells, starting with the top row. */
  readonly rowTops: readonly number[];
  readonly bottom: number;
  readonly routes: readonly Route[];
}

/** Left side of a room's column. */
export function columnLeft(room: string): number {
  return LEFT + columns.indexOf(room) * (CELL_WIDTH + COLUMN_GAP);
}

/** Position of everything, with the first row's channel at `top`. */
export function planOf({ cells, uses }: Grid, top: number): Plan {
  const isFree = (row: number, room: string) =>
    !cells.some((cell) => rowOf(cell) === row && cell.room === room);
  const straight = uses.filter((use) => isStraight(use, isFree));
  const legs = legsOf(
    uses.filter((use) => !straight.includes(use)),
    isFree,
  );
  const rowTops: number[] = [];
  let y = top;
  const trackTops: number[][] = [];
  for (const row of floors.keys()) {
    const lines = legs.filter(({ channel }) => channel === row);
    const tracks = tracksOf(lines);
    const first = y + CHANNEL_PADDING;
    for (const [i, leg] of lines.entries()) leg.y = first + (tracks[i] ?? 0) * TRACK;
    trackTops.push(tracks);
    y = first + Math.max(1, ...tracks.map((track) => track + 1)) * TRACK + CHANNEL_PADDING;
    rowTops.push(y);
    y += CELL_HEIGHT;
  }
  return {
    rowTops,
    bottom: y,
    routes: [
      ...straight.map((use) => ({ use, points: straightLine(use, rowTops) })),
      ...legs.flatMap((leg) => leg.arrows(rowTops)),
    ],
  };
}

/** True for an adjacent room of the same floor, or one with nothing in between. */
function isStraight({ from, to }: Use, isFree: (row: number, room: string) => boolean): boolean {
  if (rowOf(from) !== rowOf(to)) return false;
  const [a, b] = [columns.indexOf(from.room), columns.indexOf(to.room)].sort((x, y) => x - y);
  return columns.slice((a ?? 0) + 1, b).every((room) => isFree(rowOf(from), room));
}

function straightLine({ from, to }: Use, rowTops: readonly number[]): Point[] {
  const y = (rowTops[rowOf(from)] ?? 0) + CELL_HEIGHT / 2;
  const leftwards = columnLeft(to.room) < columnLeft(from.room);
  return [
    { x: columnLeft(from.room) + (leftwards ? 0 : CELL_WIDTH), y },
    { x: columnLeft(to.room) + (leftwards ? CELL_WIDTH : 0), y },
  ];
}

/** A horizontal line in one channel, and the arrows that run on it. */
interface Leg extends Line {
  readonly channel: number;
  y: number;
  arrows(rowTops: readonly number[]): Route[];
}

function legsOf(uses: readonly Use[], isFree: (row: number, room: string) => boolean): Leg[] {
  const ports = new Ports(uses);
  const gutters = new Map<string, number>();
  const legs: Leg[] = [];
  for (const group of Map.groupBy(uses, trunkOf).values()) {
    const [first] = group;
    if (first === undefined) continue;
    const isUpwards = rowOf(first.to) === rowOf(first.from);
    const channel = rowOf(first.from) + (isUpwards ? 0 : 1);
    const start = ports.exit(first);
    const drops = group.map((use) => {
      const end = ports.entry(use);
      const passed = floors.map((_, row) => row).slice(channel, rowOf(use.to));
      const isBlocked = passed.some((row) => !isFree(row, use.to.room));
      if (!isBlocked) return { use, end, x: end };
      const used = gutters.get(use.to.room) ?? 0;
      gutters.set(use.to.room, used + 1);
      return { use, end, x: columnLeft(use.to.room) - COLUMN_GAP / 2 - 4 + used * 6 };
    });
    const trunk: Leg = {
      channel,
      y: 0,
      above: isUpwards ? [] : [start],
      below: [...(isUpwards ? [start] : []), ...drops.map(({ x }) => x)],
      arrows: (rowTops) =>
        drops.flatMap(({ use, end, x }) => {
          const top = rowTops[rowOf(use.from)] ?? 0;
          const from = { x: start, y: isUpwards ? top : top + CELL_HEIGHT };
          const jog = jogs.get(use);
          const to = { x: end, y: rowTops[rowOf(use.to)] ?? 0 };
          const down = jog
            ? [
                { x, y: jog.y },
                { x: end, y: jog.y },
              ]
            : [];
          return { use, points: [from, { x: start, y: trunk.y }, { x, y: trunk.y }, ...down, to] };
        }),
    };
    const jogs = new Map<Use, Leg>();
    for (const { use, end, x } of drops) {
      if (x === end) continue;
      const jog = { channel: rowOf(use.to), y: 0, above: [x], below: [end], arrows: () => [] };
      jogs.set(use, jog);
      legs.push(jog);
    }
    legs.push(trunk);
  }
  return legs;
}

/** Uses that leave a cell by one line: on its own floor, or below. */
function trunkOf({ from, to }: Use): string {
  return `${nameOf(from)} ${rowOf(from) === rowOf(to) ? 'beside' : 'below'}`;
}

function nameOf({ floor, room }: Cell): string {
  return `${floor}/${room}`;
}

/**
 * Points where lines meet the upper and lower sides of cells: side by side, in the order of their
 * ways.
 */
class Ports {
  readonly #tops = new Map<string, { key: string; x: number }[]>();

  constructor(uses: readonly Use[]) {
    const meet = (cell: Cell, key: string, x: number): void => {
      const met = this.#tops.get(nameOf(cell)) ?? [];
      this.#tops.set(nameOf(cell), met);
      if (!met.some((one) => one.key === key)) met.push({ key, x });
    };
    for (const use of uses) {
      meet(use.to, trunkOf(use), columnLeft(use.from.room));
      const isBeside = rowOf(use.from) === rowOf(use.to);
      // It leaves on the side where the other room is.
      if (isBeside) meet(use.from, trunkOf(use), columnLeft(use.to.room));
    }
    for (const met of this.#tops.values()) met.sort((a, b) => a.x - b.x);
  }

  exit(use: Use): number {
    if (rowOf(use.from) === rowOf(use.to)) return this.#top(use.from, trunkOf(use));
    return columnLeft(use.from.room) + 14;
  }

  entry(use: Use): number {
    return this.#top(use.to, trunkOf(use));
  }

  #top(cell: Cell, key: string): number {
    const met = this.#tops.get(nameOf(cell)) ?? [];
    const at = met.findIndex((one) => one.key === key);
    const middle = columnLeft(cell.room) + CELL_WIDTH / 2 + 8;
    return middle + (at - (met.length - 1) / 2) * PORT_GAP;
  }
}
