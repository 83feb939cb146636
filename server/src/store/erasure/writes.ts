import { limits } from '../../contract/limits.ts';
import { usageOf } from '../../domain/records/usage.ts';
import type { Eraser, ErasureSelection, MessageLocation } from '../../domain/store/erasure.ts';
import { newVersion } from '../../domain/version.ts';
import { changesOf, entryOf, erasureEntry } from '../accounting/audit.ts';
import { UsageTally } from '../accounting/usage-tally.ts';
import { uncountUsers } from '../accounting/user-writes.ts';
import { markCopies, setValue } from '../base/copies.ts';
import type { Dialect, WriteContext, WriteInput, WriteResult } from '../base/engine.ts';
import { begin, execute, first, lock, query, run, type Write, writeRows } from '../base/statement.ts';
import { changed, changedMessage, erasedConversation, OutboxTally } from '../changes/outbox.ts';
import { findDoc } from '../messages/statements.ts';
import { eraseReview } from '../reviews/writes.ts';
import { eraseEntries } from '../search/index-writes.ts';
import * as sql from './statements.ts';

/** Messages that one transaction erases, unless one conversation has more. */
const erasedMessagesMax = 2_000;

/**
 * Erases some of the selected conversations. Conversations first: this waits for the locks of appends in flight, so their
 * messages are deleted too.
 */
export function* eraseConversations(
  { selection, eraser, audit_id }: WriteInput<'eraseConversations'>,
  { dialect, index }: WriteContext,
): Write<WriteResult<'eraseConversations'>> {
  const found = yield* findSome(selection, dialect);
  if (found.ids.length === 0) return { hasMore: false, conversations: 0, messages: 0 };
  const { now } = eraser;
  yield* begin();
  yield* lock(sql.lockErasures);
  const erased = yield* query(...sql.deleteConversations(selection, dialect.list(found.ids), dialect));
  const ids = erased.map(({ conversation_id }) => conversation_id);
  const list = dialect.list(ids);
  const inList = `${dialect.isIn('conversation_id')}/*@*/`;
  if (index.removeTokens !== undefined) yield* index.removeTokens(ids);
  for (const table of ['conversation_days', 'item_appends'])
    yield* execute(`DELETE FROM ${table} WHERE ${inList}`, list);
  const messages = yield* execute(`DELETE FROM messages WHERE ${inList}`, list);
  yield* execute(`DELETE FROM reviews WHERE ${inList}`, list);
  yield* eraseEntries(ids, dialect);
  yield* uncountUsers(erased, dialect);
  yield* writeRows(
    sql.writeTombstones,
    ids.map((id) => [id, '', now]),
  );
  yield* markCopies(dialect, 'file', now);
  const outbox = new OutboxTally();
  for (const { app_id, conversation_id } of erased) outbox.add(erasedConversation(app_id, conversation_id));
  const app_id = erased[0]?.app_id;
  yield* changed({
    audit: app_id === undefined ? [] : [erasureEntry(eraser, { audit_id, app_id, ids, messages })],
    addsToEntry: true,
    outbox: outbox.take(),
    at: now,
  });
  return { hasMore: found.hasMore, conversations: ids.length, messages };
}

function* findSome(selection: ErasureSelection, dialect: Dialect): Write<{ ids: string[]; hasMore: boolean }> {
  const found = (yield* query(...sql.findConversations(selection))).map(({ conversation_id }) => conversation_id);
  if (found.length < 2) return { ids: found, hasMore: false };
  const counted = yield* query(sql.countMessagesOf(dialect), dialect.list(found));
  const counts = new Map(counted.map(({ conversation_id, messages }) => [conversation_id, messages]));
  const ids: string[] = [];
  let messages = 0;
  for (const id of found.slice(0, limits.erasedConversationsMax)) {
    messages += counts.get(id) ?? 0;
    if (messages > erasedMessagesMax && ids.length > 0) break;
    ids.push(id);
  }
  return { ids, hasMore: ids.length < found.length };
}

export function* deleteMessage(
  { location, eraser }: WriteInput<'deleteMessage'>,
  context: WriteContext,
): Write<WriteResult<'deleteMessage'>> {
  const { app_id, conversation_id } = location;
  yield* begin();
  yield* lock(sql.lockErasures);
  if ((yield* execute(sql.touchConversation, newVersion(), conversation_id, app_id)) === 0) return 'no conversation';
  return yield* eraseMessage(location, eraser, context);
}

/**
 * For a transaction that has locked erasures and the conversation. What the conversation stores of its first and newest message
 * is derived again from the messages that are left.
 */
export function* eraseMessage(
  location: MessageLocation,
  eraser: Eraser,
  { dialect, index, messages }: WriteContext,
): Write<'deleted' | 'no message'> {
  const { app_id, conversation_id, message_id } = location;
  const { now } = eraser;
  const stored = yield* first(findDoc, conversation_id, message_id);
  if (stored === undefined) return 'no message';
  const { doc, model_provider, model } = stored;
  const message = JSON.parse(doc);
  const usage = new UsageTally();
  usage.add({ id: conversation_id, app_id }, message.created_at, usageOf({ ...message, model_provider, model }), -1);
  if (index.removeTokens !== undefined) yield* index.removeTokens([conversation_id], message_id);
  yield* execute(sql.deleteMessage, conversation_id, message_id);
  const review = yield* eraseReview(conversation_id, message_id);
  yield* execute(sql.clearDigests, conversation_id, message_id.replaceAll('-', ''));
  yield* eraseEntries([conversation_id], dialect, message_id);
  yield* messages.updateActivity([conversation_id]);
  yield* writeRows(sql.writeTombstones, [[conversation_id, message_id, now]]);
  yield* markCopies(dialect, 'file', now);
  yield* changed({
    audit: [{ ...entryOf('message', eraser.action, `${conversation_id}/${message_id}`, eraser), app_id, messages: 1 }],
    outbox: [changedMessage(conversation_id, message_id), ...review],
    at: now,
    shard: conversation_id,
    usage: usage.take(),
  });
  yield* execute(sql.deleteEmptyDays, conversation_id);
  return 'deleted';
}

export function* keepTombstones({ tombstones, areInBackups }: WriteInput<'keepTombstones'>): Write<undefined> {
  yield* writeRows(
    sql.keepTombstones,
    tombstones.map(({ conversation_id, message_id, at }) => [conversation_id, message_id, at, Number(areInBackups)]),
  );
}

export function* updateApp(
  { id, change, by, now }: WriteInput<'updateApp'>,
  { dialect }: WriteContext,
): Write<WriteResult<'updateApp'>> {
  const { name = null, retention_days } = change;
  yield* begin();
  const period = [Number(retention_days !== undefined), retention_days ?? null];
  const stored = yield* first(sql.lockApp(dialect), id);
  if (stored === undefined) return false;
  yield* execute(sql.updateApp, name, ...period, id);
  yield* changed({
    audit: [{ ...entryOf('app', 'update', id, { key_id: by, now }), changes: changesOf(stored, change) }],
    outbox: [['app', '', id, [id]]],
    at: now,
  });
  return true;
}

export const setRetentionDays = (days: number): Write<undefined> => run(setValue, sql.retentionDays, `${days}`);
