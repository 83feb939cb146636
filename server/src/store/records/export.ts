import type { Row } from '../engine.ts';

/** One kind of record on its way out: parents come before children, and the order is that of the keys. */
export type ExportStep = { sql: string; line: (row: Row) => string };

function step(record: string, sql: string, columns: string, change: (row: Row) => Row = (row) => row): ExportStep {
  const names = columns.split(', ');
  return {
    sql,
    line: (row) => {
      const changed = change(row);
      const fields: Row = { record };
      for (const name of names) fields[name] = changed[name];
      return JSON.stringify(fields);
    },
  };
}

/** A stored document is the record but for its kind. */
function documentStep(record: string, sql: string): ExportStep {
  return { sql, line: ({ doc }) => `{"record":"${record}",${(doc as string).slice(1)}` };
}

export const exportSteps: readonly ExportStep[] = [
  step('workspace', 'SELECT * FROM workspaces ORDER BY id', 'id, name'),
  step('app', 'SELECT * FROM apps ORDER BY id', 'id, workspace_id, name, mode'),
  step('dataset', 'SELECT * FROM datasets ORDER BY id', 'id, workspace_id, name'),
  step(
    'api_key',
    'SELECT * FROM api_keys ORDER BY id',
    'id, kind, workspace_id, app_id, dataset_ids, name, digest, created_at, expires_at, revoked_at',
    (row) => ({ ...row, dataset_ids: row.dataset_ids && JSON.parse(row.dataset_ids as string) }),
  ),
  documentStep('model_provider', 'SELECT doc FROM model_providers ORDER BY workspace_id, position'),
  step('document', 'SELECT * FROM documents ORDER BY dataset_id, id', 'id, dataset_id, name'),
  step('segment', 'SELECT * FROM segments ORDER BY dataset_id, id', 'id, document_id, position, content'),
  step(
    'child_chunk',
    'SELECT * FROM child_chunks ORDER BY dataset_id, id',
    'id, segment_id, content, position, word_count, type, created_at, updated_at',
  ),
  step(
    'child_chunk_revision',
    'SELECT * FROM child_chunk_revisions ORDER BY dataset_id, child_chunk_id, revision',
    'child_chunk_id, revision, content, replaced_at, key_id',
  ),
  step(
    'conversation',
    'SELECT conversation_id AS id, app_id, "user", created_at, deleted FROM conversations ORDER BY conversation_id',
    'id, app_id, user, created_at, deleted',
    (row) => ({ ...row, deleted: row.deleted === 1 }),
  ),
  documentStep('message', 'SELECT doc FROM messages ORDER BY conversation_id, created_at, sequence'),
];
