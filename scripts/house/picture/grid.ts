/**
 * The house as data for its picture and its table: a cell for each room on each floor with its
 * size, and the uses between rooms. A use is a pair of rooms, with the imports counted by the floor
 * on which the used room is imported.
 */
import { type Checkout, type Floor, floors } from '../checkout.ts';
import { isEdge, order, roomOf } from '../rooms.ts';

export interface Cell {
  readonly floor: Floor;
  readonly room: string;
  readonly files: number;
  readonly lines: number;
}

/** A room that imports another one, from any of its floors. */
export interface Use {
  readonly from: string;
  readonly to: string;
  /** Imports by the floor of the used room; floors without one are absent. */
  readonly imports: ReadonlyMap<Floor, number>;
}

export interface Grid {
  /** By floor from the top, and by the order of rooms. */
  readonly cells: readonly Cell[];
  /** Uses of rooms of the domain, by the order of rooms. */
  readonly uses: readonly Use[];
}

/** Cells and uses of a checkout; the same checkout gives the same order. */
export function gridOf({ sources }: Checkout): Grid {
  const cells = new Map<string, Cell>();
  const uses = new Map<string, { from: string; to: string; imports: Map<Floor, number> }>();
  for (const file of sources.values()) {
    const from = roomOf(file.path);
    const name = `${file.floor}/${from}`;
    const cell = cells.get(name) ?? { floor: file.floor, room: from, files: 0, lines: 0 };
    cells.set(name, { ...cell, files: cell.files + 1, lines: cell.lines + file.lines });
    for (const target of file.imports) {
      const to = roomOf(target);
      const floor = sources.get(target)?.floor;
      if (from === to || isEdge(to) || floor === undefined) continue;
      const use = uses.get(`${from} ${to}`) ?? { from, to, imports: new Map() };
      use.imports.set(floor, (use.imports.get(floor) ?? 0) + 1);
      uses.set(`${from} ${to}`, use);
    }
  }
  const place = (room: string) => order.indexOf(room);
  return {
    cells: [...cells.values()]
      .filter(({ room }) => room !== 'main.ts')
      .sort((a, b) => rowOf(a) - rowOf(b) || place(a.room) - place(b.room)),
    uses: [...uses.values()]
      .filter(({ from }) => from !== 'main.ts')
      .sort((a, b) => place(a.from) - place(b.from) || place(a.to) - place(b.to)),
  };
}

/** 0 is the floor at the top. */
export function rowOf({ floor }: { readonly floor: Floor }): number {
  return floors.length - 1 - floors.indexOf(floor);
}
