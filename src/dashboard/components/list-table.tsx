/** A list as a table: its rows, the number of rows and `Load more`, or the text of an empty list. */
import type { ComponentChildren, VNode } from 'preact';
import type { Listing, ListLoader } from '../data/listing.ts';
import { DataView } from './data-view.tsx';
import { ListFoot } from './list-foot.tsx';
import { Table, type TableProps } from './table.tsx';

export interface ListTableProps<Row> extends Omit<TableProps<Row>, 'rows' | 'rowCount'> {
  readonly of: ListLoader<Row>;
  readonly empty: ComponentChildren;
  /** Order of the rows; defaults to that of the list. */
  readonly order?: (rows: readonly Row[]) => readonly Row[];
  /** Missing parts of the list, one sentence each. */
  readonly missing?: (listing: Listing<Row>) => readonly string[];
  /** Below a table that has rows. */
  readonly children?: ComponentChildren;
}

export function ListTable<Row>(props: ListTableProps<Row>): VNode {
  const { of: list, empty, order = (rows) => rows, missing = () => [], children, ...table } = props;
  return (
    <DataView
      of={list}
      isEmpty={({ items, nextPageToken }) => items.length === 0 && nextPageToken === ''}
      empty={empty}
      missing={missing}
    >
      {({ items, nextPageToken }) => (
        <>
          <Table
            {...table}
            rows={order(items)}
            rowCount={nextPageToken === '' ? items.length : -1}
          />
          <ListFoot of={list} />
          {children}
        </>
      )}
    </DataView>
  );
}
