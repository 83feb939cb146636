import type { ChildChunk } from '../../contract/child-chunk.ts';
import { splitAuthor } from '../../domain/author.ts';
import { unavailable } from '../../domain/errors.ts';
import { decideCreation, decideDeletion, decideEdit } from '../../domain/knowledge/update-child-chunk.ts';
import { countWords } from '../../domain/records/count-words.ts';
import type {
  ChildChunkDeletion,
  ChildChunkEdit,
  ChildChunkOutcome,
  ChunkLocation,
  FoundChunk,
  NewChildChunk,
  Versioned,
} from '../../domain/store/child-chunks.ts';
import { entryOf } from '../accounting/audit.ts';
import type { Reader } from '../base/engine.ts';
import { begin, execute, first, lock, query, type Statement, type Write } from '../base/statement.ts';
import { changed, changedChunk } from '../changes/outbox.ts';
import { chunkOf, findChunkPath } from './path.ts';

/** Writes of child chunks by API requests. All statements use the shard of the dataset. */

/** Parameters: content, word_count, updated_at, new version, dataset_id, id, stored version. */
export const replaceChunk = `
  UPDATE child_chunks SET content = ?, word_count = ?, type = 'customized', updated_at = ?, version = ?
  WHERE dataset_id = ?/*@*/ AND id = ? AND version = ?`;

const lockChunk = 'UPDATE child_chunks SET version = version WHERE dataset_id = ?/*@*/ AND id = ?';

export const findLastRevision: Statement<{ revision: number | null }> = `
  SELECT MAX(revision) AS revision FROM child_chunk_revisions WHERE dataset_id = ?/*@*/ AND child_chunk_id = ?`;

const insertRevision = `
  INSERT INTO child_chunk_revisions
    (dataset_id, child_chunk_id, revision, content, replaced_at, key_id, person_id, review_message_id)
  VALUES (?/*@*/, ?, ?, ?, ?, ?, ?, ?)`;

/** Chunks that are added concurrently get different positions. */
const lockSegment = 'UPDATE segments SET status = status WHERE dataset_id = ?/*@*/ AND id = ? AND document_id = ?';

export const findLastChunk: Statement<{ position: number | null }> = `
  SELECT MAX(position) AS position FROM child_chunks WHERE dataset_id = ?/*@*/ AND segment_id = ? AND deleted = 0`;

const addChunk = `
  INSERT INTO child_chunks
    (dataset_id, id, segment_id, content, position, word_count, type, created_at, updated_at, version)
  VALUES (?/*@*/, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Parameters: new version, dataset_id, id, stored version. */
const deleteChunk = `
  UPDATE child_chunks SET deleted = 1, version = ? WHERE dataset_id = ?/*@*/ AND id = ? AND version = ? AND deleted = 0`;

export function* updateChildChunk(edit: ChildChunkEdit): Write<ChildChunkOutcome> {
  const { dataset_id, child_chunk_id, content, now, version } = edit;
  const word_count = countWords(content);
  let updated_at = now;
  const decided = yield* changeChunk(
    edit,
    (stored) => decideEdit(stored, edit),
    (stored) => {
      updated_at = Math.max(now, stored.chunk.updated_at);
      const values = [content, word_count, updated_at, version];
      return execute(replaceChunk, ...values, dataset_id, child_chunk_id, stored.version);
    },
  );
  if ('outcome' in decided) return decided.outcome;
  const { chunk } = decided.written;
  const path = [dataset_id, child_chunk_id] as const;
  if (chunk.content !== content) yield* addRevision(path, chunk.content, edit);
  yield* chunkChanged('update', edit);
  return { chunk: { ...chunk, content, word_count, type: 'customized', updated_at }, version };
}

/**
 * Not with INSERT … SELECT: SQLite would keep a copy of each page that it changes, in a temporary file, and a distributed
 * database would collect the rows on one node first.
 */
function* addRevision(
  path: readonly [dataset_id: string, child_chunk_id: string],
  content: string,
  { now, key_id: author, review_message_id }: ChildChunkEdit,
): Write<void> {
  const last = yield* first(findLastRevision, ...path);
  const { key_id, person_id } = splitAuthor(author);
  const revision = (last?.revision ?? 0) + 1;
  yield* execute(insertRevision, ...path, revision, content, now, key_id, person_id, review_message_id ?? null);
}

export function* createChildChunk(newChunk: NewChildChunk): Write<ChildChunkOutcome> {
  const { dataset_id, segment_id, document_id, child_chunk_id: id, content, now, version } = newChunk;
  const outcome = decideCreation(yield* findChunk(newChunk));
  if (outcome !== undefined) return outcome;
  yield* begin();
  yield* lock(lockSegment, dataset_id, segment_id, document_id);
  const last = yield* first(findLastChunk, dataset_id, segment_id);
  const position = Math.min((last?.position ?? 0) + 1, Number.MAX_SAFE_INTEGER);
  const word_count = countWords(content);
  const type = 'customized';
  yield* execute(addChunk, dataset_id, id, segment_id, content, position, word_count, type, now, now, version);
  yield* chunkChanged('create', newChunk);
  return { chunk: { id, segment_id, content, position, word_count, type, created_at: now, updated_at: now }, version };
}

export function* deleteChildChunk(deletion: ChildChunkDeletion): Write<ChildChunkOutcome> {
  const { dataset_id, child_chunk_id, version } = deletion;
  const decided = yield* changeChunk(
    deletion,
    (stored) => decideDeletion(stored, deletion),
    (stored) => execute(deleteChunk, version, dataset_id, child_chunk_id, stored.version),
  );
  if ('outcome' in decided) return decided.outcome;
  yield* chunkChanged('delete', deletion);
  return { chunk: decided.written.chunk, version };
}

/** The outcome of an edit that changes nothing, or is rejected. */
export async function findUnchanged(edit: ChildChunkEdit, read: Reader): Promise<ChildChunkOutcome | undefined> {
  return decideEdit(chunkOf(await read(...findChunkPath(edit))), edit);
}

export function* findChunk(location: ChunkLocation): Write<FoundChunk> {
  return chunkOf(yield* query(...findChunkPath(location)));
}

/**
 * Decides on a change and writes it if the chunk still has the version that was read. If another change came first, the
 * chunk is locked and read again: editors of one chunk wait for each other.
 */
function* changeChunk(
  location: ChunkLocation,
  decide: (stored: Versioned<ChildChunk>) => ChildChunkOutcome | undefined,
  write: (stored: Versioned<ChildChunk>) => Write<number>,
): Write<{ outcome: ChildChunkOutcome } | { written: Versioned<ChildChunk> }> {
  for (const isLocked of [false, true]) {
    const stored = yield* findChunk(location);
    if ('missing' in stored) return { outcome: stored };
    const outcome = decide(stored);
    if (outcome !== undefined) return { outcome };
    if (!isLocked) yield* begin();
    if ((yield* write(stored)) > 0) return { written: stored };
    yield* lock(lockChunk, location.dataset_id, location.child_chunk_id);
  }
  throw unavailable('too many concurrent edits of the child chunk');
}

function chunkChanged(
  action: 'create' | 'update' | 'delete',
  write: ChunkLocation & { now: number; key_id: string; tool?: string | undefined },
): Write<void> {
  const { dataset_id, document_id, child_chunk_id, now } = write;
  return changed({
    audit: [entryOf('child_chunk', action, child_chunk_id, write, write.tool)],
    outbox: [changedChunk(dataset_id, child_chunk_id)],
    at: now,
    shard: dataset_id,
    document_id,
  });
}
