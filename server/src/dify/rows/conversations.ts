import { type ConversationRow, mapConversation } from '../map/conversation.ts';
import type { DifySource, ImportOptions, RecordInput, Report } from '../source.ts';
import { conditionOf, epoch, Parameters, tables } from './selection.ts';

/** The conversations with these ids that are selected, by id. */
export async function readConversations(
  source: DifySource,
  options: ImportOptions,
  report: Report,
  ids: readonly string[],
): Promise<RecordInput[]> {
  const parameters = new Parameters();
  const rows = await source.query<ConversationRow>(
    `SELECT c.id, c.app_id, c.name, c.inputs::text AS inputs, c.introduction, c.is_deleted IS TRUE AS is_deleted,
       c.from_end_user_id AS end_user_id, u.session_id, ${epoch('c.created_at')} AS created_at,
       ${source.has('conversations', 'updated_at') ? epoch('c.updated_at') : 'NULL'} AS updated_at
     FROM ${tables.conversations} LEFT JOIN end_users u ON u.id = c.from_end_user_id
     WHERE c.id = ANY(${parameters.bind(ids)}::uuid[]) AND ${conditionOf('conversations', options, parameters)}
     ORDER BY c.id`,
    parameters.values,
  );
  return rows.flatMap((row) => mapConversation(row, options, report) ?? []);
}
