import { randomUUID } from 'node:crypto';
import { isDeleted, itemId } from '../../domain/records/items.ts';
import { completeRecord } from '../../domain/records/prepare-record.ts';
import { fieldsOfTurn, itemsOfMessage, splitTurns, withoutItem } from '../../domain/records/turns.ts';
import type {
  ItemAppend,
  ItemAppendOutcome,
  ItemAuthor,
  ItemDeletion,
  MetadataChange,
} from '../../domain/store/items.ts';
import { newVersion } from '../../domain/version.ts';
import { AuditTally, entryOf } from '../accounting/audit.ts';
import type { Dialect, WriteContext, WriteResult } from '../base/engine.ts';
import type { SpooledRecord } from '../base/spooled-record.ts';
import { begin, execute, first, lock, query, type Write, writeRows } from '../base/statement.ts';
import { changed, changedConversation, OutboxTally } from '../changes/outbox.ts';
import { clearDigests, findTombstones, lockErasures } from '../erasure/statements.ts';
import { eraseMessage } from '../erasure/writes.ts';
import { RecordWriter } from '../import/record-writer.ts';
import * as sql from './statements.ts';

/** For so long a client may send the newest append again, or one with an idempotency key. A creation may come again at any time. */
const retrySeconds = 120;
const keySeconds = 86_400;
/** Names of appends without an idempotency key. */
const newestAppend = 'newest';
const creation = 'created';

export function* appendItems(append: ItemAppend, context: WriteContext): Write<ItemAppendOutcome> {
  const { scope, author, digest, idempotency_key, created } = append;
  const { conversation_id } = scope;
  yield* begin();
  const earlier = created ? yield* claimCreation(append, context.dialect) : yield* findEarlier(append);
  if (earlier !== undefined) return earlier;
  const { ids, records } = turnsOf(append, yield* first(sql.findNewest, conversation_id));
  const conversation = created && { id: conversation_id, app_id: scope.app_id, user: scope.user, ...created };
  yield* writeRecords(
    [...(conversation ? [conversationRecord(conversation, author.now)] : []), ...records],
    author,
    context,
  );
  // Two conversations may begin in the same way, so a creation is found by its key only.
  const names = created ? [] : [newestAppend];
  if (idempotency_key !== undefined) names.push(created ? creation : idempotency_key);
  if (!created) yield* execute(sql.trimAppends, conversation_id, creation, author.now - keySeconds);
  const rows = names.map((name) => [conversation_id, name, digest, author.now, JSON.stringify(ids)]);
  yield* writeRows(sql.writeAppend, rows);
  return { ids };
}

/** Locks the conversation, and finds the same request if it was done before. */
function* findEarlier({
  scope,
  author,
  digest,
  idempotency_key,
  isRetry,
}: ItemAppend): Write<ItemAppendOutcome | undefined> {
  if ((yield* execute(...sql.touchConversation(scope, newVersion()))) === 0) return 'missing';
  if (idempotency_key === undefined && !isRetry) return undefined;
  const [name, seconds] = idempotency_key === undefined ? [newestAppend, retrySeconds] : [idempotency_key, keySeconds];
  const earlier = yield* first(sql.findAppend, scope.conversation_id, name, author.now - seconds);
  if (earlier?.digest === digest) return { ids: JSON.parse(earlier.items) };
  return earlier === undefined || idempotency_key === undefined ? undefined : 'different';
}

/** A creation with an idempotency key: another one with this key waits for it. */
function* claimCreation(append: ItemAppend, dialect: Dialect): Write<ItemAppendOutcome | undefined> {
  const { scope, author, digest, idempotency_key } = append;
  const { conversation_id } = scope;
  if (idempotency_key === undefined) return undefined;
  const erased = yield* query(findTombstones(dialect), dialect.list([conversation_id]));
  if (erased.some(({ message_id }) => message_id === '')) return 'missing';
  if ((yield* writeRows(sql.claimAppend, [[conversation_id, creation, digest, author.now, '[]']])) > 0)
    return undefined;
  const earlier = yield* first(sql.findAppend, conversation_id, creation, Number.MIN_SAFE_INTEGER);
  return earlier?.digest === digest ? { ids: JSON.parse(earlier.items) } : 'different';
}

