import { days, priceRules } from '../../domain/records/usage.ts';

/**
 * The migration step that adds the last activity of conversations and their usage by day. It also counts the existing
 * messages, by the rules of `domain/records/usage.ts`. Counting comes first, since altering the table `conversations` blocks its
 * readers.
 */

const dayTable = `
  CREATE TABLE conversation_days (
    conversation_id TEXT NOT NULL,
    day BIGINT NOT NULL,
    currency TEXT NOT NULL,
    app_id TEXT NOT NULL,
    messages BIGINT NOT NULL,
    tokens DOUBLE PRECISION NOT NULL,
    price_nanos DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (conversation_id, day, currency)
  )`.trim();

/** The day of a message `m`. */
export const dayOfMessage = `
  CASE WHEN m.created_at < ${days.first * days.seconds} THEN ${days.first}
    WHEN m.created_at > ${days.last * days.seconds} THEN ${days.last}
    ELSE CAST(floor(m.created_at / CAST(${days.seconds} AS DOUBLE PRECISION)) AS BIGINT) END`;

/** Whether the price of a message is counted. */
export const isPriced = `total_price IS NOT NULL AND currency IS NOT NULL
  AND octet_length(currency) BETWEEN 1 AND ${priceRules.currencyBytesMax}`;
const price = 'lower(total_price)';
const isPlain = `length(total_price) <= ${priceRules.charsMax}
  AND (${price} NOT LIKE '%e___%' OR ${price} LIKE '%e-__' OR ${price} LIKE '%e+__')`;

/** `fields` gives total_tokens, total_price and currency of each message `m`. */
const fillDays = (fields: string, from: string) => `
  INSERT INTO conversation_days (conversation_id, day, currency, app_id, messages, tokens, price_nanos)
  SELECT conversation_id, day, currency, app_id, COUNT(*), SUM(tokens),
    SUM(CASE WHEN nanos > ${priceRules.nanosMax} THEN ${priceRules.nanosMax}
      WHEN nanos < -${priceRules.nanosMax} THEN -${priceRules.nanosMax} ELSE nanos END)
  FROM (
    SELECT conversation_id, app_id, day, CAST(COALESCE(total_tokens, 0) AS DOUBLE PRECISION) AS tokens,
      CASE WHEN ${isPriced} THEN currency ELSE '' END AS currency,
      CASE WHEN ${isPriced} AND ${isPlain} THEN floor(CAST(total_price AS DOUBLE PRECISION) * 1e9 + 0.5)
        ELSE 0.0 END AS nanos
    FROM (
      SELECT m.conversation_id, c.app_id, ${dayOfMessage} AS day, ${fields}
      FROM messages m JOIN conversations c ON c.conversation_id = m.conversation_id ${from}
    ) AS message_fields
  ) AS counted
  GROUP BY conversation_id, app_id, day, currency`;

const activity: readonly string[] = [
  `ALTER TABLE conversations ADD COLUMN last_message_at BIGINT NOT NULL DEFAULT 0`,
  `UPDATE conversations SET last_message_at = COALESCE((
     SELECT MAX(m.created_at) FROM messages m WHERE m.conversation_id = conversations.conversation_id), 0)`,
  `DROP INDEX conversations_by_app`,
  `CREATE INDEX conversations_by_activity ON conversations (app_id, deleted, last_message_at, conversation_id)`,
  `CREATE INDEX conversations_by_user
     ON conversations (app_id, deleted, substr("user", 1, 200), last_message_at DESC, conversation_id DESC)`,
];

/**
 * The embedded engine reads on the thread that serves requests, so it also stores sums by app and day: with one writer there
 * is no contention. PostgreSQL computes them when they are read; stored sums would make the writers of an app wait for each
 * other.
 */
export const usageSteps = {
  sqlite: [
    dayTable,
    fillDays(
      `m.doc ->> 'total_tokens' AS total_tokens, m.doc ->> 'total_price' AS total_price, m.doc ->> 'currency' AS currency`,
      '',
    ),
    `CREATE TABLE usage_days (
       day BIGINT NOT NULL,
       app_id TEXT NOT NULL,
       currency TEXT NOT NULL,
       messages BIGINT NOT NULL,
       tokens DOUBLE PRECISION NOT NULL,
       price_nanos DOUBLE PRECISION NOT NULL,
       PRIMARY KEY (day DESC, app_id, currency)
     )`,
    `INSERT INTO usage_days (day, app_id, currency, messages, tokens, price_nanos)
     SELECT day, app_id, currency, SUM(messages), SUM(tokens), SUM(price_nanos) FROM conversation_days
     GROUP BY day, app_id, currency`,
    'CREATE INDEX usage_days_by_app ON usage_days (app_id, day DESC, currency)',
    ...activity,
  ],
  postgres: [
    dayTable,
    fillDays(
      'f.total_tokens, f.total_price, f.currency',
      `CROSS JOIN LATERAL json_to_record(CAST(m.doc AS json))
         AS f (total_tokens DOUBLE PRECISION, total_price TEXT, currency TEXT)`,
    ),
    'CREATE INDEX conversation_days_by_day ON conversation_days (day DESC, app_id, currency)',
    ...activity,
  ],
} as const;
