import { decideEdit } from '../../domain/knowledge/update-child-chunk.ts';
import { countWords } from '../../domain/records/count-words.ts';
import type { ChildChunkEdit, ChildChunkOutcome } from '../../domain/store/store.ts';
import { chunkEntry } from '../accounting/audit.ts';
import { outboxEntryOfChunk, outboxValues } from '../changes/outbox.ts';
import type { WriteContext } from '../engine.ts';
import * as shared from '../knowledge/chunk-writes.ts';
import { chunkOf } from '../knowledge/path.ts';
import { query, type Write } from '../statement.ts';
import * as postgres from './statements.ts';

/** An edit in one statement, and one round trip. If another edit came first, the shared write follows. */
export function* updateAtOnce(
  edit: ChildChunkEdit,
  context: WriteContext<ChildChunkOutcome>,
): Write<ChildChunkOutcome> {
  const committed = yield* shared.findCommitted(edit, context);
  if (committed !== undefined) return committed;
  const { dataset_id, workspace_id, document_id, segment_id, child_chunk_id, precondition } = edit;
  const path = [dataset_id, workspace_id, document_id, segment_id, child_chunk_id];
  const tags = precondition === undefined || precondition === 'any' ? null : precondition;
  const { content, now, version, key_id } = edit;
  const word_count = countWords(content);
  const entry = chunkEntry('update', edit);
  context.attempts.push(entry.id);
  const [outbox_id, , , outbox] = outboxValues([outboxEntryOfChunk(dataset_id, child_chunk_id)], now);
  const values = [...path, content, word_count, now, version, key_id, tags, entry.id, JSON.stringify(entry.ids)];
  const rows = yield* query(postgres.editChunk, ...values, context.writesOutbox ? outbox_id : '', outbox);
  const stored = chunkOf(rows);
  const updated_at = rows[0]?.changed_at ?? null;
  if (updated_at !== null && 'chunk' in stored) {
    return { chunk: { ...stored.chunk, content, word_count, type: 'customized', updated_at }, version };
  }
  return decideEdit(stored, edit) ?? (yield* shared.updateStored(edit, context));
}
