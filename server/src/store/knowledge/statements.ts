import type { ChildChunk } from '../../contract/child-chunk.ts';
import { limits } from '../../contract/limits.ts';
import type { KnowledgeLocation } from '../../domain/store/child-chunks.ts';
import type { OffsetQuery } from '../../domain/store/knowledge-reads.ts';
import type { Dialect } from '../base/engine.ts';
import { type Condition, split } from '../base/selection.ts';
import { type Sized, type SizedColumns, sizedColumns, type TextSource } from '../base/sized.ts';
import type { Bound, Statement } from '../base/statement.ts';
import { type PathRow, pathStatement, selectPath } from './path.ts';

/**
 * The SQL of the lists of knowledge bases, in the subset that both engines understand. A list is one statement: the parts
 * of its path, the number of all items, and the items of the page. The ids of a page are read from an index, and only its
 * own rows from the table. A list without a keyword reads no text of other pages.
 */

/** A table whose rows are listed. Texts can be large: they are read only if their page is not too large. */
type ListTable<Name extends string = string> = {
  table: string;
  columns: readonly Name[];
  texts: readonly Name[];
  /** The sort key, unique for each row of the list. */
  order: readonly string[];
};

export type Listed<R extends ListedRow> = ListTable<keyof R & string>;
type ListedRow = { id: string };
type Texts<Name extends string> = Record<Name, string>;
type Numbers<Name extends string> = Record<Name, number>;
export type DatasetColumns = ListedRow & Texts<'workspace_id' | 'name' | 'tags' | 'details'> & Numbers<'created_at'>;
export type DocumentColumns = ListedRow &
  Texts<'display_status' | 'name' | 'details'> &
  Numbers<'position' | 'created_at' | 'segment_count' | 'word_count'>;
export type SegmentColumns = ListedRow &
  Texts<'document_id' | 'content' | 'status' | 'details'> &
  Numbers<'position' | 'word_count'>;

/** `total`: the number of rows of all pages. The columns of the row are null if the page is empty. */
export type PageRow<R extends ListedRow = ListedRow> = Sized<R> &
  PathRow & { total: number; found_doc_form?: string | null };

type Lists = {
  datasets: Listed<DatasetColumns>;
  documents: Listed<DocumentColumns>;
  segments: Listed<SegmentColumns>;
  childChunks: Listed<ChildChunk>;
};

export const listed: Lists = {
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
};

/**
 * Of a large row only the id and the size are read: to read a column that is stored after a large text, SQLite reads all pages of that
 * text. The texts come first, as it then knows where the columns after them are.
 */
const columnsOf = ({ columns, texts }: ListTable, row: string): SizedColumns => {
  const others = columns.filter((name) => name !== 'id');
  return {
    columns: [`${row}.id`],
    texts: Object.fromEntries([
      ...texts.map((name): [string, TextSource] => [name, `${row}.${name}`]),
      ...others.map((name): [string, TextSource] => [name, { text: `${row}.${name}`, bytes: '0' }]),
    ]),
  };
};
const wholeColumns = (list: ListTable, row: string): string => sizedColumns(columnsOf(list, row), 'all');

/** Past this page every list is empty. It keeps the offset within the range of the engines. */
const offsetMax = 1_000_000_000_000;
const offsetOf = ({ page, limit }: OffsetQuery): number => Math.min((page - 1) * limit, offsetMax);

/** A page of a list in a location, or of datasets if it has none. Columns of the row are null if the page is empty. */
export function pageStatement<R extends ListedRow>(
  list: Listed<R>,
  location: KnowledgeLocation | undefined,
  filter: readonly Condition[],
  query: OffsetQuery,
  { jsonField }: Dialect,
): Bound<PageRow<R>> {
  const { table, order } = list;
  const { texts, values } = split(filter);
  const where = texts.join(' AND ');
  const inDataset = location === undefined ? '' : 'x.dataset_id = ?/*@*/ AND ';
  const path = location === undefined ? undefined : pathStatement(location);
  const docForm =
    location?.document_id === undefined ? [] : [`${jsonField('o.details', 'doc_form')} AS found_doc_form`];
  const counted = `(SELECT COUNT(*) AS total FROM ${table} WHERE ${where}) t`;
  // Of the keys of the order, those of a page are read from the index, as a row may be large.
  const keys = order.map((column) => column.replace(/(\w+).*/, '$1 AS by_$1'));
  const pageOrder = order.map((column) => `p.by_${column}`).join(', ');
  const text = `
    SELECT ${[...(path?.columns ?? []), ...docForm, 't.total', 'p.*'].join(', ')}
    FROM ${path === undefined ? counted : `${path.from} CROSS JOIN ${counted}`}
    LEFT JOIN (
      SELECT ${sizedColumns(columnsOf(list, 'x'), 'small')}, k.*
      FROM (SELECT ${keys.join(', ')} FROM ${table} WHERE ${where}
        ORDER BY ${order.join(', ')} LIMIT ? OFFSET ?) k
      JOIN ${table} x ON ${inDataset}x.id = k.by_id
    ) p ON TRUE
    ${path === undefined ? '' : `WHERE ${path.where}`} ORDER BY ${pageOrder}`;
  const dataset = location === undefined ? [] : [location.dataset_id];
  const pageValues = [...values, query.limit, offsetOf(query), ...dataset];
  return [text, ...(path?.fromValues ?? []), ...values, ...pageValues, ...(path?.whereValues ?? [])];
}

