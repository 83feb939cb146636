import type { AuditEntry, Author } from '../../domain/audit.ts';
import * as audit from '../accounting/audit.ts';
import { AuditTally } from '../accounting/audit-tally.ts';
import { type SpoolHandle, unitsOf, type WriteOptions } from '../engine.ts';
import { readSpool, type SpooledRecord } from '../records/spool.ts';
import type { Transaction } from './pool.ts';
import { BulkRecordWriter } from './record-writer.ts';
import type { Rows } from './rows.ts';

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
  const writer = new BulkRecordWriter(transaction, rows);
  const records = 'parts' in spool ? [...readSpool(spool)] : readSpool(spool);
  // If the import is not in memory, its conversations are not known in advance.
  if (Array.isArray(records)) await writer.lockConversations(records.flat());
  let applied = 0;
  for (const batch of batchesOf(records)) {
    await writer.write(batch);
    for (const record of batch) tally.add(record);
    applied += batch.length;
    progress?.(applied);
  }
  await writer.finish();
  await addAuditEntries(transaction, rows, tally.entries(author), tally.conversation_id);
  return applied;
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
