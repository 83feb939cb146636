import type { ChildChunk } from '../../../contract/child-chunk.ts';
import { decideEdit } from '../../../domain/knowledge/update-child-chunk.ts';
import { countWords } from '../../../domain/records/count-words.ts';
import type { ChildChunkEdit, ChildChunkOutcome, Versioned } from '../../../domain/store/store.ts';
import * as audit from '../../accounting/audit.ts';
import { noteOfChunk } from '../../changes/notes.ts';
import type { Row } from '../../engine.ts';
import * as sql from '../../statements.ts';
import { addNotes } from '../changes.ts';
import type { PostgresPool, Transaction } from '../pool.ts';
import * as citus from './statements.ts';

/**
 * Decides an edit and writes it, with statements that each use the shard of the dataset, and no other node. One statement
 * for all would be split into parts whose results are sent to every node. If another edit comes first, the chunk is locked:
 * editors of one chunk wait for each other instead of trying again.
 */
export async function updateChildChunk(pool: PostgresPool, edit: ChildChunkEdit): Promise<ChildChunkOutcome> {
  const foundPath = sql.childChunkOf(await pool.query(sql.findChildChunk, ...sql.childChunkValues(edit)));
  const outcome = decideEdit(foundPath, edit);
  if (outcome !== undefined) return outcome;
  const word_count = countWords(edit.content);
  return pool.transaction(async (transaction) => {
    let stored = foundPath.child_chunk as Versioned<ChildChunk>;
    let updated_at = await replaceChunk(transaction, edit, word_count, stored.version);
    if (updated_at === undefined) {
      const child_chunk = await lockChunk(transaction, edit);
      const lockedOutcome = decideEdit({ ...foundPath, child_chunk }, edit);
      if (lockedOutcome !== undefined || child_chunk === undefined) return lockedOutcome as ChildChunkOutcome;
      stored = child_chunk;
      updated_at = await replaceChunk(transaction, edit, word_count, stored.version);
    }
    if (stored.chunk.content !== edit.content) await addRevision(transaction, edit, stored.chunk.content);
    await transaction.query(audit.writeEntry, ...audit.chunkValues('update', edit));
    await addNotes(transaction, [noteOfChunk(edit.dataset_id, edit.child_chunk_id)], edit.now, edit.dataset_id);
    const { content, version } = edit;
    const changes = { content, word_count, type: 'customized', updated_at: updated_at as number };
    return { chunk: { ...stored.chunk, ...changes }, version };
  });
}

/** The new `updated_at`; undefined if the chunk has another version by now. */
async function replaceChunk(
  transaction: Transaction,
  { content, now, version, dataset_id, child_chunk_id }: ChildChunkEdit,
  word_count: number,
  storedVersion: string,
): Promise<number | undefined> {
  const values = [content, word_count, now, version, dataset_id, child_chunk_id, storedVersion];
  const [row] = await transaction.query(citus.replaceChunk, ...values);
  return row?.updated_at as number | undefined;
}

async function lockChunk(
  transaction: Transaction,
  { dataset_id, child_chunk_id, segment_id }: ChildChunkEdit,
): Promise<Versioned<ChildChunk> | undefined> {
  const [row] = await transaction.query(citus.lockChunk, dataset_id, child_chunk_id, segment_id);
  if (row === undefined) return undefined;
  const { version, ...chunk } = row as Row & ChildChunk & { version: string };
  return { chunk, version };
}

async function addRevision(transaction: Transaction, edit: ChildChunkEdit, content: string): Promise<void> {
  const { dataset_id, child_chunk_id, now, key_id } = edit;
  const [last] = await transaction.query(citus.findLastRevision, dataset_id, child_chunk_id);
  const revision = 1 + Number(last?.revision ?? 0);
  await transaction.query(citus.addRevision, dataset_id, child_chunk_id, revision, content, now, key_id);
}
