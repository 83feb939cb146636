import { limits } from '../../contract/limits.ts';
import type { ChunkKind, IndexChange } from '../../domain/store/search-reads.ts';
import {
  firstPosition,
  type IndexedMessage,
  indexedMessage,
  positionAfter,
  positionsPerSecond,
  tokensWithIds,
} from '../../domain/words/search-document.ts';
import type { Row, WriteInput, WriteResult } from '../engine.ts';
import * as sql from '../search/statements.ts';
import type { PostgresPool, Transaction } from './pool.ts';

/**
 * Writes of the index. A message is locked while it is indexed. A writer that erases or replaces its text does that first
 * and then removes it from the index, so the index never has a text that is not stored.
 */

type Query = Transaction['query'];
type MessageKey = { conversation_id: string; id: string };

/** Uses one shard of a distributed database, which could not lock rows on several. Parameters: conversation_id, ids. */
const lockMessages = 'SELECT id, doc FROM messages WHERE conversation_id = ? AND id = ANY(?) FOR SHARE';
const findConversations = `
  SELECT conversation_id, app_id, "user", deleted FROM conversations WHERE conversation_id = ANY(?)`;
const findEntries = `
  SELECT conversation_id, id, position, created_at FROM search_messages WHERE conversation_id = ANY(?) AND id = ANY(?)`;
const findLastPosition = `
  SELECT MAX(position) AS position FROM search_messages WHERE position >= ? AND position < ?`;
/** Parameters: positions. */
const findPositions = 'SELECT position FROM search_messages WHERE position = ANY(CAST(? AS bigint[]))';
/** Parameters: a list for each column; that of the tokens has texts with spaces between tokens. */
const writeEntries = `
  INSERT INTO search_messages (position, conversation_id, id, created_at, "user", cost, latency, waits_until, tokens)
  SELECT position, conversation_id, id, created_at, "user", cost, latency, waits_until,
    array_to_tsvector(string_to_array(tokens, ' '))
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::double precision[],
    $7::double precision[], $8::bigint[], $9::text[])
    AS entry (position, conversation_id, id, created_at, "user", cost, latency, waits_until, tokens)
  ON CONFLICT (conversation_id, id) DO UPDATE SET position = excluded.position, created_at = excluded.created_at,
    "user" = excluded."user", cost = excluded.cost, latency = excluded.latency, waits_until = excluded.waits_until,
    tokens = excluded.tokens`;
const deleteEntries = 'DELETE FROM search_messages WHERE conversation_id = ? AND id = ANY(?)';
/** Messages with another user than their conversation. Parameters: conversation_id, user, count. */
const findOutdated = `
  SELECT id FROM search_messages WHERE conversation_id = ? AND "user" IS DISTINCT FROM CAST(? AS text) LIMIT ?`;
const deleteConversation = 'DELETE FROM search_messages WHERE conversation_id = ANY(?)';
/** To be run after the texts were replaced. Parameters: conversation ids, message ids. */
export const eraseReplaced = `
  UPDATE search_messages SET tokens = NULL WHERE conversation_id = ANY(?) AND id = ANY(?) AND tokens IS NOT NULL`;
/** To be run after the conversations were erased. Parameters: conversation ids. */
export const eraseConversations = deleteConversation;

export async function takeIndexLease(
  pool: PostgresPool,
  { holder, expires_at, now }: WriteInput<'takeIndexLease'>,
): Promise<WriteResult<'takeIndexLease'>> {
  return (await pool.query(sql.takeLease, holder, expires_at, holder, now))[0] as WriteResult<'takeIndexLease'>;
}

export function resetIndex(pool: PostgresPool, rules: string): Promise<undefined> {
  return pool.transaction(async ({ query }) => {
    await query(sql.resetState, rules);
    await query('TRUNCATE search_messages');
    await query('TRUNCATE search_chunks');
    return undefined;
  });
}

export function applyToIndex(
  pool: PostgresPool,
  { from, changes, millis }: WriteInput<'applyToIndex'>,
): Promise<string | undefined> {
  return pool.transaction(async ({ query }) => {
    const [state] = await query(`${sql.findState} FOR UPDATE`);
    if (state?.cursor !== from) return undefined;
    const end = performance.now() + millis;
    let cursor = from;
    for (let at = 0; at < changes.length && (at === 0 || performance.now() < end); at += limits.indexWriteMax) {
      const batch = changes.slice(at, at + limits.indexWriteMax);
      const done = await applyBatch(query, batch);
      cursor = batch[done - 1]?.cursor ?? cursor;
      if (done < batch.length) break;
    }
    await query(sql.moveCursor, cursor);
    return cursor;
  });
}

/** The number of changes that are done. */
async function applyBatch(query: Query, batch: readonly IndexChange[]): Promise<number> {
  await putMessages(
    query,
    batch.filter((change) => change.kind === 'message'),
  );
  for (const [index, change] of batch.entries()) {
    if (change.kind === 'segment' || change.kind === 'child_chunk') await putChunk(query, change);
    // Its messages are many: the rest follows with the next transaction.
    if (change.kind === 'conversation' && !(await updateConversation(query, change.id))) return index;
  }
  return batch.length;
}

/** Whether it is done. */
async function updateConversation(query: Query, conversation_id: string): Promise<boolean> {
  const [row] = await query(findConversations, [conversation_id]);
  if (row === undefined || row.deleted === 1) {
    await query(deleteConversation, [conversation_id]);
    return true;
  }
  const outdated = await query(findOutdated, conversation_id, row.user as string | null, limits.indexWriteMax);
  await putMessages(
    query,
    outdated.map(({ id }) => ({ conversation_id, id: id as string })),
  );
  return outdated.length < limits.indexWriteMax;
}

