/** The SQL that stores and deletes the usage of messages. */

const add = (table: string) => `messages = ${table}.messages + excluded.messages,
    tokens = ${table}.tokens + excluded.tokens, price_nanos = ${table}.price_nanos + excluded.price_nanos`;

/** In the order of `addDay`'s parameters. */
export const dayColumns = [
  'conversation_id',
  'day',
  'currency',
  'app_id',
  'messages',
  'tokens',
  'price_nanos',
] as const;

const intoDays = `INSERT INTO conversation_days (${dayColumns.join(', ')})`;
const onDay = `ON CONFLICT (conversation_id, day, currency) DO UPDATE SET ${add('conversation_days')}`;

/** One row (SQLite). */
export const addDay = `${intoDays} VALUES (?, ?, ?, ?, ?, ?, ?) ${onDay}`;

/** Many rows, one list parameter per column (PostgreSQL). */
export const addDays = `${intoDays}
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::float8[], $7::float8[])
  ${onDay}`;

/** Sums by app (SQLite only). Parameters: day, app_id, currency, messages, tokens, price_nanos. */
export const addAppDay = `
  INSERT INTO usage_days (day, app_id, currency, messages, tokens, price_nanos) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (day, app_id, currency) DO UPDATE SET ${add('usage_days')}`;

/** Run before rows of `conversation_days` are deleted. `conversations` is a statement that selects their ids. */
export const subtractFromApps = (conversations: string) => `
  UPDATE usage_days SET messages = usage_days.messages - removed.messages, tokens = usage_days.tokens - removed.tokens,
    price_nanos = usage_days.price_nanos - removed.price_nanos
  FROM (
    SELECT day, app_id, currency, SUM(messages) AS messages, SUM(tokens) AS tokens, SUM(price_nanos) AS price_nanos
    FROM conversation_days WHERE conversation_id IN (${conversations}) GROUP BY day, app_id, currency
  ) AS removed
  WHERE usage_days.day = removed.day AND usage_days.app_id = removed.app_id AND usage_days.currency = removed.currency`;
