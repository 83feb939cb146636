import { limits } from '../../contract/limits.ts';
import type { AppRetention, ErasureSelection, Tombstone } from '../../domain/store/erasure.ts';
import type { Dialect } from '../base/engine.ts';
import { lockOf } from '../base/leases.ts';
import { isUser, sorted } from '../base/selection.ts';
import { type Bound, insertInto, type Statement, type Value } from '../base/statement.ts';
import { lastActivity } from '../tables/conversation-columns.ts';

/** A condition in the form that an index supports, and its parameters. */
function conditionOf(selection: ErasureSelection): [condition: string, ...values: Value[]] {
  if ('conversation_id' in selection) return ['conversation_id = ?/*@*/', selection.conversation_id];
  const { app_id } = selection;
  if ('inactive_before' in selection) {
    return [`app_id = ? AND ${lastActivity} < ? AND hold = 0`, app_id, selection.inactive_before];
  }
  // `conversations_by_user` has the beginning of the name, of deleted conversations too.
  const [ofUser, ...values] = isUser('"user"', selection.user);
  return [`app_id = ? AND deleted IN (0, 1) AND ${ofUser}`, app_id, ...values];
}

export function countConversations(selection: ErasureSelection): Bound<{ n: number; held: number }> {
  const [condition, ...values] = conditionOf(selection);
  const text = `
    SELECT COUNT(*) AS n, CAST(COALESCE(SUM(hold), 0) AS BIGINT) AS held FROM conversations WHERE ${condition}`;
  return [text, ...values];
}

export function countMessages(selection: ErasureSelection): Bound<{ n: number }> {
  const [condition, ...values] = conditionOf(selection);
  const text = `
    SELECT COUNT(*) AS n FROM messages
    WHERE conversation_id IN (SELECT conversation_id FROM conversations WHERE ${condition})`;
  return [text, ...values];
}

export function findConversations(selection: ErasureSelection): Bound<{ conversation_id: string }> {
  const [condition, ...values] = conditionOf(selection);
  const text = `SELECT conversation_id FROM conversations WHERE ${condition} LIMIT ${limits.erasedConversationsMax + 1}`;
  return [text, ...values];
}

/** Parameters: a list of ids. */
export const countMessagesOf = ({ isIn }: Dialect): Statement<{ conversation_id: string; messages: number }> => `
  SELECT conversation_id, CAST(SUM(messages) AS BIGINT) AS messages FROM conversation_days
  WHERE ${isIn('conversation_id')}/*@*/ GROUP BY conversation_id`;

/** The condition is compared again with the rows as they are when they are locked. Other parameters: a list of ids. */
export function deleteConversations(
  selection: ErasureSelection,
  ids: Value,
  { isIn }: Dialect,
): Bound<{ conversation_id: string; app_id: string; counted: string | null }> {
  const [condition, ...values] = conditionOf(selection);
  const text = `
    DELETE FROM conversations WHERE ${isIn('conversation_id')}/*@*/ AND ${condition} RETURNING conversation_id, app_id, counted`;
  return [text, ids, ...values];
}

/** Also locks the conversation. */
export const touchConversation = 'UPDATE conversations SET version = ? WHERE conversation_id = ?/*@*/ AND app_id = ?';
export const deleteMessage = 'DELETE FROM messages WHERE conversation_id = ?/*@*/ AND id = ?';
/** Of requests that wrote a message: nothing that depends on its text stays. Parameters: conversation_id, id in hex. */
export const clearDigests = `UPDATE item_appends SET digest = '' WHERE conversation_id = ?/*@*/ AND replace(items, ?, '') <> items`;
export const deleteEmptyDays = 'DELETE FROM conversation_days WHERE conversation_id = ?/*@*/ AND messages = 0';

export const writeTombstones = insertInto(
  'tombstones',
  { conversation_id: 'text', message_id: 'text', at: 'bigint' },
  'ON CONFLICT (conversation_id, message_id) DO UPDATE SET at = excluded.at, in_backups = 0',
);
export const keepTombstones = insertInto(
  'tombstones',
  { conversation_id: 'text', message_id: 'text', at: 'bigint', in_backups: 'bigint' },
  `ON CONFLICT (conversation_id, message_id) DO UPDATE SET at = excluded.at, in_backups = excluded.in_backups
     WHERE tombstones.at <= excluded.at`,
);
/** The condition is that of the index. Parameters: limit. */
export const findUnsent: Statement<Tombstone> =
  'SELECT conversation_id, message_id, at FROM tombstones WHERE in_backups = 0 ORDER BY at LIMIT ?';

/** Parameters: a list of conversation ids. */
export const findTombstones = ({ isIn }: Dialect): Statement<Tombstone> =>
  `SELECT conversation_id, message_id, at FROM tombstones WHERE ${isIn('conversation_id')}/*@*/`;

/** Taken by every erasure, and by imports that must not bring back what was erased: then none of them misses a tombstone. */
export const lockErasures = lockOf('erasure');

/** Parameters: id, scope. */
export const findErasedCounts: Statement<{ conversations: number; messages: number }> =
  'SELECT count AS conversations, messages FROM audit_entries WHERE id = ? AND scope = ?/*@*/';

export const listApps = (app_id?: string): Bound<Omit<AppRetention, 'oldest_activity'>> =>
  app_id === undefined ? [`${selectApps} ORDER BY id`] : [`${selectApps} WHERE id = ?`, app_id];
const selectApps = `SELECT id AS app_id, ${sorted('name')} AS name, retention_days FROM apps`;
/** Parameters: id. */
export const lockApp = ({ lockRows }: Dialect): Statement<{ name: string; retention_days: number | null }> =>
  lockRows('name, retention_days', 'apps', 'id = ?', 'name');
/** Parameters: name or null, whether there is a period, the period, id. */
export const updateApp = `
  UPDATE apps SET name = COALESCE(?, name), retention_days = CASE WHEN ? = 1 THEN ? ELSE retention_days END WHERE id = ?`;
export const findOldestActivity: Statement<{ at: number }> = `
  SELECT ${lastActivity} AS at FROM conversations WHERE app_id = ? AND hold = 0 ORDER BY ${lastActivity} LIMIT 1`;

export const retentionDays = 'retention_days';
