import type { AuditEntry, Author } from '../../domain/store/audit.ts';
import * as audit from '../accounting/audit.ts';
import { AuditTally } from '../accounting/audit-tally.ts';
import { NoteTally, noteOfMessages } from '../changes/notes.ts';
import { type SpoolHandle, unitsOf, type WriteOptions } from '../engine.ts';
import { readSpool, type SpooledRecord } from '../records/spool.ts';
import * as sql from '../statements.ts';
import { addNotes } from './changes.ts';
import type { Transaction } from './pool.ts';
import { BulkRecordWriter } from './record-writer.ts';
import type { Rows } from './rows.ts';
import * as postgres from './statements.ts';

/** Maximum number of records, and of characters in them, that one statement sends to the server. */
const batchRows = 1_000;
const batchUnits = 4_194_304;

/** Whether an import has only conversations and messages, and fits into memory, like the imports of a chat back end. */
export function isAppend(spool: SpoolHandle): boolean {
  return 'parts' in spool && [...spool.kinds].every((kind) => kind === 'message' || kind === 'conversation');
}

/** Writes an import inside a transaction. Returns the number of records. */
export async function applyRecords(
  transaction: Transaction,
  rows: Rows,
  spool: SpoolHandle,
  author: Author,
  progress: WriteOptions['progress'],
): Promise<number> {
  const tally = new AuditTally();
  const notes = new NoteTally();
  const writeNotes = () => addNotes(transaction, notes.take(), author.now, tally.conversation_id);
  const writer = new BulkRecordWriter(transaction, rows);
  const records = 'parts' in spool ? [...readSpool(spool)] : readSpool(spool);
  // If the import is not in memory, its conversations are not known in advance.
  if (Array.isArray(records)) {
    await noteUndeleted(transaction, records.flat(), notes);
    await writer.lockConversations(records.flat());
  }
  let applied = 0;
  for (const batch of batchesOf(records)) {
    if (!Array.isArray(records)) await noteUndeleted(transaction, batch, notes);
    await writer.write(batch);
    for (const record of batch) {
      tally.add(record);
      notes.addRecord(record);
    }
    if (notes.isFull) await writeNotes();
    applied += batch.length;
    progress?.(applied);
  }
  await writer.finish();
  await addAuditEntries(transaction, rows, tally.entries(author), tally.conversation_id);
  await writeNotes();
  return applied;
}

/** So many conversations are locked by one statement. */
const listMin = 100;

/**
 * Notes the messages of deleted conversations that these records restore: readers of the feed have removed them. The rows
 * are locked, in the order of their ids, so that no deletion comes between.
 */
async function noteUndeleted(
  transaction: Transaction,
  records: readonly SpooledRecord[],
  notes: NoteTally,
): Promise<void> {
  const restored = records.flatMap((record) =>
    record.record === 'conversation' && !record.deleted && !record.omitted.includes('deleted') ? record.id : [],
  );
  const ids = [...new Set(restored)].sort();
  // Large imports run one after another, so they need no order.
  const lists = ids.length < listMin ? ids.map((id) => [id]) : [ids];
  const deleted: string[] = [];
  for (const list of lists) {
    const rows = await transaction.query(postgres.lockConversations, list);
    deleted.push(...rows.filter((row) => row.deleted === 1).map((row) => row.conversation_id as string));
  }
  for (const id of deleted) {
    const messages = await transaction.query(sql.findMessageIds, id);
    notes.add(
      noteOfMessages(
        id,
        messages.map((row) => row.id as string),
      ),
    );
  }
}

/** `shard`: the distribution value of the rows that the entries are about, so that entries and rows are on one node. */
export async function addAuditEntries(
  transaction: Transaction,
  rows: Rows,
  entries: readonly AuditEntry[],
  shard?: string,
): Promise<void> {
  if (entries.length > 0) {
    const values = entries.map((entry) => audit.entryValues(entry, shard));
    await rows.addAuditEntries(transaction, values);
  }
}

/** Batches that are bounded in number and size. */
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
