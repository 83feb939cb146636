import { unavailable } from '../../domain/errors.ts';
import { decideCreation, decideDeletion } from '../../domain/knowledge/update-child-chunk.ts';
import type { ChildChunkDeletion, ChildChunkOutcome, ChunkLocation, NewChildChunk } from '../../domain/store/store.ts';
import * as audit from '../accounting/audit.ts';
import { noteOfChunk } from '../changes/notes.ts';
import * as sql from '../statements.ts';
import { addNotes } from './changes.ts';
import type { PostgresPool, Transaction } from './pool.ts';

/** Adding and deleting child chunks: transactions of small statements, all on the shard of the dataset. */

/** Locks a segment until the end of the transaction: chunks that are added concurrently get different positions. */
const lockSegment = 'UPDATE segments SET status = status WHERE dataset_id = ? AND id = ? AND document_id = ?';

const findPath = async (database: Transaction, location: ChunkLocation) =>
  sql.childChunkOf(await database.query(sql.findChildChunk, ...sql.childChunkValues(location)));

export function createChildChunk(pool: PostgresPool, newChunk: NewChildChunk): Promise<ChildChunkOutcome> {
  const { dataset_id, segment_id, document_id, version } = newChunk;
  return pool.transaction(async (transaction) => {
    // If this is a retry after a COMMIT whose response was lost, the chunk exists.
    const outcome = decideCreation(await findPath(transaction, newChunk));
    if (outcome !== undefined) return outcome;
    await transaction.query(lockSegment, dataset_id, segment_id, document_id);
    const [last] = await transaction.query(sql.findLastChunk, dataset_id, segment_id);
    const chunk = sql.chunkAfter(last, newChunk);
    await transaction.query(sql.addChildChunk, ...sql.newChunkValues(chunk, newChunk));
    await addEntry(transaction, 'create', newChunk);
    return { chunk, version };
  });
}

/** If another edit comes between reading and deleting the chunk, it is read again. */
export async function deleteChildChunk(pool: PostgresPool, deletion: ChildChunkDeletion): Promise<ChildChunkOutcome> {
  const { dataset_id, child_chunk_id, version } = deletion;
  const deadline = performance.now() + pool.statementMillis;
  do {
    const foundPath = await findPath(pool, deletion);
    const outcome = decideDeletion(foundPath, deletion);
    const stored = foundPath.child_chunk;
    if (outcome !== undefined || stored === undefined) return outcome ?? { stale: true };
    const isDeleted = await pool.transaction(async (transaction) => {
      const values = [version, dataset_id, child_chunk_id, stored.version];
      const changed = await transaction.query(`${sql.deleteChildChunk} RETURNING id`, ...values);
      if (changed.length > 0) await addEntry(transaction, 'delete', deletion);
      // A retry after a COMMIT whose response was lost finds its own version.
      else return (await transaction.query(findVersion, dataset_id, child_chunk_id))[0]?.version === version;
      return true;
    });
    if (isDeleted) return { chunk: stored.chunk, version };
  } while (performance.now() < deadline);
  throw unavailable('too many concurrent edits of the child chunk');
}

const findVersion = 'SELECT version FROM child_chunks WHERE dataset_id = ? AND id = ?';

async function addEntry(
  transaction: Transaction,
  action: 'create' | 'delete',
  write: NewChildChunk | ChildChunkDeletion,
): Promise<void> {
  const { dataset_id, child_chunk_id, now } = write;
  await transaction.query(audit.writeEntry, ...audit.chunkValues(action, write));
  await addNotes(transaction, [noteOfChunk(dataset_id, child_chunk_id)], now, dataset_id);
}