/** The items as messages: those that continue the stored one, and new ones after it. */
function turnsOf({ scope, author, items }: ItemAppend, stored: sql.WholeTurn | undefined) {
  const { conversation_id } = scope;
  const { continued, turns } = splitTurns(items, stored?.items ?? null);
  const ids: string[] = [];
  const records: SpooledRecord[] = [];
  if (stored !== undefined && continued.length > 0) {
    const before = itemsOfMessage(stored);
    const all = [...before, ...continued];
    const index = before.length;
    ids.push(...continued.map((item, at) => itemId(item, { message_id: stored.id, index: index + at })));
    records.push(changedTurn(stored, { ...fieldsOfTurn(all, stored), items: all }, author.now));
  }
  const created_at = Math.max(author.now, stored?.created_at ?? author.now);
  for (const turn of turns) {
    const id = randomUUID();
    ids.push(...turn.map((item, index) => itemId(item, { message_id: id, index })));
    const fields = fieldsOfTurn(turn, { id, created_at });
    records.push(messageRecord({ id, conversation_id, created_at, ...fields, items: turn }, author.now));
  }
  return { ids, records };
}

/** The stored message with other values. Those that a record may omit stay as they are. */
function changedTurn(stored: sql.WholeTurn, changes: object, now: number): SpooledRecord {
  const { feedback: _feedback, inputs: _inputs, ...fields } = JSON.parse(stored.doc);
  const { model_provider, model, trace_id } = stored;
  return messageRecord({ ...fields, model_provider, model, trace_id, ...changes }, now);
}

function messageRecord(fields: object, now: number): SpooledRecord {
  const texts: string[] = [];
  const record = completeRecord({ number: 0 }, { record: 'message', ...fields }, now, texts);
  return { ...record, doc: Buffer.from(texts.join('')) } as SpooledRecord;
}

const conversationRecord = (fields: object, now: number): SpooledRecord =>
  completeRecord({ number: 0 }, { record: 'conversation', ...fields }, now, []) as SpooledRecord;

function* writeRecords(
  records: readonly SpooledRecord[],
  author: ItemAuthor,
  { dialect, messages }: WriteContext,
): Write<void> {
  const tally = new AuditTally();
  const outbox = new OutboxTally();
  const writer = new RecordWriter(dialect, messages, outbox);
  yield* writer.write(records);
  for (const record of records) {
    tally.add(record);
    outbox.addRecord(record);
  }
  yield* writer.finish();
  const audit = tally.entries(author);
  yield* changed({ audit, outbox: outbox.take(), at: author.now, shard: tally.conversation_id });
}

export function* deleteItem(
  { scope, author, message_id, index }: ItemDeletion,
  context: WriteContext,
): Write<WriteResult<'deleteItem'>> {
  const { app_id, conversation_id } = scope;
  yield* begin();
  // In the order of all erasures, before the conversation: the message may have no other item.
  yield* lock(lockErasures);
  if ((yield* execute(...sql.touchConversation(scope, newVersion()))) === 0) return 'no conversation';
  const stored = yield* first(sql.findTurn, conversation_id, message_id);
  const item = stored && itemsOfMessage(stored)[index];
  if (stored === undefined || item === undefined || isDeleted(item)) return 'no item';
  const rest = withoutItem(stored, index);
  if (rest === undefined) {
    yield* eraseMessage({ app_id, conversation_id, message_id }, { action: 'purge', ...author }, context);
    return 'deleted';
  }
  // The same items may be added again.
  yield* execute(clearDigests, conversation_id, message_id.replaceAll('-', ''));
  yield* writeRecords([changedTurn(stored, rest, author.now)], author, context);
  return 'deleted';
}

export function* changeMetadata({ scope, author, metadata }: MetadataChange): Write<boolean> {
  const { app_id, conversation_id } = scope;
  yield* begin();
  if ((yield* execute(...sql.touchConversation(scope, newVersion()))) === 0) return false;
  const stored = yield* first(...sql.findConversation(scope, 'all'));
  const others = Object.entries(JSON.parse(stored?.inputs ?? '{}')).filter(([, value]) => typeof value !== 'string');
  yield* execute(sql.setInputs, JSON.stringify({ ...Object.fromEntries(others), ...metadata }), conversation_id);
  yield* changed({
    audit: [entryOf('conversation', 'update', conversation_id, author)],
    outbox: [changedConversation(app_id, conversation_id)],
    at: author.now,
    shard: conversation_id,
  });
  return true;
}
