import { isAbsent, withoutInternals } from '../map/json.ts';
import { RecordMapper } from '../map/record-mapper.ts';
import { epoch, type Reading, type RecordInput, type Row } from '../source.ts';
import { columns, readRows } from './selection.ts';

export async function readConversations(reading: Reading, ids: readonly string[]): Promise<RecordInput[]> {
  const selected = `c.id, c.app_id, c.name, c.inputs::text AS inputs, c.introduction, c.is_deleted IS TRUE AS is_deleted,
    c.from_end_user_id AS end_user_id, u.session_id, ${epoch('c.created_at')} AS created_at,
    ${columns(reading.source, 'conversations', 'c', ['updated_at'], epoch)}`;
  const joins = 'LEFT JOIN end_users u ON u.id = c.from_end_user_id';
  const rows = await readRows<Row>(reading, 'conversation', selected, { ids, joins });
  return rows.flatMap((row) => mapConversation(row, reading) ?? []);
}

function mapConversation(row: Row, reading: Reading): RecordInput | undefined {
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
