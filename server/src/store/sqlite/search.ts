import { limits } from '../../contract/limits.ts';
import type { Message } from '../../contract/message.ts';
import type { ChunkKind, IndexChange } from '../../domain/store/search-reads.ts';
import {
  firstPosition,
  type IndexedMessage,
  indexedMessage,
  positionAfter,
  positionsPerSecond,
  tokensWithIds,
  wordsOf,
} from '../../domain/words/search-document.ts';
import { tokenRules } from '../../domain/words/tokens.ts';
import type { WriteInput, WriteResult } from '../engine.ts';
import * as sql from '../search/statements.ts';
import type { Connection } from './connection.ts';

/**
 * Writes of the index, inside the transaction of the writer thread. The tokens of a message in the index always follow from
 * its stored text and the stored marks, so that they can be removed: a write that changes the text removes them first.
 */

type Entry = { position: number; conversation_id: string; id: string; created_at: number; marks: string | null };

const findEntry = `
  SELECT position, conversation_id, id, created_at, marks FROM search_messages WHERE conversation_id = ? AND id = ?`;
/** A message, and its entry if there is one. */
const findMessage = `
  SELECT m.conversation_id, m.id, m.doc, c.app_id, c."user", c.deleted, s.position, s.created_at, s.marks
  FROM messages m JOIN conversations c ON c.conversation_id = m.conversation_id
  LEFT JOIN search_messages s ON s.conversation_id = m.conversation_id AND s.id = m.id
  WHERE m.conversation_id = ? AND m.id = ?`;
const findDoc = 'SELECT doc FROM messages WHERE conversation_id = ? AND id = ?';
const findLastPosition = `
  SELECT MAX(position) AS position FROM search_messages WHERE position >= ? AND position < ?`;
/**
 * Without positions of words, FTS5 loses entries if a row is removed and added again in one flush (decision 0029). So what
 * was removed, also by an earlier write of the transaction, is flushed before anything is added.
 */
