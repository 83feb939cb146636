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
const add = (table: string) => list(sumColumns, (column) => `${column} = ${table}.${column} + excluded.${column}`);

/** In the order of `addDay`'s parameters. */
export const dayColumns = ['conversation_id', 'day', 'currency', 'app_id', ...sumColumns] as const;
/** In the order of `addAppDay`'s parameters. */
export const appDayColumns = ['day', 'app_id', 'currency', ...sumColumns] as const;

const intoDays = `INSERT INTO conversation_days (${dayColumns.join(', ')})`;
const onDay = `ON CONFLICT (conversation_id, day, currency) DO UPDATE SET ${add('conversation_days')}`;

/** One row (SQLite). */
export const addDay = `${intoDays} VALUES (${list(dayColumns, () => '?')}) ${onDay}`;

/** Many rows, one list parameter per column (PostgreSQL). */
export const addDays = `${intoDays}
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[],
    ${Object.values(sumTypes)
      .map((type, at) => `$${at + 5}::${type}[]`)
      .join(', ')})
  ${onDay}`;

/** Sums by app (SQLite only). */
export const addAppDay = `
  INSERT INTO usage_days (${appDayColumns.join(', ')}) VALUES (${list(appDayColumns, () => '?')})
  ON CONFLICT (day, app_id, currency) DO UPDATE SET ${add('usage_days')}`;

/** Run before rows of `conversation_days` are deleted. `conversations` is a statement that selects their ids. */
export const subtractFromApps = (conversations: string) => `
  UPDATE usage_days SET ${list(sumColumns, (column) => `${column} = usage_days.${column} - removed.${column}`)}
  FROM (
    SELECT day, app_id, currency, ${list(sumColumns, (column) => `SUM(${column}) AS ${column}`)}
    FROM conversation_days WHERE conversation_id IN (${conversations}) GROUP BY day, app_id, currency
  ) AS removed
  WHERE usage_days.day = removed.day AND usage_days.app_id = removed.app_id AND usage_days.currency = removed.currency`;
