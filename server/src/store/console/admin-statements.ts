import type { AppListed, ListedKey, WorkspaceListed } from '../../contract/admin.ts';
import type { DatasetListed, SegmentListed } from '../../contract/console/knowledge.ts';
import { limits } from '../../contract/limits.ts';
import type { PersonListed } from '../../contract/people/people.ts';
import { personPrefix } from '../../domain/author.ts';
import type { ListRange, ListRows } from '../../domain/store/admin-reads.ts';
import type { Dialect, ReadEngine, Value } from '../base/engine.ts';
import { sorted } from '../base/selection.ts';
import { isLarge, type Reading, type Sized, type SizedColumns, sizedColumns } from '../base/sized.ts';
import type { Bound, Row, Statement } from '../base/statement.ts';
import { viewPrefix } from './sessions.ts';

/** Parameters of the columns come first. */
export type List = SizedColumns & {
  from: string;
  /** Conditions, with one `?` for each value. */
  where?: readonly string[];
  /** The sort key, unique for each row. */
  by: readonly string[];
  descending?: boolean;
};

type Columns = SizedColumns & Pick<List, 'from'>;
const select = (list: Columns, reading: Reading = 'all'): string =>
  `SELECT ${sizedColumns(list, reading)} FROM ${list.from}`;

/** The statement for one page of a list, and its parameters. It reads a range of the sort key, never an offset. */
export function listPage<R extends object = Row>(
  list: List,
  values: readonly Value[],
  { after, count }: ListRange,
  reading: Reading = 'all',
): Bound<R> {
  const { where = [], by, descending = false } = list;
  const beyond = `(${by.join(', ')}) ${descending ? '<' : '>'} (${by.map(() => '?').join(', ')})`;
  const conditions = after === undefined ? where : [...where, beyond];
  const order = by.map((column) => (descending ? `${column} DESC` : column)).join(', ');
  const text = `
    ${select(list, reading)} ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''} ORDER BY ${order} LIMIT ?`;
  return [text, ...values, ...(after ?? []), count];
}

/** One page of a list: as many rows as fit into `limits.pageBytesMax`, at least one. Larger texts are not read. */
export async function readList<R extends object>(
  engine: ReadEngine,
  list: List,
  values: readonly Value[],
  { after, count }: ListRange,
): Promise<ListRows<R>> {
  const found = await engine.read(...listPage<Sized<R>>(list, values, { after, count: count + 1 }, 'small'));
  const sizes = found.slice(0, count).map(({ bytes }) => bytes);
  let total = 0;
  const end = sizes.findIndex((bytes, index) => (total += bytes) > limits.pageBytesMax && index > 0);
  const fitting = end === -1 ? sizes.length : end;
  const rows = !found.slice(0, fitting).some(isLarge)
    ? found.slice(0, fitting).map(({ bytes: _, ...row }) => row as unknown as R)
    : await (engine.readLarge ?? engine.read)(...listPage<R>(list, values, { after, count: fitting }));
  return { rows, has_more: found.length > fitting };
}

const keys = {
  columns: ['id, kind, workspace_id, app_id, created_at, expires_at, revoked_at, read_only, role, last_used_at'],
  texts: { name: 'name', dataset_ids: 'dataset_ids' },
  from: 'api_keys',
};
export const selectKeys = select(keys);
/** Lists are JSON texts, flags are numbers: see `parseKey`. */
export type KeyRow = Omit<ListedKey, 'dataset_ids' | 'read_only'> & { dataset_ids: string | null; read_only: number };
const people = {
  columns: [
    `p.id, p.role, p.blocked, p.last_seen_at, (
    SELECT COUNT(*) FROM console_sessions s WHERE s.person_id = p.id AND s.expires_at > ?
  ) AS sessions`,
  ],
  texts: { issuer: 'p.issuer', subject: 'p.subject', name: 'p.name', email: 'p.email', role_source: 'p.role_source' },
  from: 'persons p',
};
const apps = {
  columns: ['a.id, a.workspace_id, a.mode, a.retention_days'],
  texts: { workspace_name: 'w.name', name: 'a.name' },
  from: 'apps a JOIN workspaces w ON w.id = a.workspace_id',
};
const workspaces = { columns: ['id'], texts: { name: 'name' }, from: 'workspaces' };
const datasets = ({ jsonField }: Dialect) => ({
  columns: [`d.id, d.workspace_id, d.created_at, ${jsonField('d.details', 'updated_at')} AS updated_at`],
  texts: { workspace_name: 'w.name', name: 'd.name' },
  from: 'datasets d JOIN workspaces w ON w.id = d.workspace_id',
});
const documents = { columns: ['id'], texts: { name: 'name' }, from: 'documents' };
const segments = {
  columns: [
    `s.id, s.position, s.word_count, (
    SELECT COUNT(*) FROM child_chunks c WHERE c.dataset_id = ?/*@*/ AND c.segment_id = s.id AND c.deleted = 0
  ) AS child_chunk_count`,
  ],
  texts: { content: 's.content' },
  from: 'segments s',
};

type Times = { created_at: number | null; updated_at: string | null };
export type DatasetRow = Pick<DatasetListed, 'id' | 'workspace_id' | 'workspace_name' | 'name'> & Times;
export type DocumentRow = { id: string; name: string };
type Edited = { edited_at: number | null; edited_by: string | null };
type DocumentTotals = Times & Edited & { id: string; segment_count: number; word_count: number };
type DatasetTotals = Edited & {
  id: string;
  document_count: number;
  segment_count: number;
  word_count: number;
  added_at: number | null;
};

