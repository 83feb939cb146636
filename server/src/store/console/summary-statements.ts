import { limits } from '../../contract/limits.ts';
import type { ListRange } from '../../domain/store/admin-reads.ts';
import type { Selection } from '../../domain/store/selection.ts';
import type { Dialect } from '../base/engine.ts';
import { type Condition, inPeriod, ofConversation, split } from '../base/selection.ts';
import { smallText } from '../base/sized.ts';
import type { Bound, Statement } from '../base/statement.ts';
import { type List, listPage } from './admin-statements.ts';

/** The SQL of conversations of all apps, in the subset that both engines understand. */

/** Conversations that are not deleted, for which these conditions hold, latest update first. */
const latest = (conditions: readonly Condition[]) => ({
  from: 'conversations c',
  where: [...split(conditions).texts, 'c.deleted = 0'],
  by: ['c.updated_at', 'c.conversation_id'],
  descending: true,
});

export const summaries = (conditions: readonly Condition[]): List => ({
  columns: ['c.conversation_id AS id, c.app_id, c.created_at, c.updated_at, c.last_message_at'],
  texts: {
    app_name: '(SELECT a.name FROM apps a WHERE a.id = c.app_id)',
    name: 'c.name',
    derived_name: 'c.derived_name',
    '"user"': 'c."user"',
  },
  ...latest(conditions),
});

export type Position = { id: string; updated_at: number };

/** Only the sort keys. */
export const positions = (conditions: readonly Condition[], range: ListRange): Bound<Position> => {
  const list = { columns: ['c.conversation_id AS id, c.updated_at'], texts: {}, ...latest(conditions) };
  return listPage(list, split(conditions).values, range);
};

export const appIds: Statement<{ id: string }> = 'SELECT id FROM apps';

/** Conditions of a selection. */
export const selected = (selection: Selection): Condition[] => [
  ...ofConversation('c.', selection),
  ...inPeriod('c.updated_at', selection),
];

export type ConversationTexts = { id: string; first_text: string | null; last_text: string | null };

/**
 * The beginnings of texts of each conversation: its first query, and the answer of its newest message, or that message's query
 * if the answer is empty. Null for a large message. Parameters: the ids three times.
 */
export function texts(dialect: Dialect): Statement<ConversationTexts> {
  const beginningOf = (name: string) => `substr(${dialect.jsonField('m.doc', name)}, 1, ${limits.listedTextCharsMax})`;
  const newest = `COALESCE(NULLIF(${beginningOf('answer')}, ''), ${beginningOf('query')})`;
  return `
    SELECT c.conversation_id AS id, ${textAt('c.first_message_at', 'ASC', beginningOf('query'), dialect)} AS first_text,
      ${textAt('c.last_message_at', 'DESC', newest, dialect)} AS last_text
    FROM conversations c WHERE ${dialect.isIn('c.conversation_id')}`;
}

/**
 * A text of the first or last message of a second. The condition on the ids is repeated so that a distributed database queries
 * only the shards of these conversations.
 */
const textAt = (second: string, order: 'ASC' | 'DESC', text: string, { isIn }: Dialect): string => `(
  SELECT ${smallText({ text, bytes: 'octet_length(m.doc)' })} FROM messages m
  WHERE m.conversation_id = c.conversation_id AND m.created_at = ${second} AND ${isIn('m.conversation_id')}
  ORDER BY m.sequence ${order} LIMIT 1)`;
