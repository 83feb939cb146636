import { unavailable } from '../../domain/errors.ts';
import { decideEdit } from '../../domain/knowledge/update-child-chunk.ts';
import { countWords } from '../../domain/records/count-words.ts';
import type { ChildChunkEdit, ChildChunkOutcome } from '../../domain/store/store.ts';
import * as audit from '../accounting/audit.ts';
import { noteOfChunk, noteValues } from '../changes/notes.ts';
import * as sql from '../statements.ts';
import type { PostgresPool } from './pool.ts';
import * as postgres from './statements.ts';

/** Decides an edit and writes it, in one statement, which is sent again if another edit came first. */
export async function updateChildChunk(pool: PostgresPool, edit: ChildChunkEdit): Promise<ChildChunkOutcome> {
  const { dataset_id, workspace_id, document_id, segment_id, child_chunk_id, precondition } = edit;
  const path = [dataset_id, workspace_id, document_id, segment_id, child_chunk_id];
  const tags = precondition === undefined || precondition === 'any' ? null : precondition;
  const { content, now, version, key_id } = edit;
  const word_count = countWords(content);
  const entry = audit.editEntry(edit);
  const [note_id, , , notes] = noteValues([noteOfChunk(dataset_id, child_chunk_id)], now);
  const deadline = performance.now() + pool.statementMillis;
  do {
    const values = [...path, content, word_count, now, version, key_id, tags, entry.id, JSON.stringify(entry.ids)];
    values.push(pool.notesChanges ? note_id : '', notes);
    const rows = await pool.query(postgres.updateChildChunk, ...values);
    const foundPath = sql.childChunkOf(rows);
    const changed_at = rows[0]?.changed_at;
    if (typeof changed_at === 'number' && foundPath.child_chunk !== undefined) {
      const changes = { content, word_count, type: 'customized', updated_at: changed_at };
      return { chunk: { ...foundPath.child_chunk.chunk, ...changes }, version };
    }
    const outcome = decideEdit(foundPath, edit);
    if (outcome !== undefined) return outcome;
    // Another edit came first.
  } while (performance.now() < deadline);
  throw unavailable('too many concurrent edits of the child chunk');
}