/** The newest audit entry of a change of a child chunk, of those that `which` selects: one of its values. */
const newestEdit = (value: string, which: string): string => `(
    SELECT ${value} FROM audit_entries e LEFT JOIN api_keys k ON k.id = e.key_id
    LEFT JOIN persons p ON p.id = substr(e.key_id, ${personPrefix.length + 1})
    WHERE ${which} ORDER BY e.id DESC LIMIT 1)`;
const edited = (which: string): string =>
  `${newestEdit('e.at', which)} AS edited_at, ${newestEdit('COALESCE(p.name, k.name)', which)} AS edited_by`;

/** The counts of documents, and what their `changed_at` is computed from. Parameters: the dataset three times, the ids. */
export const documentTotals = ({ isIn, jsonField }: Dialect): Statement<DocumentTotals> => `
  SELECT id, segment_count, word_count, created_at, ${jsonField('details', 'updated_at')} AS updated_at,
    ${edited('e.scope = ?/*@*/ AND e.document_id = documents.id')}
  FROM documents WHERE dataset_id = ?/*@*/ AND ${isIn('id')}`;

/**
 * The counts of datasets, and the times of their newest documents and edits. The condition on the entries is repeated so that a
 * distributed database queries only the shards of these datasets. Parameters: the ids three times.
 */
export const datasetTotals = ({ isIn }: Dialect): Statement<DatasetTotals> => `
  SELECT dataset_id AS id, COUNT(*) AS document_count, CAST(SUM(word_count) AS BIGINT) AS word_count,
    CAST(SUM(segment_count) AS BIGINT) AS segment_count, MAX(created_at) AS added_at,
    ${edited(`e.scope = documents.dataset_id AND ${isIn('e.scope')}/*@*/ AND e.document_id IS NOT NULL`)}
  FROM documents WHERE ${isIn('dataset_id')}/*@*/ GROUP BY dataset_id`;

/** Small tables, which are on every node of a distributed database, are sorted when read. The others have an index. */
export const lists = {
  workspaces: { ...workspaces, by: [sorted('name'), 'id'] },
  savedViews: {
    columns: [`substr(v.name, ${viewPrefix.length + 1}) AS name`, 'v.value AS address'],
    ...{ texts: {}, from: 'service_values v' },
    where: [`v.name LIKE '${viewPrefix}%'`],
    by: ['v.name'],
  },
  apps: { ...apps, by: [sorted('a.name'), 'a.id'] },
  providers: {
    ...{ columns: ['position'], texts: { doc: 'doc' }, from: 'model_providers' },
    where: ['workspace_id = ?'],
    by: ['position'],
  },
  documents: { ...documents, where: ['dataset_id = ?/*@*/'], by: [sorted('name'), 'id'] },
  segments: { ...segments, where: ['s.dataset_id = ?/*@*/', 's.document_id = ?'], by: ['s.position', 's.id'] },
  childChunks: {
    columns: ['id, segment_id, position, word_count, created_at, updated_at'],
    texts: { content: 'content', type: 'type' },
    from: 'child_chunks',
    where: ['dataset_id = ?/*@*/', 'segment_id = ?', 'deleted = 0'],
    by: ['position', 'id'],
  },
  revisions: {
    columns: ['r.revision, r.replaced_at, r.key_id, r.person_id, r.review_message_id'],
    texts: { content: 'r.content', key_name: 'k.name', person_name: 'p.name' },
    from: 'child_chunk_revisions r LEFT JOIN api_keys k ON k.id = r.key_id LEFT JOIN persons p ON p.id = r.person_id',
    where: ['r.dataset_id = ?/*@*/', 'r.child_chunk_id = ?'],
    by: ['r.revision'],
    descending: true,
  },
  people: { ...people, by: [sorted('p.name'), 'p.id'] },
  keys: { ...keys, by: ['created_at', 'id'], descending: true },
} satisfies Record<string, List>;

export const listDatasets = (dialect: Dialect): List => ({ ...datasets(dialect), by: [sorted('d.name'), 'd.id'] });

export const findWorkspace: Statement<WorkspaceListed> = `${select(workspaces)} WHERE id = ?`;
export const findApp: Statement<AppListed> = `${select(apps)} WHERE a.id = ?`;
/** `blocked` is 0 or 1. */
export type PersonRow = Omit<PersonListed, 'blocked'> & { blocked: number };
/** Parameters: now, id. */
export const findPerson: Statement<PersonRow> = `${select(people)} WHERE p.id = ?`;
export const findKey: Statement<KeyRow> = `${selectKeys} WHERE id = ?`;
export const findDataset = (dialect: Dialect): Statement<DatasetRow> => `${select(datasets(dialect))} WHERE d.id = ?`;
export const findDocument: Statement<DocumentRow> = `${select(documents)} WHERE dataset_id = ?/*@*/ AND id = ?`;
/** Parameters: the dataset twice, the document, the segment. */
export const findSegment: Statement<SegmentListed> = `${select(segments)} WHERE s.dataset_id = ?/*@*/ AND s.document_id = ? AND s.id = ?`;
