/** Which rows of a long table are painted: those on the screen, and some on either side. */

export interface TableView {
  readonly rowCount: number;
  /** Height of each row, px. */
  readonly rowPx: number;
  /** Top of the screen, measured from the first row's top, px; negative while above the table. */
  readonly topPx: number;
  readonly screenPx: number;
}

export interface VisibleRows {
  /** Painted rows: from `first` up to, not including, `end`. */
  readonly first: number;
  readonly end: number;
  /** Heights of what is not painted, px. */
  readonly abovePx: number;
  readonly belowPx: number;
}

/** Rows painted beyond the screen, so that a turn of the wheel meets no white. */
const MARGIN_ROWS = 10;
/** Tables up to this length are painted whole: their rows may wrap, and the browser's search works. */
export const WHOLE_ROWS_MAX = 100;

export function visibleRows({ rowCount, rowPx, topPx, screenPx }: TableView): VisibleRows {
  if (rowCount <= WHOLE_ROWS_MAX || rowPx <= 0) {
    return { first: 0, end: Math.min(rowCount, WHOLE_ROWS_MAX), abovePx: 0, belowPx: 0 };
  }
  // Some rows always, also of a table that is not on the screen: the keyboard begins at one of them.
  const first = clamp(Math.floor(topPx / rowPx) - MARGIN_ROWS, 0, rowCount - MARGIN_ROWS);
  const end = clamp(
    Math.ceil((topPx + screenPx) / rowPx) + MARGIN_ROWS,
    first + MARGIN_ROWS,
    rowCount,
  );
  return { first, end, abovePx: first * rowPx, belowPx: (rowCount - end) * rowPx };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
