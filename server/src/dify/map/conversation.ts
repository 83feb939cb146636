import type { Mapping, RecordInput } from '../source.ts';
import { isAbsent, withoutInternals } from './json.ts';
import { RecordMapper } from './record-mapper.ts';

export type ConversationRow = {
  id: string;
  app_id: string;
  name: string | null;
  inputs: string | null;
  introduction: string | null;
  is_deleted: boolean;
  end_user_id: string | null;
  session_id: string | null;
  created_at: number;
  updated_at: number | null;
};

export function mapConversation(row: ConversationRow, reading: Mapping): RecordInput | undefined {
  const mapper = new RecordMapper('conversation', row.id, reading);
  if (row.end_user_id !== null && row.session_id === null) mapper.skip('user', 'end user missing');
  const record: RecordInput = {
    record: 'conversation',
    id: row.id,
    app_id: row.app_id,
    user: row.session_id,
    created_at: row.created_at,
    deleted: row.is_deleted,
    name: isAbsent(row.name) ? null : mapper.text(row.name),
    inputs: withoutInternals(mapper.object(row.inputs, 'inputs') ?? {}),
    introduction: mapper.textOrNull(row.introduction),
    updated_at: row.updated_at,
  };
  // A conversation that is not imported would take its messages with it.
  return mapper.finish(record, { optional: { inputs: {}, introduction: null, created_at: 0, updated_at: null } });
}