async function putMessages(query: Query, messages: readonly MessageKey[]): Promise<void> {
  if (messages.length === 0) return;
  const byConversation = new Map(
    [...Map.groupBy(messages, ({ conversation_id }) => conversation_id)].sort(([one], [other]) =>
      one < other ? -1 : 1,
    ),
  );
  const ids = [...byConversation.keys()];
  const conversations = new Map((await query(findConversations, ids)).map((row) => [row.conversation_id, row]));
  const entries = new Map(
    (
      await query(
        findEntries,
        ids,
        messages.map(({ id }) => id),
      )
    ).map((row) => [keyOf(row as MessageKey), row]),
  );
  const indexed: (MessageKey & IndexedMessage)[] = [];
  for (const [conversation_id, group] of byConversation) {
    const messageIds = group.map(({ id }) => id).sort();
    const conversation = conversations.get(conversation_id);
    const rows = await query(lockMessages, conversation_id, messageIds);
    if (conversation === undefined || conversation.deleted === 1) {
      await query(deleteEntries, conversation_id, messageIds);
      continue;
    }
    const docs = new Map(rows.map(({ id, doc }) => [id as string, doc as string]));
    for (const { id } of group) {
      const doc = docs.get(id);
      const owner = { app_id: conversation.app_id as string, user: conversation.user as string | null };
      if (doc !== undefined) indexed.push({ conversation_id, id, ...indexedMessage(doc, owner) });
    }
  }
  await writeIndexed(query, indexed, entries);
}

async function writeIndexed(
  query: Query,
  messages: readonly (MessageKey & IndexedMessage)[],
  entries: ReadonlyMap<string, Row>,
): Promise<void> {
  if (messages.length === 0) return;
  const placed = messages.map((message) => {
    const entry = entries.get(keyOf(message));
    return entry?.created_at === message.created_at ? (entry.position as number) : undefined;
  });
  const times = messages.flatMap(({ created_at }, at) => (placed[at] === undefined ? [created_at] : []));
  const free = await freePositions(query, times);
  const columns = messages.map(
    ({ conversation_id, id, created_at, user, cost, latency, waits_until, words, marks }, at) => [
      placed[at] ?? (free.next().value as number),
      ...[conversation_id, id, created_at, user, cost, latency, waits_until, `${words} ${marks}`],
    ],
  );
  await query(writeEntries, ...Array.from({ length: 9 }, (_, column) => columns.map((row) => row[column]) as string[]));
}

const keyOf = ({ conversation_id, id }: MessageKey): string => `${conversation_id} ${id}`;

/** The first positions of a second that are looked up together with those of other seconds. */
const triedPositions = 8;

/** A position for each of these times. */
async function freePositions(query: Query, times: readonly number[]): Promise<IteratorObject<number>> {
  const tried = [...new Set(times)].flatMap((time) =>
    Array.from({ length: triedPositions }, (_, at) => firstPosition(time) + at),
  );
  const used = new Set(
    tried.length === 0 ? [] : (await query(findPositions, tried.map(String))).map(({ position }) => position as number),
  );
  const positions: number[] = [];
  for (const time of times) {
    const first = firstPosition(time);
    let position = first;
    while (used.has(position)) position += 1;
    if (position - first >= triedPositions) position = await nextPosition(query, time, used);
    used.add(position);
    positions.push(position);
  }
  return positions.values();
}

async function nextPosition(query: Query, created_at: number, used: ReadonlySet<number>): Promise<number> {
  const first = firstPosition(created_at);
  const find = async (from: number, end: number) =>
    (await query(findLastPosition, from, end))[0]?.position as number | null;
  let last = await find(first, first + positionsPerSecond);
  while (used.has((last ?? first) + 1)) last = (last ?? first) + 1;
  for (;;) {
    const { position, isFree } = positionAfter(last, created_at);
    if (!used.has(position) && (isFree || (await find(position, position + 1)) === null)) return position;
  }
}

const chunkTables: Record<ChunkKind, string> = {
  segment: 'SELECT content, 0 AS deleted FROM segments WHERE dataset_id = ? AND id = ?',
  child_chunk: 'SELECT content, deleted FROM child_chunks WHERE dataset_id = ? AND id = ?',
};
const writeChunk = `
  INSERT INTO search_chunks (position, dataset_id, kind, id, tokens)
  VALUES (?, ?, ?, ?, array_to_tsvector(CAST(? AS text[])))
  ON CONFLICT (dataset_id, kind, id) DO UPDATE SET tokens = excluded.tokens`;

async function putChunk(
  query: Query,
  { kind, dataset_id, id }: Extract<IndexChange, { kind: ChunkKind }>,
): Promise<void> {
  const [row] = await query(chunkTables[kind], dataset_id, id);
  if (row === undefined || row.deleted === 1) {
    await query('DELETE FROM search_chunks WHERE dataset_id = ? AND kind = ? AND id = ?', dataset_id, kind, id);
    return;
  }
  const [last] = await query('SELECT MAX(position) AS position FROM search_chunks');
  const tokens = tokensWithIds([row.content as string], [id]);
  await query(writeChunk, ((last?.position as number | null) ?? 0) + 1, dataset_id, kind, id, tokens);
}
