import { limits } from '../../contract/limits.ts';
import type { List } from './admin-statements.ts';

/** The SQL of conversations of all apps, in the subset that both engines understand. */

const select = `
  SELECT c.conversation_id AS id, c.app_id, (SELECT a.name FROM apps a WHERE a.id = c.app_id) AS app_name,
    c.name, c.derived_name, c."user", c.created_at, c.updated_at, c.last_message_at
  FROM conversations c`;
const by = ['c.updated_at', 'c.conversation_id'];

export const summaries: List = { select, where: ['c.deleted = 0'], by, descending: true };
export const summariesOfApp: List = { select, where: ['c.app_id = ?', 'c.deleted = 0'], by, descending: true };

/** `isListed` compares the conversation's id with the parameter. */
export const findSummaries = (isListed: string): string => `
  ${select} WHERE ${isListed} AND c.deleted = 0 ORDER BY c.updated_at DESC, c.conversation_id DESC`;

/** Sums of each conversation and currency. `isListed` compares the conversation's id with the parameter. */
export const sums = (isListed: string): string => `
  SELECT d.conversation_id, d.currency, CAST(SUM(d.messages) AS BIGINT) AS messages,
    CAST(SUM(d.disliked) AS BIGINT) AS disliked, CAST(SUM(d.failed) AS BIGINT) AS failed,
    SUM(d.price_nanos) AS price_nanos
  FROM conversation_days d WHERE ${isListed} GROUP BY d.conversation_id, d.currency`;

type ReadField = (column: string, name: string) => string;

const beginningOf = (field: ReadField, name: string): string =>
  `substr(${field('m.doc', name)}, 1, ${limits.listedTextCharsMax})`;

/** The first query of each conversation. */
export const firstTexts = (isListed: string, field: ReadField): string =>
  textsAt('c.first_message_at', 'MIN', beginningOf(field, 'query'), isListed);

/** The answer of the newest message of each conversation, or its query if the answer is empty. */
export const lastTexts = (isListed: string, field: ReadField): string => {
  const text = `COALESCE(NULLIF(${beginningOf(field, 'answer')}, ''), ${beginningOf(field, 'query')})`;
  return textsAt('c.last_message_at', 'MAX', text, isListed);
};

/**
 * The first or last message of a second of each conversation. Without LIMIT, which Citus does not support in such a
 * subquery. `isListed` compares the conversation's id with the parameter.
 */
const textsAt = (second: string, edge: 'MIN' | 'MAX', text: string, isListed: string): string => `
  SELECT m.conversation_id, ${text} AS text
  FROM conversations c JOIN messages m ON m.conversation_id = c.conversation_id AND m.created_at = ${second}
  WHERE ${isListed} AND octet_length(m.doc) <= ${limits.joinedDocBytesMax} AND m.sequence = (
    SELECT ${edge}(n.sequence) FROM messages n
    WHERE n.conversation_id = m.conversation_id AND n.created_at = m.created_at)`;
