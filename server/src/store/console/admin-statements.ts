import { type KnowledgePath, type ListRange, sortedCharsMax } from '../../domain/admin-reads.ts';
import type { Dialect, Value } from '../engine.ts';

/** The SQL of the console's reads, in the subset that both engines understand. */

/** The part of a text column that a list is sorted by; its index has the same expression. */
export const sorted = (column: string): string => `substr(${column}, 1, ${sortedCharsMax})`;

export type List = {
  /** SELECT … FROM …, with joins. Its parameters come first. */
  select: string;
  /** Conditions, with one `?` for each value. */
  where?: readonly string[];
  /** The sort key, unique for each row. */
  by: readonly string[];
  descending?: boolean;
};

/** The statement for one page of a list, and its parameters. It reads a range of the sort key, never an offset. */
export function listPage(
  { select, where = [], by, descending = false }: List,
  values: readonly Value[],
  { after, count }: ListRange,
): [string, ...Value[]] {
  const beyond = `(${by.join(', ')}) ${descending ? '<' : '>'} (${by.map(() => '?').join(', ')})`;
  const conditions = after === undefined ? where : [...where, beyond];
  const order = by.map((column) => (descending ? `${column} DESC` : column)).join(', ');
  const text = `
    ${select} ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''} ORDER BY ${order} LIMIT ?`;
  return [text, ...values, ...(after ?? []), count];
}

export const keys = `
  SELECT id, kind, name, workspace_id, app_id, dataset_ids, created_at, expires_at, revoked_at, read_only,
    last_used_at
  FROM api_keys`;
const apps = `
  SELECT a.id, a.workspace_id, w.name AS workspace_name, a.name, a.mode
  FROM apps a JOIN workspaces w ON w.id = a.workspace_id`;
const workspaces = 'SELECT id, name FROM workspaces';
const datasets = ({ jsonField }: Dialect): string => `
  SELECT d.id, d.workspace_id, w.name AS workspace_name, d.name, d.created_at,
    ${jsonField('d.details', 'updated_at')} AS updated_at
  FROM datasets d JOIN workspaces w ON w.id = d.workspace_id`;
const documents = 'SELECT id, name FROM documents';
const segments = `
  SELECT s.id, s.position, s.content, s.word_count, (
    SELECT COUNT(*) FROM child_chunks c WHERE c.dataset_id = ? AND c.segment_id = s.id AND c.deleted = 0
  ) AS child_chunk_count
  FROM segments s`;

/** The counts of documents, and what their `changed_at` is computed from. Parameters: the dataset twice, the ids. */
export const documentFigures = ({ isIn, jsonField }: Dialect): string => `
  SELECT id, segment_count, word_count, created_at, ${jsonField('details', 'updated_at')} AS updated_at, (
    SELECT e.at FROM audit_entries e WHERE e.dataset_id = ? AND e.document_id = documents.id ORDER BY e.id DESC LIMIT 1
  ) AS edited_at
  FROM documents WHERE dataset_id = ? AND ${isIn('id')}`;

/**
 * The counts of datasets, and the times of their newest documents and edits. The condition on the entries is repeated so that a
 * distributed database queries only the shards of these datasets. Parameters: the ids twice.
 */
export const datasetFigures = ({ isIn }: Dialect): string => `
  SELECT dataset_id AS id, COUNT(*) AS document_count, CAST(SUM(word_count) AS BIGINT) AS word_count,
    MAX(created_at) AS added_at, (
      SELECT e.at FROM audit_entries e
      WHERE e.dataset_id = documents.dataset_id AND ${isIn('e.dataset_id')} AND e.document_id IS NOT NULL
      ORDER BY e.id DESC LIMIT 1
    ) AS edited_at
  FROM documents WHERE ${isIn('dataset_id')} GROUP BY dataset_id`;

/** Small tables, which are on every node of a distributed database, are sorted when read. The others have an index. */
export const lists = {
  workspaces: { select: workspaces, by: [sorted('name'), 'id'] },
  apps: { select: apps, by: [sorted('a.name'), 'a.id'] },
  providers: { select: 'SELECT position, doc FROM model_providers', where: ['workspace_id = ?'], by: ['position'] },
  documents: { select: documents, where: ['dataset_id = ?'], by: [sorted('name'), 'id'] },
  segments: { select: segments, where: ['s.dataset_id = ?', 's.document_id = ?'], by: ['s.position', 's.id'] },
  childChunks: {
    select: `
      SELECT id, segment_id, content, position, word_count, type, created_at, updated_at FROM child_chunks`,
    where: ['dataset_id = ?', 'segment_id = ?', 'deleted = 0'],
    by: ['position', 'id'],
  },
  revisions: {
    select: `
      SELECT r.revision, r.content, r.replaced_at, r.key_id, k.name AS key_name
      FROM child_chunk_revisions r LEFT JOIN api_keys k ON k.id = r.key_id`,
    where: ['r.dataset_id = ?', 'r.child_chunk_id = ?'],
    by: ['r.revision'],
    descending: true,
  },
  keys: { select: keys, by: ['created_at', 'id'], descending: true },
} satisfies Record<string, List>;

export const listDatasets = (dialect: Dialect): List => ({
  select: datasets(dialect),
  by: [sorted('d.name'), 'd.id'],
});

export const findWorkspace = `${workspaces} WHERE id = ?`;
export const findApp = `${apps} WHERE a.id = ?`;
export const findKey = `${keys} WHERE id = ?`;
export const findDataset = (dialect: Dialect): string => `${datasets(dialect)} WHERE d.id = ?`;
export const findDocument = `${documents} WHERE dataset_id = ? AND id = ?`;
/** Parameters: the dataset twice, the document, the segment. */
export const findSegment = `${segments} WHERE s.dataset_id = ? AND s.document_id = ? AND s.id = ?`;

/** Parts that the path does not have are looked up by the empty id, which matches nothing. See `knowledgeValues`. */
export const findKnowledge = `
  SELECT d.workspace_id, o.id AS document, s.id AS segment, c.id AS child_chunk
  FROM datasets d
  LEFT JOIN documents o ON o.dataset_id = ? AND o.id = ?
  LEFT JOIN segments s ON s.dataset_id = ? AND s.id = ? AND s.document_id = ?
  LEFT JOIN child_chunks c ON c.dataset_id = ? AND c.id = ? AND c.segment_id = ? AND c.deleted = 0
  WHERE d.id = ?`;

export function knowledgeValues(path: KnowledgePath): string[] {
  const { dataset_id, document_id = '', segment_id = '', child_chunk_id = '' } = path;
  const segment = [dataset_id, segment_id, document_id];
  return [dataset_id, document_id, ...segment, dataset_id, child_chunk_id, segment_id, dataset_id];
}
