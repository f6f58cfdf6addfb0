/**
 * A table of any length. Rows scroll with the page, so that a phone has one scroll area. Only the
 * visible rows of a long table are rendered, while `aria-rowcount` and `aria-rowindex` give their
 * positions. One row is in the tab order; arrow keys, `j` and `k` move from there.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../messages/en.ts';
import { useShortcuts } from './shortcuts.ts';
import { type VisibleRows, visibleRows } from './visible-rows.ts';

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers are right-aligned. */
  readonly align?: 'right';
  /**
   * Placement when rows become blocks, on a phone or tablet: `hide` drops the column, `second` puts
   * it into the second line, and `labelled` does so behind its title, for values that mean nothing
   * without it. Numbers are always labelled.
   */
  readonly phone?: 'hide' | 'second' | 'labelled';
  /** `grow`: wraps when other columns need the width; for at most one or two columns. */
  readonly width?: 'grow';
  readonly isSortable?: boolean;
}

export interface TableProps<Row> {
  /** Accessible name of the table. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Target of a row; its first cell becomes the link. */
  readonly href?: (row: Row) => string;
  /** Total number of rows if more exist than are loaded; -1 if unknown. */
  readonly rowCount?: number;
  readonly sort?: { readonly key: string; readonly descending: boolean };
  readonly onSort?: (key: string) => void;
  /**
   * A table of numbers only: it stays a table on a phone, with narrow rows, and handles no keys.
   */
  readonly isPlain?: boolean;
  /** Checkboxes before rows, to select several. */
  readonly selection?: {
    readonly has: (row: Row) => boolean;
    readonly toggle: (row: Row) => void;
    readonly label: (row: Row) => string;
  };
}

export function Table<Row>(props: TableProps<Row>): VNode {
  const { label, columns, rows, keyOf, rowCount = rows.length, selection, isPlain } = props;
  const element = useRef<HTMLTableElement>(null);
  const visible = useVisibleRows(element, rows.length);
  const active = useSignal(0);
  const moveTo = (row: number): void => {
    active.value = Math.min(rows.length - 1, Math.max(0, row));
    focusRow(element.current, active.value);
  };
  const moves = [
    { keys: 'j', name: texts.shortcut.down, run: () => moveTo(next(element.current, active, 1)) },
    { keys: 'k', name: texts.shortcut.up, run: () => moveTo(next(element.current, active, -1)) },
  ];
  useShortcuts(isPlain ? [] : moves);
  const { first, end, abovePx, belowPx } = visible.value;
  const span = columns.length + (selection ? 1 : 0);
  const current = Math.min(Math.max(active.value, first), Math.max(first, end - 1));
  return (
    <>
      <SortChoice {...props} />
      <table
        ref={element}
        class={classOf(isPlain === true, rows.length > end - first)}
        aria-label={label}
        aria-rowcount={rowCount < 0 ? -1 : rowCount + 1}
        onKeyDown={(event) => {
          const step = keySteps[event.key];
          if (step === undefined || isTyping(event.target)) return;
          event.preventDefault();
          moveTo(step(rowOf(event.target) ?? active.peek(), rows.length));
        }}
      >
        <Head {...props} />
        <Spacer px={abovePx} span={span} />
        <tbody>
          {rows.slice(first, end).map((row, i) => (
            <tr
              key={keyOf(row)}
              aria-rowindex={first + i + 2}
              data-row={first + i}
              onFocusIn={() => {
                active.value = first + i;
              }}
            >
              {selection && (
                <td class="choose">
                  <label>
                    <span class="visually-hidden">{selection.label(row)}</span>
                    <input
                      type="checkbox"
                      checked={selection.has(row)}
                      onChange={() => selection.toggle(row)}
                    />
                  </label>
                </td>
              )}
              <Cells {...props} row={row} isCurrent={first + i === current} />
            </tr>
          ))}
        </tbody>
        <Spacer px={belowPx} span={span} />
      </table>
    </>
  );
}

/** Sort control for layouts without clickable column titles. */
function SortChoice<Row>({ columns, sort, onSort }: TableProps<Row>): VNode | null {
  if (!sort || !onSort) return null;
  return (
    <div class="filters sort-by">
      <label>
        {texts.table.sortBy}
        <select value={sort.key} onChange={({ currentTarget }) => onSort(currentTarget.value)}>
          {columns
            .filter(({ isSortable }) => isSortable)
            .map(({ key, title }) => (
              <option key={key} value={key}>
                {title}
              </option>
            ))}
        </select>
      </label>
      <button
        type="button"
        class="quiet square"
        aria-label={texts.table.reverse}
        onClick={() => onSort(sort.key)}
      >
        {arrows[orderOf(sort)]}
      </button>
    </div>
  );
}

function classOf(isPlain: boolean, isLong: boolean): string {
  return `table ${isPlain ? 'plain' : 'rows'}${isLong ? ' long' : ''}`;
}

