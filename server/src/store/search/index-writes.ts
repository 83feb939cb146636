import { limits } from '../../contract/limits.ts';
import type { AppliedChanges, IndexChange } from '../../domain/store/search-reads.ts';
import { firstPosition, positionAfter, positionsPerSecond } from '../../domain/words/search-document.ts';
import { markCopies } from '../base/copies.ts';
import type { Dialect, WriteContext, WriteInput } from '../base/engine.ts';
import type { ChunkChange, FoundChunk, FoundMessage, IndexTables, MessageKey } from '../base/index-tables.ts';
import { begin, execute, first, query, type Statement, type Write } from '../base/statement.ts';
import { CitationTally, type CitedMessage } from './citation-tally.ts';
import * as sql from './statements.ts';

/** How many chunks are indexed together, and about how many UTF-16 units of text: a few milliseconds of work. */
const groupMax = { chunks: 100, units: 50_000 };

const findConversation: Statement<{ user: string | null; deleted: number }> =
  'SELECT "user", deleted FROM conversations WHERE conversation_id = ?/*@*/';
/**
 * Those of these conversations with entries that are not as the conversation is now: it is gone or deleted, or has another
 * user. Parameters: conversation ids.
 */
const findOutdatedConversations = ({ isIn }: Dialect): Statement<{ conversation_id: string }> => `
  SELECT DISTINCT s.conversation_id FROM search_messages s
  LEFT JOIN conversations c ON c.conversation_id = s.conversation_id
  WHERE ${isIn('s.conversation_id')}/*@*/
    AND (c.conversation_id IS NULL OR c.deleted = 1 OR s."user" IS DISTINCT FROM c."user")`;
/** With another user than the conversation. Parameters: conversation_id, user, count. */
const findOutdated: Statement<MessageKey> = `
  SELECT conversation_id, id FROM search_messages
  WHERE conversation_id = ?/*@*/ AND "user" IS DISTINCT FROM CAST(? AS TEXT) LIMIT ?`;

export function* resetIndex({ rules }: WriteInput<'resetIndex'>, { dialect, index }: WriteContext): Write<undefined> {
  yield* begin();
  yield* emptyIndex(index, rules);
  // All pages of the index are overwritten, but the log may have copies.
  yield* markCopies(dialect, 'log', null);
  return undefined;
}

export function* emptyIndex({ empty }: IndexTables, rules: string): Write<void> {
  yield* execute(sql.resetState, rules);
  for (const statement of empty) yield* execute(statement);
}

export function* applyToIndex(
  { from, changes, millis }: WriteInput<'applyToIndex'>,
  { dialect, index }: WriteContext,
): Write<AppliedChanges | undefined> {
  yield* begin();
  const start = performance.now();
  const lockState: typeof sql.findState = dialect.lockRows('cursor, rules', 'search_state', `name = 'state'`, 'rules');
  if ((yield* first(lockState))?.cursor !== from) return undefined;
  const end = start + millis;
  const messages: FoundMessage[] = [];
  let count = 0;
  // Most of the time is spent here, on the words.
  while (count < changes.length && (count === 0 || performance.now() < end)) {
    const part = changes.slice(count, count + index.findMax);
    messages.push(...(yield* index.find(part.filter((change) => change.kind === 'message'))));
    count += part.length;
  }
  const citations = new CitationTally();
  const parts = { citations, dialect, index };
  yield* putMessages(messages, parts);
  // Messages are indexed by now, however long it took.
  const isLate = () => performance.now() > end + millis;
  const cursor = yield* putOthers(changes.slice(0, count), from, isLate, parts);
  yield* citations.writeAll();
  yield* execute(sql.moveCursor, cursor);
  return { cursor, millis: performance.now() - start };
}

/** What one transaction of the indexer writes to. */
type Parts = { citations: CitationTally; dialect: Dialect; index: IndexTables };

/** Chunks, and the messages of changed conversations. Returns the cursor behind the changes that are done. */
function* putOthers(changes: readonly IndexChange[], from: string, isLate: () => boolean, parts: Parts): Write<string> {
  const { dialect, index } = parts;
  const ids = changes.flatMap((change) => (change.kind === 'conversation' ? change.id : []));
  const rows = ids.length === 0 ? [] : yield* query(findOutdatedConversations(dialect), dialect.list(ids));
  const outdated = new Set(rows.map(({ conversation_id }) => conversation_id));
  const nextPosition = newChunkPositions(dialect);
  let cursor = from;
  let group: FoundChunk[] = [];
  let units = 0;
  for (const [at, change] of changes.entries()) {
    if (isChunk(change)) {
      if (group.length === 0 && cursor !== from && isLate()) return cursor;
      const chunk = yield* findChunk(change);
      group.push(chunk);
      units += chunk.content?.length ?? 0;
      const isFull = group.length === groupMax.chunks || units >= groupMax.units;
      const next = changes[at + 1];
      if (!isFull && next !== undefined && isChunk(next)) continue;
      yield* index.putChunks(group, nextPosition);
      group = [];
      units = 0;
    }
    if (change.kind === 'conversation' && outdated.has(change.id)) {
      if (cursor !== from && isLate()) return cursor;
      // Its messages are many: the rest follows with the next transaction.
      if (!(yield* updateConversation(change.id, parts))) return cursor;
    }
    cursor = change.cursor;
  }
  return cursor;
}

