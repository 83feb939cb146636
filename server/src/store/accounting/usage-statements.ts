/** The SQL that stores and deletes the usage of messages. */

/** The columns that are sums, with their types on PostgreSQL. */
const sumTypes = {
  messages: 'bigint',
  tokens: 'float8',
  price_nanos: 'float8',
  liked: 'bigint',
  disliked: 'bigint',
  failed: 'bigint',
} as const;
export type UsageSums = Record<keyof typeof sumTypes, number>;
export const sumColumns = Object.keys(sumTypes) as (keyof UsageSums)[];

const list = (columns: readonly string[], each: (column: string) => string): string => columns.map(each).join(', ');
const sums = list(sumColumns, (column) => `${column} = conversation_days.${column} + excluded.${column}`);

/** In the order of `addDay`'s parameters. */
export const dayColumns = ['conversation_id', 'day', 'currency', 'app_id', ...sumColumns] as const;

const intoDays = `INSERT INTO conversation_days (${dayColumns.join(', ')})`;
const onDay = `ON CONFLICT (conversation_id, day, currency) DO UPDATE SET ${sums}`;

/** One row (SQLite). */
export const addDay = `${intoDays} VALUES (${list(dayColumns, () => '?')}) ${onDay}`;

/** Many rows, one list parameter per column (PostgreSQL). */
export const addDays = `${intoDays}
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[],
    ${Object.values(sumTypes)
      .map((type, at) => `$${at + 5}::${type}[]`)
      .join(', ')})
  ${onDay}`;
