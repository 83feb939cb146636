import { limits } from '../../contract/limits.ts';
import type { ConversationChange, MessageRating } from '../../domain/app-store.ts';
import { type AuditEntry, type AuditQuery, firstEntryId, newEntryId } from '../../domain/audit.ts';

/** The audit log: its entries, and its SQL, which both engines share. */

export const columns = ['id', 'dataset_id', 'at', 'key_id', 'action', 'record', 'count', 'ids'] as const;

/** In the order of `columns`. An entry without a dataset has its own id as `dataset_id`: that spreads entries over the nodes. */
export function entryValues(entry: AuditEntry, dataset_id = entry.id): (string | number | null)[] {
  const { id, at, key_id, action, record, count, ids } = entry;
  return [id, dataset_id, at, key_id, action, record, count, JSON.stringify(ids)];
}

export const editEntry = (edit: ChunkWrite): AuditEntry => chunkEntry('update', edit);

type ChunkWrite = { now: number; key_id: string; child_chunk_id: string };

export function chunkEntry(action: 'create' | 'update' | 'delete', write: ChunkWrite): AuditEntry {
  const { now, key_id, child_chunk_id } = write;
  return { id: newEntryId(), at: now, key_id, action, record: 'child_chunk', count: 1, ids: [child_chunk_id] };
}

export function conversationEntry(change: ConversationChange): AuditEntry {
  const { now: at, key_id, conversation_id } = change;
  const action = 'deleted' in change ? 'delete' : 'update';
  return { id: newEntryId(), at, key_id, action, record: 'conversation', count: 1, ids: [conversation_id] };
}

export function ratingEntry({ now: at, key_id, message_id }: MessageRating, conversation_id: string): AuditEntry {
  const ids = [`${conversation_id}/${message_id}`];
  return { id: newEntryId(), at, key_id, action: 'update', record: 'message', count: 1, ids };
}

export function keyEntry(
  action: 'create' | 'update' | 'revoke',
  id: string,
  key_id: string | null,
  now: number,
): AuditEntry {
  return { id: newEntryId(), at: now, key_id, action, record: 'api_key', count: 1, ids: [id] };
}

export function purgeEntries(conversations: readonly string[], messages: number, now: number): AuditEntry[] {
  if (conversations.length === 0) return [];
  const common = { at: now, key_id: null, action: 'purge' } as const;
  const ids = conversations.slice(0, limits.auditIdsMax);
  return [
    { ...common, id: newEntryId(), record: 'conversation', count: conversations.length, ids },
    { ...common, id: newEntryId(), record: 'message', count: messages, ids: [] },
  ];
}

export const writeEntry = `
  INSERT INTO audit_entries (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;

/** The statement and its parameters. */
export function findEntries(query: AuditQuery): [string, ...(string | number)[]] {
  const { before, since, key_id, record_id, limit } = query;
  const conditions: [string, string][] = [['id >= ?', firstEntryId(since * 1000)]];
  if (before !== undefined) conditions.push(['id < ?', before]);
  if (key_id !== undefined) conditions.push(['key_id = ?', key_id]);
  if (record_id !== undefined) conditions.push([`ids LIKE ? ESCAPE '!'`, `%${record_id.replaceAll(/[!%_]/g, '!$&')}%`]);
  const text = `
    SELECT id, at, key_id, action, record, count, ids FROM audit_entries
    WHERE ${conditions.map(([condition]) => condition).join(' AND ')} ORDER BY id DESC LIMIT ?`;
  return [text, ...conditions.map(([, value]) => value), limit];
}

/** Deletes the oldest entries before an id. Parameters: id, count. */
export const trimEntries = `
  DELETE FROM audit_entries WHERE id IN (SELECT id FROM audit_entries WHERE id < ? ORDER BY id LIMIT ?)`;