function Cells<Row>(props: TableProps<Row> & { row: Row; isCurrent: boolean }): VNode {
  const { columns, row, href, isCurrent } = props;
  return (
    <>
      {columns.map((column, i) => (
        <td key={column.key} class={cellClass(column)} data-title={column.title}>
          {i === 0 && href ? (
            <a class="row-link" href={href(row)} tabIndex={isCurrent ? 0 : -1}>
              {column.cell(row)}
            </a>
          ) : (
            column.cell(row)
          )}
        </td>
      ))}
    </>
  );
}

function Head<Row>({ columns, sort, onSort, selection }: TableProps<Row>): VNode {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {selection && <td class="choose" />}
        {columns.map((column) => {
          const isSorted = sort?.key === column.key;
          const order = orderOf(sort);
          return (
            <th
              key={column.key}
              scope="col"
              class={cellClass(column)}
              {...(isSorted && { 'aria-sort': order })}
            >
              {column.isSortable && onSort ? (
                <button type="button" class="sort" onClick={() => onSort(column.key)}>
                  {column.title}
                  {isSorted && <span aria-hidden="true">{arrows[order]}</span>}
                </button>
              ) : (
                column.title
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

const arrows = { ascending: '↑', descending: '↓' } as const;

function orderOf(sort: { readonly descending: boolean } | undefined): keyof typeof arrows {
  return sort?.descending ? 'descending' : 'ascending';
}

function cellClass<Row>({ align, phone, width }: Column<Row>): string {
  const onPhone = phone === 'labelled' ? 'phone-second phone-labelled' : phone && `phone-${phone}`;
  return [align, onPhone, width].filter(Boolean).join(' ');
}

/**
 * Stands in for rows that are not rendered; assistive technology knows them from `aria-rowcount`.
 */
function Spacer({ px, span }: { readonly px: number; readonly span: number }): VNode | null {
  if (px === 0) return null;
  return (
    <tbody aria-hidden="true" class="spacer">
      <tr>
        <td class="spacer" colSpan={span} style={{ height: `${px}px` }} />
      </tr>
    </tbody>
  );
}

const keySteps: Readonly<Record<string, (row: number, count: number) => number>> = {
  ArrowDown: (row) => row + 1,
  ArrowUp: (row) => row - 1,
  PageDown: (row) => row + 10,
  PageUp: (row) => row - 10,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** The row after the active one, or the active one itself while the focus is elsewhere. */
function next(table: HTMLTableElement | null, active: { peek(): number }, step: number): number {
  return table?.contains(document.activeElement) ? active.peek() + step : active.peek();
}

function rowOf(target: EventTarget | null): number | undefined {
  const row = target instanceof Element ? target.closest<HTMLElement>('tr[data-row]') : null;
  return row === null ? undefined : Number(row.dataset.row);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && target.type !== 'checkbox';
}

/** Scrolls to a row and focuses it, if necessary once it is rendered. */
function focusRow(table: HTMLTableElement | null, row: number): void {
  const focus = (): boolean => {
    const cells = table?.querySelector<HTMLElement>(`tr[data-row="${row}"]`);
    const link =
      cells?.querySelector<HTMLElement>('.row-link') ??
      cells?.querySelector<HTMLElement>('a, button, input');
    link?.focus({ preventScroll: true });
    link?.closest('tr')?.scrollIntoView({ block: 'nearest' });
    return link != null;
  };
  if (focus() || table === null) return;
  const { topPx, rowPx } = measure(table);
  window.scrollBy({ top: row * rowPx - topPx - window.innerHeight / 2 });
  // The scroll event renders the rows, which are available in the next frame.
  requestAnimationFrame(() => requestAnimationFrame(focus));
}

function useVisibleRows(
  element: { readonly current: HTMLTableElement | null },
  rowCount: number,
): { readonly value: VisibleRows } {
  const visible = useSignal(visibleRows({ rowCount, rowPx: 44, topPx: 0, screenPx: 900 }));
  useEffect(() => {
    const update = (): void => {
      if (element.current === null) return;
      const { topPx, rowPx } = measure(element.current);
      const now = visibleRows({ rowCount, rowPx, topPx, screenPx: window.innerHeight });
      const { first, end, belowPx } = visible.peek();
      if (now.first !== first || now.end !== end || now.belowPx !== belowPx) visible.value = now;
    };
    update();
    window.addEventListener('scroll', update, { passive: true });
    window.addEventListener('resize', update);
    return () => {
      window.removeEventListener('scroll', update);
      window.removeEventListener('resize', update);
    };
  }, [element, rowCount, visible]);
  return visible;
}

/** Row height, and distance of the screen's top below the first row's top, px. */
function measure(table: HTMLTableElement): { readonly topPx: number; readonly rowPx: number } {
  const head = table.tHead?.getBoundingClientRect();
  const row = table.querySelector('tr[data-row]')?.getBoundingClientRect();
  const bodyTop = table.getBoundingClientRect().top + (head?.height ?? Number.NaN);
  return {
    topPx: Number.isNaN(bodyTop) ? -table.getBoundingClientRect().top : -bodyTop,
    rowPx: row?.height ?? 44,
  };
}
