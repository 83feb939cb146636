import type { AuditEntry, Author } from '../../domain/audit.ts';
import * as audit from '../accounting/audit.ts';
import { AuditTally } from '../accounting/audit-tally.ts';
import { type SpoolHandle, unitsOf, type Value, type WriteOptions } from '../engine.ts';
import { readSpool, type SpooledRecord } from '../records/spool.ts';
import type { Transaction } from './pool.ts';
import { BulkRecordWriter } from './record-writer.ts';
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
  spool: SpoolHandle,
  author: Author,
  progress: WriteOptions['progress'],
): Promise<number> {
  const tally = new AuditTally();
  const writer = new BulkRecordWriter(transaction);
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
  await addAuditEntries(transaction, tally.entries(author));
  return applied;
}

export async function addAuditEntries(transaction: Transaction, entries: readonly AuditEntry[]): Promise<void> {
  const rows = entries.map((entry) => audit.entryValues(entry));
  const lists = audit.columns.map((_, index) => rows.map((row) => row[index] ?? null));
  if (rows.length > 0) await transaction.query(postgres.writeAudit, ...(lists as unknown as Value[]));
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
