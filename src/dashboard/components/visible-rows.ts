/** Selects the rows of a long table to render: those on the screen and a margin on either side. */

export interface TableView {
  readonly rowCount: number;
  /** Row height, px. */
  readonly rowPx: number;
  /** Top of the screen relative to the first row's top, px; negative while above the table. */
  readonly topPx: number;
  readonly screenPx: number;
}

export interface VisibleRows {
  /** Rendered rows: from `first` up to, but not including, `end`. */
  readonly first: number;
  readonly end: number;
  /** Heights of the parts that are not rendered, px. */
  readonly abovePx: number;
  readonly belowPx: number;
}

/** Rows rendered beyond the screen, so that one wheel step does not reveal blank space. */
const MARGIN_ROWS = 10;
/**
 * Tables up to this length are rendered completely: their rows may wrap, and the browser's search
 * works.
 */
export const WHOLE_ROWS_MAX = 100;

export function visibleRows({ rowCount, rowPx, topPx, screenPx }: TableView): VisibleRows {
  if (rowCount <= WHOLE_ROWS_MAX || rowPx <= 0) {
    return { first: 0, end: Math.min(rowCount, WHOLE_ROWS_MAX), abovePx: 0, belowPx: 0 };
  }
  // Some rows are always rendered, even if the table is off screen: keyboard navigation starts at
  // one of them.
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
