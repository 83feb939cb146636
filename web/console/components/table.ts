import { type ComponentChildren, h } from '../../shared/dom.ts';
import { useMedia } from '../hooks/use-media.ts';

export type Column<T> = { title: string; cell: (row: T) => ComponentChildren; isNumber?: boolean };

type Props<T> = {
  /** Name of the table, for screen readers. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  modelKeyOf: (row: T) => string;
  /** It stays a table on a phone: a name and few numbers. */
  isCompact?: boolean;
};

/**
 * A table of records. Where its columns have no room each row is a block, and each cell has its column's title before
 * it. The roles are explicit because such a style hides those of the elements.
 */
export function DataTable<T>({ label, columns, rows, modelKeyOf, isCompact = false }: Props<T>) {
  const isNarrow = useMedia(`(width < ${columns.length > 5 ? 60 : 45}rem)`);
  if (rows.length === 0) return null;
  const classOf = ({ isNumber }: Column<T>) => (isNumber ? 'number' : undefined);
  return h(
    'table',
    { class: isCompact ? 'data compact' : isNarrow ? 'data blocks' : 'data', role: 'table', 'aria-label': label },
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        columns.map((column) =>
          h('th', { key: column.title, role: 'columnheader', scope: 'col', class: classOf(column) }, column.title),
        ),
      ),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      rows.map((row) =>
        h(
          'tr',
          { key: modelKeyOf(row), role: 'row' },
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
