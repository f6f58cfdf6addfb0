/** Columns that many tables have. */
import { StateBadge } from './badges.tsx';
import type { Column } from './table.tsx';
import { Age, msOf } from './time.tsx';

type Layout<Row> = Omit<Column<Row>, 'key' | 'title' | 'cell'>;

/** A state by its name in the API. */
export function stateColumn<Row>(
  key: string,
  title: string,
  stateOf: (row: Row) => string,
  layout: Layout<Row> = {},
): Column<Row> {
  return { key, title, ...layout, cell: (row) => <StateBadge value={stateOf(row)} /> };
}

/** The age of a time in Unix seconds. */
export function ageColumn<Row>(
  key: string,
  title: string,
  unixOf: (row: Row) => string | undefined,
  layout: Layout<Row> = {},
): Column<Row> {
  return { key, title, ...layout, cell: (row) => <Age ms={msOf(unixOf(row))} /> };
}
