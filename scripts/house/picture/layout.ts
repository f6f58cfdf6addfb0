/** Measures of the picture that its two parts share: the floors above and the matrix below. */
import { rooms } from '../rooms.ts';

export const CELL_WIDTH = 96;
export const MARGIN = 16;
const LEFT = 158;
const COLUMN_GAP = 12;

/** Rooms with a column of their own, in both parts. */
export const columns: readonly string[] = rooms
  .filter((room) => room.isEdge !== true)
  .map(({ name }) => name);

/** About the width at which a README is displayed, so that its texts are not scaled down. */
export const WIDTH = LEFT + columns.length * (CELL_WIDTH + COLUMN_GAP) + MARGIN - COLUMN_GAP / 2;

/** Left side of a room's column. */
export function columnLeft(room: string): number {
  return LEFT + columns.indexOf(room) * (CELL_WIDTH + COLUMN_GAP);
}
