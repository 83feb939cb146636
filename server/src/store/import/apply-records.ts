import { conversationsOf, Tombstones } from '../../domain/erasure/tombstones.ts';
import { badRecord } from '../../domain/records/prepared-record.ts';
import { identityOf } from '../../domain/records/record-kinds.ts';
import { AuditTally } from '../accounting/audit.ts';
import { type Dialect, type SpoolHandle, unitsOf, type WriteContext, type WriteInput } from '../base/engine.ts';
import type { SpooledRecord } from '../base/spooled-record.ts';
import { begin, lock, query, type Statement, type Write, writeOutbox } from '../base/statement.ts';
import { changed, changedMessage, changedReview, OutboxTally } from '../changes/outbox.ts';
import { findTombstones, lockErasures } from '../erasure/statements.ts';
import { findMessageIds, findReviewIds, lockImports, lookupStatement } from '../tables/statements.ts';
import { RecordWriter } from './record-writer.ts';
import { readSpool } from './spool.ts';

/** Maximum number of records, and of characters in them, that one statement writes. */
const batchRows = 1_000;
const batchUnits = 4_194_304;

/** Whether an import has only conversations and messages, and fits into memory, like the imports of a chat back end. */
export function isAppend(spool: SpoolHandle): boolean {
  return 'parts' in spool && [...spool.kinds].every((kind) => kind === 'message' || kind === 'conversation');
}

export function* applyRecords(
  { spool, author }: WriteInput<'applyRecords'>,
  { dialect, messages, progress }: WriteContext,
): Write<number> {
  const tally = new AuditTally();
  const outbox = new OutboxTally();
  const writer = new RecordWriter(dialect, messages, outbox);
  // If the import is not in memory, its conversations are not known in advance.
  const records = 'parts' in spool ? [...readSpool(spool)] : readSpool(spool);
  const takeOutbox = () => writeOutbox({ entries: outbox.take(), at: author.now, isLarge: true });
  yield* begin();
  if (!isAppend(spool)) yield* lock(lockImports);
  if (Array.isArray(records)) {
    if (author.rejectsErased) yield* rejectErased(records.flat(), dialect);
    yield* addUndeleted(records.flat(), outbox, takeOutbox, dialect);
    if (!dialect.hasOneWriter) yield* writer.lockConversations(records.flat());
  }
  let applied = 0;
  for (const batch of batchesOf(records)) {
    if (!Array.isArray(records)) {
      if (author.rejectsErased) yield* rejectErased(batch, dialect);
      yield* addUndeleted(batch, outbox, takeOutbox, dialect);
    }
    for (const record of yield* writer.write(batch)) outbox.addRecord(record);
    for (const record of batch) tally.add(record);
    if (outbox.isFull) yield* takeOutbox();
    applied += batch.length;
    progress(applied);
  }
  yield* writer.finish();
  yield* changed({
    audit: tally.entries(author),
    outbox: outbox.take(),
    at: author.now,
    shard: tally.conversation_id,
  });
  return applied;
}

/** From this many conversations on, one statement locks them all. */
const listMin = 100;
const idsMax = 10_000;

/**
 * Adds the messages and reviews of deleted conversations that these records restore: readers of the feed have removed them. The rows
 * are locked, in the order of their ids, so that no deletion comes between.
 */
function* addUndeleted(
  records: readonly SpooledRecord[],
  outbox: OutboxTally,
  takeOutbox: () => Write<void>,
  { lockRows, isIn, list, hasOneWriter }: Dialect,
): Write<void> {
  const restored = records.flatMap((record) =>
    record.record === 'conversation' && !record.deleted && !record.omitted.includes('deleted') ? record.id : [],
  );
  const ids = [...new Set(restored)].sort();
  if (ids.length === 0) return;
  // Large imports run one after another, so they need no order.
  const lists = ids.length < listMin && !hasOneWriter ? ids.map((id) => [id]) : [ids];
  const columns = 'conversation_id, deleted';
  const lockConversations: Statement<{ conversation_id: string; deleted: number }> = lockRows(
    columns,
    'conversations',
    `${isIn('conversation_id')}/*@*/`,
  );
  for (const part of lists) {
    for (const { conversation_id, deleted } of yield* query(lockConversations, list(part))) {
      if (deleted === 1) yield* addMessagesOf(conversation_id, outbox, takeOutbox);
    }
  }
}

function* addMessagesOf(conversation_id: string, outbox: OutboxTally, takeOutbox: () => Write<void>): Write<void> {
  for (const { id } of yield* query(findReviewIds, conversation_id)) outbox.add(changedReview(conversation_id, id));
  for (let last = [Number.MIN_SAFE_INTEGER, 0]; ; ) {
    const rows = yield* query(findMessageIds, conversation_id, ...last, idsMax);
    for (const { id } of rows) {
      outbox.add(changedMessage(conversation_id, id));
      if (outbox.isFull) yield* takeOutbox();
    }
    const end = rows.at(-1);
    if (end === undefined || rows.length < idsMax) return;
    last = [end.created_at, end.sequence];
  }
}

function* batchesOf(spooled: Iterable<SpooledRecord[]>): Generator<SpooledRecord[]> {
  let batch: SpooledRecord[] = [];
  let units = 0;
  for (const records of spooled) {
    for (const record of records) {
      batch.push(record);
      units += unitsOf(record);
      if (batch.length < batchRows && units < batchUnits) continue;
      yield batch;
      batch = [];
      units = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** Throws BadRecord for a record that would bring back what was erased. No erasure comes before the end of the transaction. */
export function* rejectErased(records: readonly SpooledRecord[], dialect: Dialect): Write<void> {
  const { isIn, isPair, list, pairs } = dialect;
  yield* lock(lockErasures);
  const ids = conversationsOf(records);
  if (ids.length === 0) return;
  const tombstones = new Tombstones(yield* query(findTombstones(dialect), list(ids)));
  const candidates = records.filter((record) => tombstones.has(record));
  if (candidates.length === 0) return;
  const stored = new Set<string>();
  for (const { id } of yield* query(lookupStatement('conversation', isIn), list(conversationsOf(candidates))))
    stored.add(id);
  const messages = candidates.filter((record) => record.record === 'message');
  const keys = pairs(messages.map(({ conversation_id, id }) => [conversation_id, id]));
  const findMessages: Statement<{ conversation_id: string; id: string }> = `
    SELECT conversation_id, id FROM messages WHERE ${isPair('conversation_id', 'id')}/*@*/`;
  for (const { conversation_id, id } of messages.length === 0 ? [] : yield* query(findMessages, ...keys))
    stored.add(`${conversation_id}/${id}`);
  for (const record of candidates) if (!stored.has(identityOf(record))) throw badRecord(record, 'was erased');
}