/** A whole row. Parameters: its dataset, if it has one, and its id. */
export const rowStatement = <R extends ListedRow>(list: Listed<R>): Statement<R> =>
  `SELECT ${wholeColumns(list, 'x')} FROM ${list.table} x WHERE ${list.table === 'datasets' ? '' : 'x.dataset_id = ?/*@*/ AND '}x.id = ?`;

export const findDataset: Statement<DatasetColumns & PathRow> =
  `SELECT ${wholeColumns(listed.datasets, 'x')} FROM datasets x WHERE x.id = ? AND x.workspace_id = ?`;

export const documentStatement = (location: KnowledgeLocation) =>
  selectPath<DocumentColumns>(location, wholeColumns(listed.documents, 'o'));

type TotalsRow = { dataset_id: string; display_status: string; documents: number; words: number };

/** Documents and words of datasets, from an index. On a distributed database this asks the shards of these datasets. */
export const totalsStatement = (isIn: string): Statement<TotalsRow> => `
  SELECT dataset_id, display_status, COUNT(*) AS documents, CAST(SUM(word_count) AS BIGINT) AS words
  FROM documents WHERE ${isIn} GROUP BY dataset_id, display_status`;

/** Child chunks that are read at once for the segments of a page. */
export const pageChunksMax = 1_000;
/** A larger text of a child chunk is read only after the size of its page was checked. */
export const smallChunkBytesMax = Math.floor(limits.pageBytesMax / pageChunksMax);

const ofSegments = (isIn: string) => `c.dataset_id = ?/*@*/ AND ${isIn} AND c.deleted = 0`;

/** The size of the child chunks of several segments. Parameters: dataset_id, segment ids, count. */
export const chunksSize = (isIn: string): Statement<{ bytes: number }> => `
  SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM (
    SELECT octet_length(c.content) AS bytes FROM child_chunks c WHERE ${ofSegments(isIn)} LIMIT ?) sizes`;

/** Child chunks of several segments. Parameters: dataset_id, segment ids, count. */
export const chunksStatement = (isIn: string): Statement<Sized<ChildChunk>> => `
  SELECT ${sizedColumns(columnsOf(listed.childChunks, 'c'), 'small', smallChunkBytesMax)} FROM child_chunks c
  WHERE ${ofSegments(isIn)} ORDER BY c.segment_id, c.position, c.id LIMIT ?`;

/** Child chunks of one segment, after a position. Parameters: dataset_id, segment_id, position, id, count. */
export const chunksAfter: Statement<Sized<ChildChunk> & { after: number }> = `
  SELECT c.position AS after, ${sizedColumns(columnsOf(listed.childChunks, 'c'), 'small')} FROM child_chunks c
  WHERE c.dataset_id = ?/*@*/ AND c.segment_id = ? AND c.deleted = 0 AND (c.position, c.id) > (?, ?)
  ORDER BY c.position, c.id LIMIT ?`;

/**
 * A condition: the column contains the text. A–Z match in any case, other characters exactly: that is what `lower` does in
 * SQLite, and in PostgreSQL for columns with the collation "C". No stored text contains NUL.
 */
export function contains(column: string, keyword: string): Condition {
  if (keyword.includes('\0')) return ['1 = 0'];
  return [`lower(${column}) LIKE ? ESCAPE '!'`, `%${lowerAscii(keyword).replaceAll(/[!%_]/g, '!$&')}%`];
}

/**
 * A condition: the JSON list of tags has each of these ids. A quote inside a JSON text is escaped, so only an id can match.
 * The ids are one parameter, since SQLite limits the depth of conditions.
 */
export function hasTags(ids: readonly string[], { listTable, list }: Dialect): Condition {
  const tags = ids.map((id) => lowerAscii(`{"id":${JSON.stringify(id)},`));
  return [`NOT EXISTS (SELECT 1 FROM ${listTable} WHERE replace(lower(tags), value, '') = lower(tags))`, list(tags)];
}

const lowerAscii = (text: string): string => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
