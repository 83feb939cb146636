import { limits } from '../../contract/limits.ts';
import type { KnowledgeLocation, NumberedQuery } from '../../domain/store/knowledge-reads.ts';
import type { Dialect, Value } from '../engine.ts';

/**
 * The SQL of the lists of knowledge bases, in the subset that both engines understand. A list is one statement: the parts
 * of its path, the number of all items, and the items of the page. The ids of a page are read from an index, and only its
 * own rows from the table. A list without a keyword reads no text of other pages. For a list with one, see `scanStatement`.
 */

export type Statement = [text: string, ...values: Value[]];

/** A table whose rows are listed. Texts can be large: they are read only if their page is not too large. */
export type Listed = {
  table: string;
  columns: readonly string[];
  texts: readonly string[];
  /** The sort key, unique for each row of the list. */
  order: readonly string[];
};

export const listed = {
  datasets: {
    table: 'datasets',
    columns: ['id', 'workspace_id', 'created_at'],
    texts: ['name', 'tags', 'details'],
    order: ['created_at DESC', 'id'],
  },
  documents: {
    table: 'documents',
    columns: ['id', 'position', 'created_at', 'display_status', 'segment_count', 'word_count'],
    texts: ['name', 'details'],
    order: ['created_at DESC', 'position DESC', 'id'],
  },
  segments: {
    table: 'segments',
    columns: ['id', 'position', 'document_id', 'word_count'],
    texts: ['content', 'status', 'details'],
    order: ['position', 'id'],
  },
  childChunks: {
    table: 'child_chunks',
    columns: ['id', 'segment_id', 'position', 'word_count', 'created_at', 'updated_at'],
    texts: ['content', 'type'],
    order: ['position', 'id'],
  },
} as const satisfies Record<string, Listed>;

/** Conditions with their parameters. */
export type Filter = readonly (readonly [condition: string, ...values: Value[]])[];

const conditionsOf = (filter: Filter): string => filter.map(([condition]) => condition).join(' AND ');
const valuesOf = (filter: Filter): Value[] => filter.flatMap(([, ...values]) => values);

/** Large texts are null, and `bytes` is the size of all texts. */
function guardedColumns({ columns, texts }: Listed, row: string, bytesMax: number = limits.joinedDocBytesMax): string {
  const guarded = texts.map(
    (name) => `CASE WHEN octet_length(${row}.${name}) <= ${bytesMax} THEN ${row}.${name} END AS ${name}`,
  );
  const large = texts.map((name) => `COALESCE(octet_length(${row}.${name}), 0) > ${bytesMax}`);
  const bytes = texts.map((name) => `COALESCE(octet_length(${row}.${name}), 0)`).join(' + ');
  const others = columns.map((name) => `${row}.${name}`);
  return [
    ...others,
    ...guarded,
    `${bytes} AS bytes`,
    `CASE WHEN ${large.join(' OR ')} THEN 1 ELSE 0 END AS is_large`,
  ].join(', ');
}

const wholeColumns = ({ columns, texts }: Listed): string => [...columns, ...texts].join(', ');

/** Past this page every list is empty. It keeps the offset within the range of the engines. */
const offsetMax = 1_000_000_000_000;
export const offsetOf = ({ page, limit }: NumberedQuery): number => Math.min((page - 1) * limit, offsetMax);

/**
 * A page of a list in a location, or of datasets if it has none. Columns of the row are null if the page is empty. Without a
 * query the page has all rows that the filter selects.
 */
export function pageStatement(
  list: Listed,
  location: KnowledgeLocation | undefined,
  filter: Filter,
  query: NumberedQuery | undefined,
  { jsonField }: Dialect,
): Statement {
  const { table, order } = list;
  const where = conditionsOf(filter);
  const values = valuesOf(filter);
  const paged = query === undefined ? '' : `ORDER BY ${order.join(', ')} LIMIT ? OFFSET ?`;
  const inDataset = location === undefined ? '' : 'x.dataset_id = ? AND ';
  const path = location === undefined ? undefined : pathOf(location, jsonField('o.details', 'doc_form'));
  const counted = `(SELECT COUNT(*) AS total FROM ${table} WHERE ${where}) t`;
  const text = `
    SELECT ${path?.columns ?? ''} t.total, p.*
    FROM ${path === undefined ? counted : `${path.from} CROSS JOIN ${counted}`}
    LEFT JOIN (
      SELECT ${guardedColumns(list, 'x')}
      FROM (SELECT id FROM ${table} WHERE ${where} ${paged}) k
      JOIN ${table} x ON ${inDataset}x.id = k.id
    ) p ON TRUE
    ${path?.where ?? ''} ORDER BY ${order.map((column) => `p.${column}`).join(', ')}`;
  const dataset = location === undefined ? [] : [location.dataset_id];
  const pageValues = [...values, ...(query === undefined ? [] : [query.limit, offsetOf(query)]), ...dataset];
  return [text, ...(path?.values ?? []), ...values, ...pageValues, ...(path?.whereValues ?? [])];
}

/**
 * Every row of a scope, in the order of the list, and whether it matches the filter. If the dataset of the location does not
 * exist, there are no rows.
 */
