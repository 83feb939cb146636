import { type ConversationRow, mapConversation } from '../map/conversation.ts';
import type { Reading, RecordInput } from '../source.ts';
import { epoch, readRows } from './selection.ts';

/** The conversations with these ids that are selected, by id. */
export async function readConversations(reading: Reading, ids: readonly string[]): Promise<RecordInput[]> {
  const hasUpdates = reading.source.has('conversations', 'updated_at');
  const selected = `c.id, c.app_id, c.name, c.inputs::text AS inputs, c.introduction, c.is_deleted IS TRUE AS is_deleted,
    c.from_end_user_id AS end_user_id, u.session_id, ${epoch('c.created_at')} AS created_at,
    ${hasUpdates ? epoch('c.updated_at') : 'NULL'} AS updated_at`;
  const joins = 'LEFT JOIN end_users u ON u.id = c.from_end_user_id';
  const rows = await readRows<ConversationRow>(reading, 'conversation', selected, { ids, joins });
  return rows.flatMap((row) => mapConversation(row, reading) ?? []);
}