const flushRemoved = `INSERT INTO search_message_tokens (search_message_tokens) VALUES ('flush')`;
const addTokens = 'INSERT INTO search_message_tokens (rowid, tokens) VALUES (?, ?)';
const removeTokens = `INSERT INTO search_message_tokens (search_message_tokens, rowid, tokens) VALUES ('delete', ?, ?)`;
const writeEntry = `
  INSERT INTO search_messages (position, conversation_id, id, created_at, "user", cost, latency, waits_until, marks)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const deleteEntry = 'DELETE FROM search_messages WHERE position = ?';
const clearMarks = 'UPDATE search_messages SET marks = NULL WHERE position = ?';
/** Of a conversation that was deleted: all. Parameters: conversation_id, count. */
const findEntries = `
  SELECT position, conversation_id, id, created_at, marks FROM search_messages
  WHERE conversation_id = ? AND marks IS NOT NULL LIMIT ?`;
/** With another user than the conversation. Parameters: conversation_id, user, count. */
const findOutdated = `
  SELECT position, conversation_id, id, created_at, marks FROM search_messages
  WHERE conversation_id = ? AND "user" IS NOT ? LIMIT ?`;
const findConversation = 'SELECT "user", deleted FROM conversations WHERE conversation_id = ?';

export function takeIndexLease(
  db: Connection,
  { holder, expires_at, now }: WriteInput<'takeIndexLease'>,
): WriteResult<'takeIndexLease'> {
  return db.get(sql.takeLease, holder, expires_at, holder, now) as WriteResult<'takeIndexLease'>;
}

/** The pages of the index are overwritten: they may have words of erased messages, if the index was damaged. */
const emptyIndex = [
  ...['search_message_tokens', 'search_chunk_tokens'].map(
    (name) => `INSERT INTO ${name} (${name}) VALUES ('delete-all')`,
  ),
  'DELETE FROM search_messages',
  'DELETE FROM search_chunks',
];

export function resetIndex(db: Connection, rules: string): void {
  for (const statement of emptyIndex) db.db.exec(statement);
  db.run(sql.resetState, rules);
}

export function applyToIndex(
  db: Connection,
  { from, changes, millis }: WriteInput<'applyToIndex'>,
): string | undefined {
  if (db.get(sql.findState)?.cursor !== from) return undefined;
  const end = performance.now() + millis;
  const messages: FoundMessage[] = [];
  let count = 0;
  // Most of the time is spent here, on the words.
  for (const change of changes) {
    if (count > 0 && performance.now() > end) break;
    count += 1;
    const message = change.kind === 'message' && findToPut(db, change.conversation_id, change.id);
    if (message) messages.push(message);
  }
  // FTS5 writes positions that only grow at once.
  messages.sort((one, other) => one.indexed.created_at - other.indexed.created_at);
  putMessages(db, messages);
  let cursor = from;
  for (const change of changes.slice(0, count)) {
    if (cursor !== from && performance.now() > end + millis) break;
    if (change.kind === 'segment' || change.kind === 'child_chunk') putChunk(db, change);
    // Its messages are many: the rest follows with the next transaction.
    if (change.kind === 'conversation' && !updateConversation(db, change.id)) break;
    cursor = change.cursor;
  }
  db.run(sql.moveCursor, cursor);
  return cursor;
}

/** Whether it is done. */
function updateConversation(db: Connection, id: string): boolean {
  const conversation = db.get(findConversation, id) as { user: string | null; deleted: number } | undefined;
  // A purge has removed its messages from the index.
  if (conversation === undefined) return true;
  const { user, deleted } = conversation;
  const entries = (
    deleted === 1 ? db.all(findEntries, id, limits.indexWriteMax) : db.all(findOutdated, id, user, limits.indexWriteMax)
  ) as Entry[];
  putMessages(
    db,
    entries.map((entry) => findToPut(db, id, entry.id)).filter((message) => message !== undefined),
  );
  return entries.length < limits.indexWriteMax;
}

type FoundMessage = { row: MessageRow; indexed: IndexedMessage };
type MessageRow = Omit<Entry, 'position' | 'created_at'> & {
  /** Null if it has no entry. */
  position: number | null;
  created_at: number | null;
  doc: string;
  app_id: string;
  user: string | null;
  deleted: number;
};

function findToPut(db: Connection, conversation_id: string, id: string): FoundMessage | undefined {
  const row = db.get(findMessage, conversation_id, id) as MessageRow | undefined;
  return row && { row, indexed: indexedMessage(row.doc, row) };
}

/** Brings the index up to date with these messages. */
function putMessages(db: Connection, messages: readonly FoundMessage[]): void {
  const added: [position: number, tokens: string][] = [];
  for (const { row, indexed } of messages) {
    const { words, marks, created_at, user, cost, latency, waits_until } = indexed;
    const isSameTime = row.created_at === created_at;
    if (row.position !== null) {
      if (row.deleted === 0 && row.marks === marks && isSameTime) continue;
      if (row.marks !== null) db.run(removeTokens, row.position, `${words} ${row.marks}`);
      db.run(deleteEntry, row.position);
    }
    if (row.deleted === 1) continue;
    const position = row.position !== null && isSameTime ? row.position : nextPosition(db, created_at);
    db.run(writeEntry, position, row.conversation_id, row.id, created_at, user, cost, latency, waits_until, marks);
    added.push([position, `${words} ${marks}`]);
  }
  db.run(flushRemoved);
  for (const [position, tokens] of added) db.run(addTokens, position, tokens);
}

function nextPosition(db: Connection, created_at: number): number {
  const first = firstPosition(created_at);
  const last = db.get(findLastPosition, first, first + positionsPerSecond)?.position as number | null;
  for (;;) {
    const { position, isFree } = positionAfter(last, created_at);
    if (isFree || db.get(findLastPosition, position, position + 1)?.position === null) return position;
  }
}

/** To be called before the text of a message is replaced by another one. */
export function eraseReplaced(db: Connection, conversation_id: string, id: string, newDoc: Uint8Array): void {
  const entry = db.get(findEntry, conversation_id, id) as Entry | undefined;
  if (entry === undefined || entry.marks === null) return;
  const doc = db.get(findDoc, conversation_id, id)?.doc as string;
  if (Buffer.from(doc).equals(newDoc)) return;
  if (!removeEntry(db, entry, doc)) return;
  db.run(clearMarks, entry.position);
}

/** To be called before a conversation is erased. */
export function eraseConversation(db: Connection, conversation_id: string): void {
  const find = `
    SELECT s.position, s.conversation_id, s.id, s.created_at, s.marks, m.doc
    FROM search_messages s JOIN messages m ON m.conversation_id = s.conversation_id AND m.id = s.id
    WHERE s.conversation_id = ?`;
  for (const row of db.all(find, conversation_id)) {
    if (row.marks !== null && !removeEntry(db, row as Entry, row.doc as string)) return;
  }
  db.run('DELETE FROM search_messages WHERE conversation_id = ?', conversation_id);
}

/** False if the index was made by other rules: its tokens are not known, so it was made empty. */
function removeEntry(db: Connection, { position, marks }: Entry, doc: string): boolean {
  if (db.get(sql.findState)?.rules !== tokenRules) {
    resetIndex(db, '');
    return false;
  }
  db.run(removeTokens, position, `${wordsOf(JSON.parse(doc) as Message)} ${marks}`);
  return true;
}

const chunkTables: Record<ChunkKind, string> = {
  segment: 'SELECT content, 0 AS deleted FROM segments WHERE dataset_id = ? AND id = ?',
  child_chunk: 'SELECT content, deleted FROM child_chunks WHERE dataset_id = ? AND id = ?',
};
const findChunk = 'SELECT position FROM search_chunks WHERE dataset_id = ? AND kind = ? AND id = ?';

function putChunk(db: Connection, { kind, dataset_id, id }: Extract<IndexChange, { kind: ChunkKind }>): void {
  const row = db.get(chunkTables[kind], dataset_id, id);
  const entry = db.get(findChunk, dataset_id, kind, id);
  const isGone = row === undefined || row.deleted === 1;
  if (entry !== undefined) db.run('DELETE FROM search_chunk_tokens WHERE rowid = ?', entry.position as number);
  if (entry !== undefined && isGone) db.run('DELETE FROM search_chunks WHERE position = ?', entry.position as number);
  if (isGone) return;
  const last = db.get('SELECT MAX(position) AS position FROM search_chunks')?.position as number | null;
  const position = (entry?.position as number | undefined) ?? (last ?? 0) + 1;
  if (entry === undefined) {
    db.run(
      'INSERT INTO search_chunks (position, dataset_id, kind, id) VALUES (?, ?, ?, ?)',
      position,
      dataset_id,
      kind,
      id,
    );
  }
  const tokens = tokensWithIds([row.content as string], [id]).join(' ');
  db.run('INSERT INTO search_chunk_tokens (rowid, tokens) VALUES (?, ?)', position, tokens);
}
