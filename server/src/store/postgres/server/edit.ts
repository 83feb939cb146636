import { splitAuthor } from '../../../domain/author.ts';
import { decideEdit } from '../../../domain/knowledge/update-child-chunk.ts';
import { countWords } from '../../../domain/records/count-words.ts';
import type { ChildChunkEdit, ChildChunkOutcome } from '../../../domain/store/child-chunks.ts';
import { entryOf } from '../../accounting/audit.ts';
import type { WriteContext } from '../../base/engine.ts';
import { announceEntry, query, type Write } from '../../base/statement.ts';
import { outboxEntryOfChunk, outboxValues } from '../../changes/outbox.ts';
import * as shared from '../../knowledge/chunk-writes.ts';
import { chunkOf } from '../../knowledge/path.ts';
import * as postgres from './statements.ts';

/** An edit in one statement, and one round trip. If another edit came first, the shared write follows. */
export function* updateAtOnce(edit: ChildChunkEdit, context: WriteContext): Write<ChildChunkOutcome> {
  const { dataset_id, workspace_id, document_id, segment_id, child_chunk_id, precondition } = edit;
  const path = [dataset_id, workspace_id, document_id, segment_id, child_chunk_id];
  const tags = precondition === undefined || precondition === 'any' ? null : precondition;
  const { content, now, version, key_id } = edit;
  const author = splitAuthor(key_id);
  const word_count = countWords(content);
  const entry = entryOf('child_chunk', 'update', edit.child_chunk_id, edit, edit.tool);
  if (yield* announceEntry(entry.id, dataset_id)) return yield* findEdited(edit);
  const [outbox_id, , , outbox] = outboxValues([outboxEntryOfChunk(dataset_id, child_chunk_id)], now);
  const values = [...path, content, word_count, now, version, key_id, tags, entry.id, JSON.stringify(entry.ids)];
  const rows = yield* query(
    postgres.editChunk,
    ...values,
    context.writesOutbox ? outbox_id : '',
    outbox,
    edit.tool ?? null,
    author.key_id,
    author.person_id,
  );
  const stored = chunkOf(rows);
  const updated_at = rows[0]?.changed_at ?? null;
  if (updated_at !== null && 'chunk' in stored) {
    return { chunk: { ...stored.chunk, content, word_count, type: 'customized', updated_at }, version };
  }
  return decideEdit(stored, edit) ?? (yield* shared.updateChildChunk(edit));
}

/** Others may have edited the chunk since. */
function* findEdited(edit: ChildChunkEdit): Write<ChildChunkOutcome> {
  const stored = yield* shared.findChunk(edit);
  if ('missing' in stored) return stored;
  const { content, version } = edit;
  return { chunk: { ...stored.chunk, content, word_count: countWords(content), type: 'customized' }, version };
}
