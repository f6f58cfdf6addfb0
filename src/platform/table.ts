/** A table for people: columns as wide as their widest cell, numbers to the right. */

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Lines without trailing spaces, the titles first; every row has a cell for each column. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string[] {
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align }, i) => {
        const [cell = '', width = 0] = [cells[i], widths[i]];
        return align === 'right' ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...rows.map(line)];
}
