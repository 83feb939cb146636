import type { ChildChunk } from '../../contract/child-chunk.ts';
import type { ChunkLocation, FoundChunk, KnowledgePath, MissingPart } from '../../domain/store/child-chunks.ts';
import type { Bound } from '../base/statement.ts';

type Path = KnowledgePath & { workspace_id?: string };
type PathSql = { columns: string[]; from: string; where: string; fromValues: string[]; whereValues: string[] };

/**
 * Each part of a path is looked up separately, by its dataset and its parent's id: the path exists if all parts do. Parts that the
 * path does not have are not looked up.
 */
export function pathStatement(path: Path): PathSql {
  const { workspace_id, dataset_id, document_id, segment_id, child_chunk_id } = path;
  const columns: string[] = [];
  const fromValues: string[] = [];
  let from = 'datasets d';
  if (document_id !== undefined) {
    columns.push('o.id AS found_document');
    from += ' LEFT JOIN documents o ON o.dataset_id = ?/*@*/ AND o.id = ?';
    fromValues.push(dataset_id, document_id);
  }
  if (segment_id !== undefined) {
    columns.push('s.id AS found_segment');
    from += ' LEFT JOIN segments s ON s.dataset_id = ?/*@*/ AND s.id = ? AND s.document_id = ?';
    fromValues.push(dataset_id, segment_id, document_id ?? '');
  }
  if (child_chunk_id !== undefined) {
    columns.push('c.id AS found_chunk');
    from += ' LEFT JOIN child_chunks c ON c.dataset_id = ?/*@*/ AND c.id = ? AND c.segment_id = ? AND c.deleted = 0';
    fromValues.push(dataset_id, child_chunk_id, segment_id ?? '');
  }
  const isInWorkspace = workspace_id !== undefined;
  const where = `d.id = ?${isInWorkspace ? ' AND d.workspace_id = ?' : ''}`;
  return { columns, from, where, fromValues, whereValues: isInWorkspace ? [dataset_id, workspace_id] : [dataset_id] };
}

/** Without the columns of parts that the path does not have. */
export type PathRow = {
  found_document?: string | null;
  found_segment?: string | null;
  found_chunk?: string | null;
};

export function selectPath<R extends object>(path: Path, selected: string): Bound<R & PathRow> {
  const { columns, from, where, fromValues, whereValues } = pathStatement(path);
  return [`SELECT ${[selected, ...columns].join(', ')} FROM ${from} WHERE ${where}`, ...fromValues, ...whereValues];
}

export const findPath = (path: Path) => selectPath<{ workspace_id: string }>(path, 'd.workspace_id');

/** The row, or the first part of the path that does not exist. */
export function foundRow<R extends PathRow>(row: R | undefined): R | MissingPart {
  if (row === undefined) return { missing: 'dataset' };
  if (row.found_document === null) return { missing: 'document' };
  if (row.found_segment === null) return { missing: 'segment' };
  if (row.found_chunk === null) return { missing: 'child chunk' };
  return row;
}

/** If a part of the path is missing, the columns of the chunk are null. */
type ChunkPathRow = Omit<ChildChunk, 'id'> & PathRow & { found_chunk: string; version: string };

const chunkColumns = 'c.segment_id, c.content, c.position, c.word_count, c.type, c.created_at, c.updated_at, c.version';

export const findChunkPath = (location: ChunkLocation) => selectPath<ChunkPathRow>(location, chunkColumns);

export function chunkOf([row]: readonly ChunkPathRow[]): FoundChunk {
  const found = foundRow(row);
  if ('missing' in found) return found;
  const { found_chunk: id, segment_id, content, position, word_count, type, created_at, updated_at, version } = found;
  // In the order of the API specification.
  return { chunk: { id, segment_id, content, position, word_count, type, created_at, updated_at }, version };
}
