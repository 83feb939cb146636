import type { Prepared } from '../../domain/records/prepared-record.ts';
import { kindRules } from '../../domain/records/record-kinds.ts';
import type { LookupKind, ReferenceTarget } from '../../domain/store/store.ts';
import { markOf } from '../base/distribution.ts';
import type { Dialect } from '../base/engine.ts';
import { lockOf } from '../base/leases.ts';
import {
  insertInto,
  type KeyedRowStatements,
  type Row,
  type Scalar,
  type Statement,
  type Value,
} from '../base/statement.ts';
import { type Column, columnsOf, type RowKind, tables } from './tables.ts';

export const writeProvider = `
  INSERT INTO model_providers (workspace_id, provider, position, doc) VALUES (?, ?, ?, ?)
  ON CONFLICT (workspace_id, provider) DO UPDATE SET doc = excluded.doc`;
export const writeModelEntry = `
  INSERT INTO model_entries (workspace_id, model_type, position, entry) VALUES (?, ?, ?, ?)`;
export const findProviderPosition: Statement<{ position: number }> =
  'SELECT position FROM model_providers WHERE workspace_id = ? AND provider = ?';
export const findLastPosition: Statement<{ position: number | null }> =
  'SELECT MAX(position) AS position FROM model_providers WHERE workspace_id = ?';
export const clearModelEntries = 'DELETE FROM model_entries WHERE workspace_id = ? AND position = ?';

/** Renumbers a revision that this import has added. Parameters: see `moveRevisionValues`. */
export const moveRevision = `
  UPDATE child_chunk_revisions SET revision = 1 + (
    SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = ?/*@*/ AND r.child_chunk_id = ?
  )
  WHERE dataset_id = ?/*@*/ AND child_chunk_id = ? AND revision = ? AND key_id IS NULL AND person_id IS NULL AND replaced_at = ? AND content <> ?`;

export function moveRevisionValues(record: Prepared<'child_chunk_revision'>): Value[] {
  const { dataset_id, child_chunk_id, revision, imported_at, content } = record;
  return [dataset_id, child_chunk_id, dataset_id, child_chunk_id, revision, imported_at, content];
}

/** Stores the current texts as the next revisions. Parameters: dataset_id, replaced_at, dataset_id, ids. */
export const addRevisions = ({ isIn }: Dialect): string => `
  INSERT INTO child_chunk_revisions (dataset_id, child_chunk_id, revision, content, replaced_at, key_id)
  SELECT c.dataset_id, c.id, 1 + COALESCE((
      SELECT MAX(r.revision) FROM child_chunk_revisions r WHERE r.dataset_id = ?/*@*/ AND r.child_chunk_id = c.id
    ), 0), c.content, CAST(? AS BIGINT), NULL
  FROM child_chunks c WHERE c.dataset_id = ?/*@*/ AND ${isIn('c.id')}`;

/** The ids of the messages of a conversation, in pages. Parameters: conversation_id, time and sequence of the last one, count. */
export const findMessageIds: Statement<{ id: string; created_at: number; sequence: number }> = `
  SELECT id, created_at, sequence FROM messages
  WHERE conversation_id = ?/*@*/ AND (created_at, sequence) > (?, ?) ORDER BY created_at, sequence LIMIT ?`;

export const findReviewIds: Statement<{ id: string }> =
  'SELECT message_id AS id FROM reviews WHERE conversation_id = ?/*@*/';

/** Imports run one after another, across all instances. */
export const lockImports = lockOf('import');

/**
 * The statement that finds references of one kind: id, parent and scope. `condition` compares the id's column with the
 * parameter.
 */
export function lookupStatement(kind: LookupKind, condition: (column: string) => string): Statement<ReferenceTarget> {
  const { table, id, parent, scope } = columnsFor(kind);
  return `SELECT ${id} AS id, ${parent} AS parent, ${scope} AS scope FROM ${table} WHERE ${condition(id)}${markOf(table, id)}`;
}

function columnsFor(kind: LookupKind): { table: string; id: string; parent: string; scope: string } {
  if (kind === 'digest') return { table: tables.api_key.name, id: 'digest', parent: 'id', scope: 'NULL' };
  if (kind === 'key_digest') return { table: tables.api_key.name, id: 'id', parent: 'digest', scope: 'NULL' };
  const { name: table, idColumn: id = 'id' } = tables[kind];
  const { parent, scope } = kindRules[kind];
  return { table, id, parent: parent?.field ?? 'NULL', scope: scope ?? 'NULL' };
}

/** The statements that write records of a kind that has one row per record. A stored row with another parent is not changed. */
export type Upsert = KeyedRowStatements & {
  /** As `one`, but a row that already has these values is not written either. */
  changed: string;
  /** The parameters of a record, in the order of the columns. */
  values: (record: object) => Scalar[];
};

const upserts = new Map<string, Upsert>();

/** The values of `omitted` fields are only for new rows. */
export function upsertOf(kind: RowKind, omitted: readonly string[] = []): Upsert {
  const key = omitted.length === 0 ? kind : `${kind} ${omitted}`;
  let upsert = upserts.get(key);
  if (upsert === undefined) upserts.set(key, (upsert = makeUpsert(kind, omitted)));
  return upsert;
}

/** The fields that a record omits and that keep their stored values. */
export const omittedIn = (record: object): readonly string[] =>
  'omitted' in record ? (record.omitted as string[]) : [];

function makeUpsert(kind: RowKind, omitted: readonly string[]): Upsert {
  const { name, key } = tables[kind];
  const columns = columnsOf(kind);
  const names = columns.map((column) => column.name);
  const types = Object.fromEntries(columns.map((column) => [column.name, column.type]));
  return {
    ...insertInto(name, types, onConflict(kind, columns, omitted)),
    changed: insertInto(name, types, onConflict(kind, columns, omitted, true)).one,
    key: key.map((column) => names.indexOf(column)),
    returning: `RETURNING ${key.map((column) => `${name}.${column}`).join(', ')}`,
    values: (record) => columns.map(({ write }) => write(record as Row)),
  };
}

/** A stored row with another parent is not changed; then the caller rejects the record. */
function onConflict(
  kind: RowKind,
  columns: readonly Column[],
  omitted: readonly string[],
  onlyChanged = false,
): string {
  const { name: table, key, unchanged = [], computed = {} } = tables[kind];
  const kept = columns.filter(({ field }) => field !== undefined && omitted.includes(field)).map(({ name }) => name);
  const value = (name: string) => `${kept.includes(name) ? table : 'excluded'}.${name}`;
  const sets = columns
    .map(({ name }) => name)
    .filter((name) => !key.includes(name) && !unchanged.includes(name) && !kept.includes(name))
    .map((name) => `${name} = ${computed[name]?.(value) ?? value(name)}`);
  const { parent } = kindRules[kind];
  // An admin key has no parent.
  const parentIn = (row: string) => `COALESCE(${row}.${parent?.field}, '')`;
  const isGuarded = parent !== null && !key.includes(parent.field);
  const guards = isGuarded ? [`${parentIn(table)} = ${parentIn('excluded')}`] : [];
  if (onlyChanged) {
    const compared = columns.filter(
      ({ name, field }) => field !== undefined && !key.includes(name) && !kept.includes(name),
    );
    const list = (row: string) => compared.map(({ name }) => `${row}.${name}`).join(', ');
    guards.push(`(${list(table)}) IS NOT (${list('excluded')})`);
  }
  const guard = guards.length === 0 ? '' : ` WHERE ${guards.join(' AND ')}`;
  return `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${sets.join(', ')}${guard}`;
}
