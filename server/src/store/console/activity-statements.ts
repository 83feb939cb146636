import { limits } from '../../contract/limits.ts';
import type { ListRange } from '../../domain/store/admin-reads.ts';
import type { Value } from '../engine.ts';

/** The SQL of conversations and usage of apps, in the subset that both engines understand. */

/** A distributed database queries one shard only if the id is compared in both tables. Parameters: id, app_id, id. */
export const findConversation = `
  SELECT c.conversation_id AS id, c."user", COALESCE(c.name, c.derived_name) AS name, c.created_at, c.updated_at,
    c.last_message_at, COALESCE((
      SELECT CAST(SUM(d.messages) AS BIGINT) FROM conversation_days d WHERE d.conversation_id = ?
    ), 0) AS message_count
  FROM conversations c WHERE c.app_id = ? AND c.deleted = 0 AND c.conversation_id = ?`;

/** Where a message is in the order of its conversation. Parameters: conversation_id, app_id, message id. */
export const findPosition = `
  SELECT m.created_at, m.sequence FROM conversations c JOIN messages m ON m.conversation_id = c.conversation_id
  WHERE c.conversation_id = ? AND c.app_id = ? AND c.deleted = 0 AND m.id = ?`;

/** Reads as many entries of the table's key as it passes over. Parameters: conversation_id, created_at, sequence, number. */
export const findNewer = `
  SELECT m.id FROM messages m WHERE m.conversation_id = ? AND (m.created_at, m.sequence) > (?, ?)
  ORDER BY m.created_at, m.sequence LIMIT 1 OFFSET ?`;

/** `isListed` compares the message's id with the last parameter. The others: conversation_id, app_id. */
export const feedback = (isListed: string): string => `
  SELECT m.id AS message_id, substr(m.feedback_content, 1, ${limits.feedbackUnitsMax}) AS content
  FROM conversations c JOIN messages m ON m.conversation_id = c.conversation_id
  WHERE c.conversation_id = ? AND c.app_id = ? AND c.deleted = 0 AND ${isListed} AND m.feedback_content IS NOT NULL`;

/**
 * Days without messages are left out. `days` is the table to sum, in the order of one of its indexes, so that only the
 * rows of the page are read.
 */
export function usage(
  days: string,
  { since, app_id }: { since: number; app_id: string | undefined },
  { after, count }: ListRange,
): [string, ...Value[]] {
  const [day = 0, app = '', currency = ''] = after ?? [];
  const conditions: [string, Value[]][] = [['u.day >= ?', [since]]];
  if (app_id !== undefined) conditions.push(['u.app_id = ?', [app_id]]);
  if (after !== undefined) {
    const beyond = 'u.day <= ? AND (u.day < ? OR (u.app_id, u.currency) > (?, ?))';
    conditions.push([beyond, [day, day, app, currency]]);
  }
  const text = `
    SELECT u.day, u.app_id, (SELECT a.name FROM apps a WHERE a.id = u.app_id) AS app_name, u.currency,
      CAST(SUM(u.messages) AS BIGINT) AS messages, SUM(u.tokens) AS tokens, SUM(u.price_nanos) AS price_nanos
    FROM ${days} u
    WHERE ${conditions.map(([condition]) => condition).join(' AND ')}
    GROUP BY u.day, u.app_id, u.currency HAVING SUM(u.messages) > 0
    ORDER BY u.day DESC, u.app_id, u.currency LIMIT ?`;
  return [text, ...conditions.flatMap(([, values]) => values), count];
}
