import { limits } from '../../contract/limits.ts';
import type { Listed } from '../../domain/large-text.ts';
import { type Condition, split } from './selection.ts';
import type { Bound, Reader, Row, Statement, Value } from './statement.ts';

/**
 * Rows whose texts may be large. A statement reads the texts of small rows, and of all rows the size of their texts, which the
 * engines know without reading them. Large rows are read one by one, after it is clear that they are needed and fit into memory.
 */

/**
 * The column of a text that may be large, or an expression with its size: SQLite knows the length of a column without reading it, but
 * not that of an expression.
 */
export type TextSource = string | { text: string; bytes: string };

/** `columns`: those of small values, as SQL. `texts`: by their names in the row. */
export type SizedColumns = { columns: readonly string[]; texts: Readonly<Record<string, TextSource>> };

/** A table that is read in the order of its key. */
export type SizedTable = SizedColumns & { table: string; key: readonly string[] };

/** Which texts are read. `small`: those of rows with at most `limits.joinedDocBytesMax`; in larger rows they are null. `all`: without sizes. */
export type Reading = 'none' | 'small' | 'all';

export type Sized<R extends object = Row> = R & { bytes: number };

export const isLarge = ({ bytes }: { bytes: number }): boolean => bytes > limits.joinedDocBytesMax;

export const firstOf = (...columns: string[]): TextSource => ({
  text: `COALESCE(${columns.join(', ')})`,
  bytes: `COALESCE(${columns.map((column) => `octet_length(${column})`).join(', ')})`,
});

const textOf = (source: TextSource): string => (typeof source === 'string' ? source : source.text);
const lengthOf = (source: TextSource): string =>
  `COALESCE(${typeof source === 'string' ? `octet_length(${source})` : source.bytes}, 0)`;

/** The text, or null if it is large. */
export const smallText = (source: TextSource, smallBytesMax: number = limits.joinedDocBytesMax): string =>
  `CASE WHEN ${lengthOf(source)} <= ${smallBytesMax} THEN ${textOf(source)} END`;

/** The columns of a statement, as SQL, with the size of the texts as `bytes`. */
export function sizedColumns(
  { columns, texts }: SizedColumns,
  reading: Reading,
  smallBytesMax: number = limits.joinedDocBytesMax,
): string {
  const bytes = Object.values(texts).map(lengthOf).join(' + ') || '0';
  const selected = Object.entries(texts).map(([name, source]) => {
    const text = textOf(source);
    return `${reading === 'all' ? text : smallText({ text, bytes }, smallBytesMax)} AS ${name}`;
  });
  return [
    ...columns,
    ...(reading === 'none' ? [] : selected),
    ...(reading === 'all' ? [] : [`${bytes} AS bytes`]),
  ].join(', ');
}

/** A row of a list. `readAll` reads it with its large texts, if it still exists. */
export const listedOf = <C extends object, R>(
  row: Sized<C>,
  rowOf: (row: C) => R,
  readAll: () => Promise<C[]>,
): Listed<R> => ({
  bytes: row.bytes,
  row: isLarge(row) ? undefined : rowOf(row),
  readLarge: async () => (await readAll()).map(rowOf)[0],
});

/** The rows of a table in the order of its key, which they have as `key_0` and so on. */
export function selectByKey(table: SizedTable, reading: Reading, where = ''): Statement<Sized> {
  const { key } = table;
  const columns = [...key.map((column, at) => `${column} AS key_${at}`), sizedColumns(table, reading)];
  return `SELECT ${columns.join(', ')} FROM ${table.table} ${where} ORDER BY ${key.join(', ')}`;
}

const keyOf = (row: Row, { key }: SizedTable): Value[] => key.map((_, at) => row[`key_${at}`] as Value);

/** A row with its texts, among those for which the conditions hold. */
function wholeRow(table: SizedTable, row: Row, conditions: readonly Condition[] = []): Bound {
  const { texts, values } = split(conditions);
  const where = [...texts, ...table.key.map((column) => `${column} = ?`)].join(' AND ');
  return [`SELECT ${sizedColumns(table, 'all')} FROM ${table.table} WHERE ${where}`, ...values, ...keyOf(row, table)];
}

/** Rows in their order, with the texts of large ones: small rows together, each large one for itself. */
async function* withLargeRows<R extends { bytes: number }, W>(
  rows: readonly R[],
  readLarge: (row: R) => Promise<W[]>,
): AsyncGenerator<(R | W)[]> {
  let small: R[] = [];
  for (const row of rows) {
    if (!isLarge(row)) {
      small.push(row);
      continue;
    }
    if (small.length > 0) yield small;
    small = [];
    yield await readLarge(row);
  }
  if (small.length > 0) yield small;
}

/** Rows of a table that one statement reads: the first one, and at most. */
const rowsMin = 50;
const rowsMax = 500;

/** The number of rows for the next statement, by the size of the last ones. */
function nextCount(rows: readonly { bytes: number }[]): number {
  const bytes = rows.reduce((sum, row) => sum + (isLarge(row) ? 0 : row.bytes), 0);
  const fitting = Math.floor((limits.largePageReadBytes * rows.length) / Math.max(1, bytes));
  return Math.max(1, Math.min(rowsMax, fitting));
}

/** The rows for which these conditions hold, in the order of their key. Without a snapshot, each row is as it is when it is read. */
export async function* readByKey(
  read: Reader,
  table: SizedTable,
  conditions: readonly Condition[],
): AsyncGenerator<Row[], void> {
  const { key } = table;
  const { texts, values } = split(conditions);
  const beyond = `(${key.join(', ')}) > (${key.map(() => '?').join(', ')})`;
  let count = rowsMin;
  for (let after: Value[] = []; ; ) {
    const all = [...texts, ...(after.length === 0 ? [] : [beyond])];
    const where = all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`;
    const text: Statement<Sized> = `${selectByKey(table, 'small', where)} LIMIT ?`;
    const rows = await read(text, ...values, ...after, count);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield* withLargeRows(rows, (row) => read(...wholeRow(table, row, conditions)));
    if (rows.length < count) return;
    after = keyOf(last, table);
    count = nextCount(rows);
  }
}
