// biome-ignore-all lint/a11y/noRedundantRoles: a style hides those of the elements, see DataTable
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button, Icon } from '../../shared/controls.tsx';
import { useMedia } from '../hooks/use-media.ts';
import { useStrip } from '../hooks/use-strip.ts';
import { whole } from './format-number.ts';

export type Column<T> = {
  title: string;
  cell?: (row: T) => ComponentChildren;
  /** Instead of a cell: a number that is counted. A zero is muted, and a problem has its colour. */
  count?: (row: T) => number;
  /** Where the cell leads, or the number. */
  href?: (row: T) => string;
  problem?: 'disliked' | 'failed' | undefined;
  /** Which rows have that colour, if not all; and the share that is printed after the number. */
  isOutlier?: ((row: T) => boolean) | undefined;
  share?: ((row: T) => string) | undefined;
  isNumber?: boolean;
  /** It is a number, and what it counts, for a phone; the title if it is counted. */
  unit?: string;
  /** The cells speak for themselves: the title is for screen readers. */
  hidesTitle?: boolean;
  /** It is left out where not all columns have room. */
  isExtra?: boolean;
  /** The table can be sorted by this value of a row. */
  value?: (row: T) => number | string;
  /** The service sorts by this name. */
  order?: string;
};

export type RowGroup<T> = { id: string; heading: ComponentChildren; rows: readonly T[] };

type Props<T> = {
  /** Name of the table, for screen readers. */
  label: string;
  columns: readonly Column<T>[];
  rows?: readonly T[];
  groups?: readonly RowGroup<T>[];
  /** Its id if there is none. */
  rowKey?: (row: T) => string;
  /** The order at first of a table that is sorted here, and how many rows it shows. */
  firstOrder?: string;
  shown?: number | undefined;
  /** The order by which the service sorts, with `-` if it is descending, and how to change it. */
  order?: string;
  setOrder?: (order: string) => void;
};

/**
 * A table of records. On a phone a row is two lines: its first cell, and the others, with the word of what they count. The
 * roles are explicit because such a style hides those of the elements.
 */
export function DataTable<T>(props: Props<T>) {
  const { label, columns, rows = [], groups, rowKey = idOf, firstOrder = '', shown, order, setOrder } = props;
  const [local, setLocal] = useState(firstOrder);
  const isPhone = useMedia('(width < 43.75rem)');
  const current = order ?? local;
  const all = groups ?? (rows.length === 0 ? [] : [{ id: '', heading: null, rows }]);
  const orders = useStrip<HTMLTableRowElement>(all.length === 0 ? '' : current);
  if (all.length === 0) return null;
  return (
    <table class={columns.length < 6 ? 'data few' : 'data'} role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row" class="strip" ref={orders}>
          {columns.map((column) => (
            <HeaderCell<T> key={column.title} column={column} current={current} sort={setOrder ?? setLocal} />
          ))}
        </tr>
      </thead>
      {all.map(({ id, heading, rows }) => (
        <tbody key={id} role="rowgroup">
          {heading && (
            <tr role="row">
              <th role="rowheader" colSpan={columns.length}>
                {heading}
              </th>
            </tr>
          )}
          {sorted(rows, columns, order === undefined ? local : '')
            .slice(0, shown)
            .map((row) => (
              <tr key={rowKey(row)} role="row" class={isPhone ? 'dots' : undefined}>
                {columns.map((column) => (
                  <Cell<T> key={column.title} column={column} row={row} isPhone={isPhone} />
                ))}
              </tr>
            ))}
        </tbody>
      ))}
    </table>
  );
}

const idOf = (row: unknown): string => String(Object(row).id);

/** On a phone the row is one target: a number does not lead elsewhere, and has the word of what it counts. */
function Cell<T>({ column, row, isPhone }: { column: Column<T>; row: T; isPhone: boolean }) {
  const { title, cell, count: counted, href, problem, isOutlier, share } = column;
  const n = counted?.(row);
  const looks = [
    classOf(column),
    n === 0 && 'zero soft',
    n && problem && (isOutlier?.(row) ?? true) && `problem ${problem}`,
  ];
  const unit = n === undefined ? column.unit : title.toLowerCase().replace(n === 1 ? /s$/ : '', '');
  const content = n === undefined ? cell?.(row) : whole(n);
  const leads = href && (n === undefined || (n > 0 && !isPhone));
  return (
    <td role="cell" class={looks.filter(Boolean).join(' ') || undefined} data-unit={unit}>
      {leads ? (
        <a class={n === undefined ? 'one-line' : undefined} href={href(row)}>
          {content}
        </a>
      ) : (
        content
      )}
      {share && !isPhone && [' ', <span class="share soft small">{n !== 0 && share(row)}</span>]}
    </td>
  );
}

const isNumeric = <T,>({ isNumber, unit, count }: Column<T>) => isNumber || unit !== undefined || count !== undefined;
const classOf = <T,>(column: Column<T>): string | undefined =>
  [isNumeric(column) && 'number', column.isExtra && 'extra'].filter(Boolean).join(' ') || undefined;
const orderOf = <T,>({ order, value, title }: Column<T>) => order ?? (value && title);

type HeaderProps<T> = { column: Column<T>; current: string; sort: (order: string) => void };

/** The title of a column; a button if the table can be sorted by it: numbers and times descending first. */
function HeaderCell<T>({ column, current, sort }: HeaderProps<T>) {
  const name = orderOf(column);
  const isDescending = current === `-${name}`;
  const state = isDescending ? 'descending' : current === name ? 'ascending' : undefined;
  const isNameFirst = state === undefined && !isNumeric(column) && column.order === 'user';
  const next = isDescending || isNameFirst ? `${name}` : `-${name}`;
  return (
    <th role="columnheader" scope="col" class={classOf(column)} aria-sort={state}>
      {name === undefined ? (
        <span class={column.hidesTitle ? 'hidden-label' : undefined}>{column.title}</span>
      ) : (
        <Button onClick={() => sort(next)}>
          {column.title}
          {state !== undefined && <Icon name="down" />}
        </Button>
      )}
    </th>
  );
}

function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], order: string): readonly T[] {
  const value = columns.find((column) => orderOf(column) === order.replace(/^-/, ''))?.value;
  if (order === '' || value === undefined) return rows;
  const direction = order.startsWith('-') ? -1 : 1;
  const compare = (one: number | string, other: number | string) => (one < other ? -1 : one > other ? 1 : 0);
  return rows.toSorted((one, other) => direction * compare(value(one), value(other)));
}
