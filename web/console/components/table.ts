import { button, type ComponentChildren, h, useState } from '../../shared/dom.ts';
import { Icon } from '../../shared/icon.ts';
import { useMedia } from '../hooks/use-media.ts';

export type Column<T> = {
  title: string;
  cell: (row: T) => ComponentChildren;
  isNumber?: boolean;
  /** The table can be sorted by this value of a row. */
  value?: (row: T) => number | string;
  /** The service sorts by this name. */
  order?: string;
};

type Props<T> = {
  /** Name of the table, for screen readers. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** It stays a table on a phone: a name and few numbers. */
  isCompact?: boolean;
  /** The order by which the service sorts, with `-` if it is descending, and how to change it. */
  order?: string;
  setOrder?: (order: string) => void;
};

/**
 * A table of records. Where its columns have no room each row is a block, and each cell has its column's title before
 * it. The roles are explicit because such a style hides those of the elements.
 */
export function DataTable<T>({ label, columns, rows, rowKey, isCompact = false, order, setOrder }: Props<T>) {
  const [local, setLocal] = useState('');
  const current = order ?? local;
  const isNarrow = useMedia(`(width < ${columns.length > 5 ? 60 : 45}rem)`);
  if (rows.length === 0) return null;
  return h(
    'table',
    { class: isCompact ? 'data compact' : isNarrow ? 'data blocks' : 'data', role: 'table', 'aria-label': label },
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        columns.map((column) => h(HeaderCell<T>, { key: column.title, column, current, sort: setOrder ?? setLocal })),
      ),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      sorted(rows, columns, order === undefined ? local : '').map((row) =>
        h(
          'tr',
          { key: rowKey(row), role: 'row' },
          columns.map((column) =>
            h(
              'td',
              { key: column.title, role: 'cell', class: classOf(column), 'data-title': column.title },
              column.cell(row),
            ),
          ),
        ),
      ),
    ),
  );
}

const classOf = <T>({ isNumber }: Column<T>) => (isNumber ? 'number' : undefined);
const orderOf = <T>({ order, value, title }: Column<T>) => order ?? (value && title);

type HeaderProps<T> = { column: Column<T>; current: string; sort: (order: string) => void };

/** The title of a column; a button if the table can be sorted by it: numbers and times descending first. */
function HeaderCell<T>({ column, current, sort }: HeaderProps<T>) {
  const name = orderOf(column);
  const isDescending = current === `-${name}`;
  const state = isDescending ? 'descending' : current === name ? 'ascending' : undefined;
  const next =
    isDescending || (state === undefined && !column.isNumber && column.order === 'user') ? `${name}` : `-${name}`;
  return h(
    'th',
    { role: 'columnheader', scope: 'col', class: classOf(column), 'aria-sort': state },
    name === undefined
      ? column.title
      : button({ onClick: () => sort(next) }, column.title, state !== undefined && h(Icon, { name: 'down' })),
  );
}

function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], order: string): readonly T[] {
  const value = columns.find((column) => orderOf(column) === order.replace(/^-/, ''))?.value;
  if (order === '' || value === undefined) return rows;
  const direction = order.startsWith('-') ? -1 : 1;
  const compare = (one: number | string, other: number | string) => (one < other ? -1 : one > other ? 1 : 0);
  return rows.toSorted((one, other) => direction * compare(value(one), value(other)));
}
