/**
 * The house as data for its picture and its table: a cell for each room on each floor with its
 * size, and the uses between rooms. A use is one arrow, regardless of the number of importing files
 * and their floors. It points at the highest imported floor of the other room.
 */
import { type Checkout, type Floor, floors } from '../checkout.ts';
import { isEdge, order, roomOf } from '../rooms.ts';

export interface Cell {
  readonly floor: Floor;
  readonly room: string;
  readonly files: number;
  readonly lines: number;
}

export interface Use {
  readonly from: Cell;
  readonly to: Cell;
  /** Imports from one cell to all floors of the other room. */
  readonly imports: number;
}

export interface Grid {
  /** By floor from the top, and in the order of rooms. */
  readonly cells: readonly Cell[];
  /**
   * Between rooms of the domain. Every room uses the platform, and edges use the rooms that they
   * open.
   */
  readonly uses: readonly Use[];
}

/** Cells and uses of a checkout; the same checkout gives the same order. */
export function gridOf({ sources }: Checkout): Grid {
  const cells = new Map<string, Cell>();
  const imports = new Map<string, { from: string; to: Set<string>; count: number }>();
  for (const file of sources.values()) {
    const from = cellOf(file.path);
    const cell = cells.get(from) ?? {
      floor: file.floor,
      room: roomOf(file.path),
      files: 0,
      lines: 0,
    };
    cells.set(from, { ...cell, files: cell.files + 1, lines: cell.lines + file.lines });
    for (const target of file.imports) {
      const rooms = [roomOf(file.path), roomOf(target)];
      if (rooms[0] === rooms[1] || rooms[1] === 'platform' || rooms.some(isEdge)) continue;
      const key = `${from} ${rooms[1]}`;
      const use = imports.get(key) ?? { from, to: new Set(), count: 0 };
      use.to.add(cellOf(target));
      use.count++;
      imports.set(key, use);
    }
  }
  const known = (name: string): Cell => {
    const cell = cells.get(name);
    if (cell === undefined) throw new Error(`${name} has no file`);
    return cell;
  };
  const byPlace = (a: Cell, b: Cell) =>
    rowOf(a) - rowOf(b) || order.indexOf(a.room) - order.indexOf(b.room);
  const uses = [...imports.values()].map(({ from, to, count }) => {
    const [highest] = [...to].map(known).sort(byPlace);
    return { from: known(from), to: highest ?? known(from), imports: count };
  });
  return {
    cells: [...cells.values()].filter(({ room }) => room !== 'main.ts').sort(byPlace),
    uses: uses.sort((a, b) => byPlace(a.from, b.from) || byPlace(a.to, b.to)),
  };
}

/** 0 is the top floor. */
export function rowOf({ floor }: { readonly floor: Floor }): number {
  return floors.length - 1 - floors.indexOf(floor);
}

function cellOf(path: string): string {
  return path.split('/').slice(0, 2).join('/');
}
