import type { ChildChunk } from '../../contract/child-chunk.ts';
import type { ChunkLocation, FoundChunk, KnowledgePath, MissingPart } from '../../domain/store/child-chunks.ts';
import type { Bound, Statement } from '../base/statement.ts';

/** The parameter of each part of a path, as it is written in the statement. */
type PathParameters = {
  workspace?: string | undefined;
  dataset: string;
  document?: string | undefined;
  segment?: string | undefined;
  chunk?: string | undefined;
};

type PathSql = { columns: string[]; from: string; where: string };

/**
 * Each part of a path is looked up separately, by its dataset and its parent's id: the path exists if all parts do. Parts
 * without a parameter are not looked up.
 */
export function pathSql({ workspace, dataset, document, segment, chunk }: PathParameters): PathSql {
  const columns: string[] = [];
  let from = 'datasets d';
  if (document !== undefined) {
    columns.push('o.id AS found_document');
    from += ` LEFT JOIN documents o ON o.dataset_id = ${dataset} AND o.id = ${document}`;
  }
  if (segment !== undefined) {
    columns.push('s.id AS found_segment');
    from += ` LEFT JOIN segments s ON s.dataset_id = ${dataset} AND s.id = ${segment} AND s.document_id = ${document}`;
  }
  if (chunk !== undefined) {
    columns.push('c.id AS found_chunk');
    from += ` LEFT JOIN child_chunks c
      ON c.dataset_id = ${dataset} AND c.id = ${chunk} AND c.segment_id = ${segment} AND c.deleted = 0`;
  }
  const where = `d.id = ${dataset}${workspace === undefined ? '' : ` AND d.workspace_id = ${workspace}`}`;
  return { columns, from, where };
}

type PathInWorkspace = KnowledgePath & { workspace_id?: string };

/** The same, with `?` for each parameter: the values of `from`, and those of `where`. */
export function pathStatement(path: PathInWorkspace): PathSql & { fromValues: string[]; whereValues: string[] } {
  const parameter = (id: string | undefined) => (id === undefined ? undefined : '?');
  const { workspace_id, dataset_id, document_id, segment_id, child_chunk_id } = path;
  const sql = pathSql({
    workspace: parameter(workspace_id),
    dataset: '?',
    document: parameter(document_id),
    segment: parameter(segment_id),
    chunk: parameter(child_chunk_id),
  });
  const whereValues = workspace_id === undefined ? [dataset_id] : [dataset_id, workspace_id];
  return { ...sql, fromValues: fromValues(path), whereValues };
}

export function fromValues({ dataset_id, document_id, segment_id, child_chunk_id }: KnowledgePath): string[] {
  const values: string[] = [];
  if (document_id !== undefined) values.push(dataset_id, document_id);
  if (segment_id !== undefined) values.push(dataset_id, segment_id, document_id ?? '');
  if (child_chunk_id !== undefined) values.push(dataset_id, child_chunk_id, segment_id ?? '');
  return values;
}

/** Without the columns of parts that the path does not have. */
export type PathRow = {
  found_document?: string | null;
  found_segment?: string | null;
  found_chunk?: string | null;
};

/** The workspace of a path, and which of its parts exist. */
export function findPath(path: PathInWorkspace): Bound<PathRow & { workspace_id: string }> {
  const { columns, from, where, fromValues, whereValues } = pathStatement(path);
  const text = `SELECT ${['d.workspace_id', ...columns].join(', ')} FROM ${from} WHERE ${where}`;
  return [text, ...fromValues, ...whereValues];
}

/** The row, or the first part of the path that does not exist. */
export function foundRow<R extends PathRow>(row: R | undefined): R | MissingPart {
  if (row === undefined) return { missing: 'dataset' };
  if (row.found_document === null) return { missing: 'document' };
  if (row.found_segment === null) return { missing: 'segment' };
  if (row.found_chunk === null) return { missing: 'child chunk' };
  return row;
}

/** If a part of the path is missing, the columns of the chunk are null. */
export type ChunkPathRow = Omit<ChildChunk, 'id'> & PathRow & { found_chunk: string; version: string };

export const chunkColumns =
  'c.segment_id, c.content, c.position, c.word_count, c.type, c.created_at, c.updated_at, c.version';

const chunkPath = pathSql({ workspace: '?', dataset: '?', document: '?', segment: '?', chunk: '?' });
/** `chunkPathValues` returns the parameters. */
export const findChunkPath: Statement<ChunkPathRow> = `
  SELECT ${chunkPath.columns.join(', ')}, ${chunkColumns} FROM ${chunkPath.from} WHERE ${chunkPath.where}`;

export function chunkPathValues(location: ChunkLocation): string[] {
  const values = fromValues(location);
  values.push(location.dataset_id, location.workspace_id);
  return values;
}

export function chunkOf([row]: readonly ChunkPathRow[]): FoundChunk {
  const found = foundRow(row);
  if ('missing' in found) return found;
  const { found_chunk: id, segment_id, content, position, word_count, type, created_at, updated_at, version } = found;
  // In the order of the API specification.
  return { chunk: { id, segment_id, content, position, word_count, type, created_at, updated_at }, version };
}