/** Returns the next free position of a chunk. Only the first call asks the database, all shards of a distributed one. */
function newChunkPositions({ search }: Dialect): () => Write<number> {
  let last: number | undefined;
  return function* () {
    last ??= (yield* first(search.range('search_chunks')))?.last ?? 0;
    last += 1;
    return last;
  };
}

/** Whether it is done. */
function* updateConversation(id: string, parts: Parts): Write<boolean> {
  const { dialect, index } = parts;
  const conversation = yield* first(findConversation, id);
  if (conversation === undefined || conversation.deleted === 1) {
    if (index.removeTokens === undefined) yield* eraseEntries([id], dialect);
    // A purge has removed its messages from the index.
    if (index.removeTokens === undefined || conversation === undefined) return true;
  }
  const max = limits.indexWriteMax;
  const outdated =
    conversation.deleted === 1
      ? yield* query(sql.findIndexed(dialect.search), id, max)
      : yield* query(findOutdated, id, conversation.user, max);
  yield* putMessages(yield* index.find(outdated), parts);
  return outdated.length < max;
}

/** To be run after the messages were erased: all of these conversations, or one. */
export function* eraseEntries(
  conversation_ids: readonly string[],
  { isIn, list }: Dialect,
  message_id?: string,
): Write<void> {
  const [ofMessage, ...ids] = message_id === undefined ? [''] : ['AND id = ?', message_id];
  const statement: Statement<CitedMessage> = `
    DELETE FROM search_messages WHERE ${isIn('conversation_id')}/*@*/ ${ofMessage} RETURNING created_at, cited`;
  const citations = new CitationTally();
  for (const erased of yield* query(statement, list(conversation_ids), ...ids)) citations.add(erased, -1);
  yield* citations.writePart();
}

function* putMessages(messages: readonly FoundMessage[], { citations, dialect, index }: Parts): Write<void> {
  if (messages.length === 0) return;
  for (const { created_at, cited } of messages) if (created_at !== null) citations.add({ created_at, cited }, -1);
  yield* index.remove(messages);
  const added = messages
    .flatMap(({ indexed, isGone, ...message }) => (indexed === undefined || isGone ? [] : { indexed, ...message }))
    // FTS5 writes positions that only grow at once.
    .sort((one, other) => one.indexed.created_at - other.indexed.created_at);
  for (const { indexed } of added) citations.add(indexed, 1);
  /** The position that it had, if it keeps it. */
  const keptPosition = ({ position, created_at, indexed }: (typeof added)[number]): number | undefined =>
    created_at === indexed.created_at ? (position ?? undefined) : undefined;
  const kept = added.flatMap((message) => keptPosition(message) ?? []);
  const times = added.flatMap((message) => (keptPosition(message) === undefined ? message.indexed.created_at : []));
  const free = (yield* freePositions(times, kept, dialect)).values();
  yield* index.add(
    added.map((message) => {
      const position = keptPosition(message) ?? free.next().value ?? 0;
      return { conversation_id: message.conversation_id, id: message.id, position, indexed: message.indexed };
    }),
  );
}

const isPositionFree: Statement<{ position: number }> = 'SELECT position FROM search_messages WHERE position = ?';

/** A position for each of these times, none of them among `kept`, whose entries are about to be written. */
function* freePositions(times: readonly number[], kept: readonly number[], dialect: Dialect): Write<number[]> {
  const lastOf = yield* findLastPositions([...new Set(times.map(firstPosition))], dialect);
  const used = new Set(kept);
  const positions: number[] = [];
  for (const time of times) {
    const start = firstPosition(time);
    const position = yield* nextPosition(time, lastOf.get(start) ?? null, used);
    lastOf.set(start, position);
    used.add(position);
    positions.push(position);
  }
  return positions;
}

/** By the first positions of their seconds; one statement for all, since it asks every shard of a distributed database. */
function* findLastPositions(starts: readonly number[], { list, listTable }: Dialect): Write<Map<number, number>> {
  if (starts.length === 0) return new Map();
  // SQLite reads the tables of a CROSS JOIN in this order (https://sqlite.org/optoverview.html#crossjoin).
  const statement: Statement<{ start: number; last: number }> = `
    SELECT CAST(value AS BIGINT) AS start, MAX(s.position) AS last
    FROM ${listTable} CROSS JOIN search_messages s
    WHERE s.position >= CAST(value AS BIGINT) AND s.position < CAST(value AS BIGINT) + ${positionsPerSecond}
    GROUP BY CAST(value AS BIGINT)`;
  return new Map((yield* query(statement, list(starts))).map(({ start, last }) => [start, last]));
}

/** `lastUsed`: the last one of its second. */
function* nextPosition(created_at: number, lastUsed: number | null, used: ReadonlySet<number>): Write<number> {
  for (let last = lastUsed; ; ) {
    const { position, isFree } = positionAfter(last, created_at, Math.random);
    if (!used.has(position) && (isFree || (yield* first(isPositionFree, position)) === undefined)) return position;
    if (isFree) last = position;
  }
}

const isChunk = (change: IndexChange): change is ChunkChange =>
  change.kind === 'segment' || change.kind === 'child_chunk';

function* findChunk(change: ChunkChange): Write<FoundChunk> {
  const row = yield* first(sql.findContent[change.kind], change.dataset_id, change.id);
  return { ...change, content: row?.deleted === 0 ? row.content : undefined };
}