export function scanStatement(
  { table, order }: Listed,
  location: KnowledgeLocation | undefined,
  scope: Filter,
  filter: Filter,
): Statement {
  const inWorkspace = 'EXISTS (SELECT 1 FROM datasets d WHERE d.id = ? AND d.workspace_id = ?)';
  const path = location === undefined ? [] : [[inWorkspace, location.dataset_id, location.workspace_id] as const];
  const conditions = [...scope, ...path];
  const text = `
    SELECT id, ${conditionsOf(filter)} AS matches FROM ${table} WHERE ${conditionsOf(conditions)} ORDER BY ${order.join(', ')}`;
  return [text, ...valuesOf(filter), ...valuesOf(conditions)];
}

type Path = { columns: string; from: string; values: Value[]; where: string; whereValues: Value[] };

/** Each part is looked up by its dataset and its parent's id. The path exists if all parts do. */
function pathOf(location: KnowledgeLocation, docForm: string): Path {
  const { workspace_id, dataset_id, document_id, segment_id } = location;
  let [columns, from] = ['d.id AS found_dataset,', 'datasets d'];
  const values: Value[] = [];
  if (document_id !== undefined) {
    columns += ` o.id AS found_document, ${docForm} AS found_doc_form,`;
    from += ' LEFT JOIN documents o ON o.dataset_id = ? AND o.id = ?';
    values.push(dataset_id, document_id);
  }
  if (document_id !== undefined && segment_id !== undefined) {
    columns += ' s.id AS found_segment,';
    from += ' LEFT JOIN segments s ON s.dataset_id = ? AND s.id = ? AND s.document_id = ?';
    values.push(dataset_id, segment_id, document_id);
  }
  const where = 'WHERE d.id = ? AND d.workspace_id = ?';
  return { columns, from, values, where, whereValues: [dataset_id, workspace_id] };
}

/** Whole rows by their ids. `isIn` compares the id with a list parameter. */
export const rowsStatement = (list: Listed, isIn: string, hasDataset: boolean): string =>
  `SELECT ${wholeColumns(list)} FROM ${list.table} WHERE ${hasDataset ? 'dataset_id = ? AND ' : ''}${isIn}`;

export const findDataset = `SELECT ${wholeColumns(listed.datasets)} FROM datasets WHERE id = ? AND workspace_id = ?`;

/** A document and the dataset of its path. */
export function documentStatement({ workspace_id, dataset_id, document_id = '' }: KnowledgeLocation): Statement {
  const columns = [...listed.documents.columns, ...listed.documents.texts].map((name) => `o.${name}`).join(', ');
  const text = `
    SELECT d.id AS found_dataset, o.id AS found_document, ${columns}
    FROM datasets d LEFT JOIN documents o ON o.dataset_id = ? AND o.id = ? WHERE d.id = ? AND d.workspace_id = ?`;
  return [text, dataset_id, document_id, dataset_id, workspace_id];
}

/** Documents and words of datasets, from an index. On a distributed database this asks the shards of these datasets. */
export const figuresStatement = (isIn: string): string => `
  SELECT dataset_id, display_status, COUNT(*) AS documents, CAST(SUM(word_count) AS BIGINT) AS words
  FROM documents WHERE ${isIn} GROUP BY dataset_id, display_status`;

/** Child chunks that are read at once for the segments of a page. */
export const pageChunksMax = 1_000;
/** A larger text of a child chunk is read only after the size of its page was checked. */
const smallChunkBytesMax = Math.floor(limits.pageBytesMax / pageChunksMax);

/** Child chunks of several segments. Parameters: dataset_id, segment ids, count. */
export const chunksStatement = (isIn: string): string => `
  SELECT ${guardedColumns(listed.childChunks, 'c', smallChunkBytesMax)} FROM child_chunks c
  WHERE c.dataset_id = ? AND ${isIn} AND c.deleted = 0 ORDER BY c.segment_id, c.position, c.id LIMIT ?`;

/** Child chunks of one segment, after a position. Parameters: dataset_id, segment_id, position, id, count. */
export const chunksAfter = `
  SELECT ${guardedColumns(listed.childChunks, 'c')} FROM child_chunks c
  WHERE c.dataset_id = ? AND c.segment_id = ? AND c.deleted = 0 AND (c.position, c.id) > (?, ?)
  ORDER BY c.position, c.id LIMIT ?`;

/**
 * A condition: the column contains the text. A–Z match in any case, other characters exactly: that is what `lower` does in
 * SQLite, and in PostgreSQL for columns with the collation "C". No stored text contains NUL.
 */
export function contains(column: string, keyword: string): readonly [string, ...Value[]] {
  if (keyword.includes('\0')) return ['1 = 0'];
  return [`lower(${column}) LIKE ? ESCAPE '!'`, `%${lowerAscii(keyword).replaceAll(/[!%_]/g, '!$&')}%`];
}

/**
 * A condition: the JSON list of tags has each of these ids. A quote inside a JSON text is escaped, so only an id can match.
 * The ids are one parameter, since SQLite limits the depth of conditions.
 */
export function hasTags(ids: readonly string[], { listTable, list }: Dialect): readonly [string, ...Value[]] {
  const tags = ids.map((id) => lowerAscii(`{"id":${JSON.stringify(id)},`));
  return [`NOT EXISTS (SELECT 1 FROM ${listTable} WHERE replace(lower(tags), value, '') = lower(tags))`, list(tags)];
}

const lowerAscii = (text: string): string => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
