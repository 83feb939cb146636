import { dayOfMessage, isPriced } from './usage-step.ts';

/**
 * The migration step that counts liked, disliked and failed messages by conversation and day, and adds the indexes for lists
 * of all apps.
 */

const counts = ['liked', 'disliked', 'failed'] as const;
const addColumns = (table: string) =>
  counts.map((column) => `ALTER TABLE ${table} ADD COLUMN ${column} BIGINT NOT NULL DEFAULT 0`);
const countsOf = (value: (column: string) => string) =>
  counts.map((column) => `${column} = ${value(column)}`).join(', ');
const countIf = (condition: string) => `SUM(CASE WHEN ${condition} THEN 1 ELSE 0 END)`;

/** `field` gives the text of a field of the message `m`; `rating` its rating. */
const countMessages = (field: (name: string) => string, rating: string) => `
  UPDATE conversation_days SET ${countsOf((column) => `counted.${column}`)} FROM (
    SELECT conversation_id, day, currency, ${countIf(`rating = 'like'`)} AS liked,
      ${countIf(`rating = 'dislike'`)} AS disliked, ${countIf(`status = 'error'`)} AS failed
    FROM (
      SELECT conversation_id, day, rating, status, CASE WHEN ${isPriced} THEN currency ELSE '' END AS currency
      FROM (
        SELECT m.conversation_id, ${dayOfMessage} AS day, ${rating} AS rating, ${field('status')} AS status,
          ${field('total_price')} AS total_price, ${field('currency')} AS currency
        FROM messages m
      ) AS message_fields
      WHERE rating IS NOT NULL OR status = 'error'
    ) AS selected
    GROUP BY conversation_id, day, currency
  ) AS counted
  WHERE conversation_days.conversation_id = counted.conversation_id AND conversation_days.day = counted.day
    AND conversation_days.currency = counted.currency`;

const sumOf = (column: string) => `(
  SELECT SUM(d.${column}) FROM conversation_days d
  WHERE d.day = usage_days.day AND d.app_id = usage_days.app_id AND d.currency = usage_days.currency)`;

/** Only conversations that are not deleted are listed. */
const latestFirst =
  'CREATE INDEX conversations_by_latest ON conversations (updated_at, conversation_id) WHERE deleted = 0';

export const ratingSteps = {
  sqlite: [
    ...addColumns('conversation_days'),
    countMessages((name) => `m.doc ->> '${name}'`, `m.doc ->> '$.feedback.rating'`),
    'CREATE INDEX conversation_days_by_day ON conversation_days (day DESC, app_id, currency)',
    ...addColumns('usage_days'),
    `UPDATE usage_days SET ${countsOf((column) => `COALESCE(${sumOf(column)}, 0)`)}`,
    latestFirst,
  ],
  postgres: [
    ...addColumns('conversation_days'),
    countMessages((name) => `CAST(m.doc AS json) ->> '${name}'`, `CAST(m.doc AS json) -> 'feedback' ->> 'rating'`),
    latestFirst,
  ],
} as const;
