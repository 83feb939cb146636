import { decideCreation, decideDeletion, decideEdit } from '../../domain/knowledge/update-child-chunk.ts';
import { countWords } from '../../domain/records/count-words.ts';
import type {
  ChildChunkDeletion,
  ChildChunkEdit,
  ChildChunkOutcome,
  ChunkLocation,
  NewChildChunk,
} from '../../domain/store/store.ts';
import * as audit from '../accounting/audit.ts';
import { noteOfChunk } from '../changes/notes.ts';
import * as sql from '../statements.ts';
import { addNotes } from './changes.ts';
import type { Connection } from './connection.ts';
import * as embedded from './statements.ts';

/** Writes of child chunks, inside the transaction of the writer thread. */

export function updateChildChunk(db: Connection, edit: ChildChunkEdit): ChildChunkOutcome {
  const foundPath = findPath(db, edit);
  const outcome = decideEdit(foundPath, edit);
  if (outcome !== undefined) return outcome;
  const { chunk } = foundPath.child_chunk ?? fail('the edit was decided without a chunk');
  const { dataset_id, content, version } = edit;
  const word_count = countWords(content);
  if (chunk.content !== content) db.run(embedded.addRevision, edit.now, edit.key_id, dataset_id, chunk.id);
  const updated_at = Math.max(edit.now, chunk.updated_at);
  db.run(embedded.replaceChildChunk, content, word_count, updated_at, version, dataset_id, chunk.id);
  addEntry(db, 'update', edit);
  return { chunk: { ...chunk, content, word_count, type: 'customized', updated_at }, version };
}

export function createChildChunk(db: Connection, newChunk: NewChildChunk): ChildChunkOutcome {
  const outcome = decideCreation(findPath(db, newChunk));
  if (outcome !== undefined) return outcome;
  const { dataset_id, segment_id, version } = newChunk;
  const chunk = sql.chunkAfter(db.get(sql.findLastChunk, dataset_id, segment_id), newChunk);
  db.run(sql.addChildChunk, ...sql.newChunkValues(chunk, newChunk));
  addEntry(db, 'create', newChunk);
  return { chunk, version };
}

export function deleteChildChunk(db: Connection, deletion: ChildChunkDeletion): ChildChunkOutcome {
  const foundPath = findPath(db, deletion);
  const outcome = decideDeletion(foundPath, deletion);
  if (outcome !== undefined) return outcome;
  const stored = foundPath.child_chunk ?? fail('the deletion was decided without a chunk');
  const { dataset_id, child_chunk_id, version } = deletion;
  db.run(sql.deleteChildChunk, version, dataset_id, child_chunk_id, stored.version);
  addEntry(db, 'delete', deletion);
  return { chunk: stored.chunk, version };
}

const findPath = (db: Connection, location: ChunkLocation) =>
  sql.childChunkOf(db.all(sql.findChildChunk, ...sql.childChunkValues(location)));

function addEntry(
  db: Connection,
  action: 'create' | 'update' | 'delete',
  write: ChildChunkEdit | NewChildChunk | ChildChunkDeletion,
): void {
  const { dataset_id, child_chunk_id, now } = write;
  addNotes(db, [noteOfChunk(dataset_id, child_chunk_id)], now);
  db.run(audit.writeEntry, ...audit.chunkValues(action, write));
}

function fail(message: string): never {
  throw new Error(message);
}
