import type { ChildChunkFound, ChildChunkPlace } from '../domain/store.ts';
import type { Connection } from './sqlite-connection.ts';
import * as sql from './statements.ts';

export function findChildChunk(db: Connection, place: ChildChunkPlace): ChildChunkFound {
  const { document_id, segment_id, child_chunk_id, dataset_id, workspace_id } = place;
  const row = db.get(sql.findChildChunk, document_id, segment_id, child_chunk_id, dataset_id, workspace_id);
  if (row === undefined) return { dataset: false, document: false, segment: false, child_chunk: undefined };
  const { found_document, found_segment, version, ...chunk } = row;
  return {
    dataset: true,
    document: found_document !== null,
    segment: found_segment !== null,
    child_chunk: chunk.id === null ? undefined : ({ chunk, version } as NonNullable<ChildChunkFound['child_chunk']>),
  };
}
