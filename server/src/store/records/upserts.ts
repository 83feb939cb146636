import type { RecordKind } from '../../contract/record.ts';
import type { PreparedRecord } from '../../domain/prepared-record.ts';
import { newVersion } from '../../domain/version.ts';
import type { Value } from '../engine.ts';

/** The kinds of record that are one row, written whole. */
export type Upserted = Exclude<RecordKind, 'message' | 'model_provider'>;

export type Upsert = {
  table: string;
  key: readonly string[];
  columns: readonly string[];
  /** A column that only a new row is given. */
  keeps?: string;
  /** A row with another parent is left as it is, and the record refused. */
  parent?: string;
};

export const upserts: Record<Upserted, Upsert> = {
  workspace: { table: 'workspaces', key: ['id'], columns: ['name'] },
  app: { table: 'apps', key: ['id'], columns: ['workspace_id', 'name', 'mode'], parent: 'workspace_id' },
  dataset: { table: 'datasets', key: ['id'], columns: ['workspace_id', 'name'], parent: 'workspace_id' },
  document: { table: 'documents', key: ['dataset_id', 'id'], columns: ['name'], parent: 'dataset_id' },
  segment: {
    table: 'segments',
    key: ['dataset_id', 'id'],
    columns: ['document_id', 'position', 'content'],
    parent: 'document_id',
  },
  child_chunk: {
    table: 'child_chunks',
    key: ['dataset_id', 'id'],
    columns: ['segment_id', 'content', 'position', 'word_count', 'type', 'created_at', 'updated_at', 'version'],
    parent: 'segment_id',
  },
  child_chunk_revision: {
    table: 'child_chunk_revisions',
    key: ['dataset_id', 'child_chunk_id', 'revision'],
    columns: ['content', 'replaced_at', 'key_id'],
  },
  api_key: {
    table: 'api_keys',
    key: ['id'],
    columns: [
      ...['kind', 'workspace_id', 'app_id', 'dataset_ids', 'name'],
      ...['digest', 'created_at', 'expires_at', 'revoked_at'],
    ],
  },
  conversation: {
    table: 'conversations',
    key: ['conversation_id'],
    columns: ['app_id', '"user"', 'created_at', 'deleted', 'version', 'next_sequence'],
    keeps: 'next_sequence',
    parent: 'app_id',
  },
};

export const columnsOf = ({ key, columns }: Upsert): string[] => [...key, ...columns];

/** Values by column. */
export function rowOf(record: Extract<PreparedRecord, { record: Upserted }>): Record<string, Value> {
  switch (record.record) {
    case 'conversation': {
      const { id: conversation_id, app_id, user, created_at } = record;
      const deleted = record.deleted ? 1 : 0;
      return { conversation_id, app_id, '"user"': user, created_at, deleted, version: newVersion(), next_sequence: 1 };
    }
    case 'child_chunk':
      return { ...(record as object), version: newVersion() };
    case 'api_key':
      return { ...(record as object), dataset_ids: record.dataset_ids && JSON.stringify(record.dataset_ids) };
    default:
      return record as object as Record<string, Value>;
  }
}

function onConflict({ table, key, columns, keeps, parent }: Upsert): string {
  const sets = columns.filter((column) => column !== keeps).map((column) => `${column} = excluded.${column}`);
  const guard = parent === undefined ? '' : ` WHERE ${table}.${parent} = excluded.${parent}`;
  return `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${sets.join(', ')}${guard}`;
}

/** One row; one parameter a column. Zero rows changed where the parent differs. */
export function upsertRow(upsert: Upsert): string {
  const columns = columnsOf(upsert);
  const marks = columns.map(() => '?').join(', ');
  return `INSERT INTO ${upsert.table} (${columns.join(', ')}) VALUES (${marks}) ${onConflict(upsert)}`;
}

const integers = [
  ...['position', 'word_count', 'revision', 'deleted', 'next_sequence'],
  ...['created_at', 'updated_at', 'expires_at', 'revoked_at', 'replaced_at'],
];
const typeOf = (column: string): string => (integers.includes(column) ? 'bigint' : 'text');

/** Many rows; one list parameter a column, PostgreSQL's way. Returns the keys written. */
export function upsertMany(upsert: Upsert): string {
  const columns = columnsOf(upsert);
  const lists = columns.map((column, at) => `$${at + 1}::${typeOf(column)}[]`).join(', ');
  return `INSERT INTO ${upsert.table} (${columns.join(', ')}) SELECT * FROM unnest(${lists}) ${onConflict(upsert)}
    RETURNING ${upsert.key.map((column) => `${upsert.table}.${column}`).join(', ')}`;
}
