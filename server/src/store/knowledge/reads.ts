import type { ChildChunk } from '../../contract/child-chunk.ts';
import { limits } from '../../contract/limits.ts';
import { nextTurn } from '../../domain/large-text.ts';
import type { KnowledgeLocation, MissingPart } from '../../domain/store/child-chunks.ts';
import type {
  DatasetRow,
  DatasetTotals,
  DocumentRow,
  KnowledgeReads,
  OffsetQuery,
  OffsetRows,
  SegmentRow,
  SegmentRows,
} from '../../domain/store/knowledge-reads.ts';
import type { Dialect, Reader, Scan } from '../base/engine.ts';
import { type Condition, given } from '../base/selection.ts';
import { isLarge, listedOf } from '../base/sized.ts';
import { detailsOf } from '../tables/tables.ts';
import { findPath, foundRow } from './path.ts';
import * as sql from './statements.ts';

/** Child chunks of one segment that are read at once, if they are many. */
const scanChunks = 100;

const ofDataset = (id: string): Condition => ['dataset_id = ?/*@*/', id];

/** Reads for the lists of knowledge bases, on either engine, from current data or from a snapshot: the scans for filters never. */
export class SqlKnowledgeReads implements KnowledgeReads {
  readonly #read: Reader;
  readonly #dialect: Dialect;
  readonly #scan: Scan;

  constructor(read: Reader, dialect: Dialect, scan: Scan) {
    this.#read = read;
    this.#dialect = dialect;
    this.#scan = scan;
  }

  readonly listDatasets: KnowledgeReads['listDatasets'] = async ({ workspace_id, dataset_ids }, query) => {
    const { isIn, list } = this.#dialect;
    const inWorkspace = [
      ...given('workspace_id = ?', workspace_id),
      ...given(isIn('id'), dataset_ids === null ? undefined : list(dataset_ids)),
    ];
    const withTags = query.tag_ids === undefined ? [] : [sql.hasTags(query.tag_ids, this.#dialect)];
    const filter = [...keywordFilter('name', query), ...withTags];
    const rows = await this.#readPage(sql.listed.datasets, undefined, inWorkspace, filter, query);
    return this.#pageOf(sql.listed.datasets, rows, datasetOf);
  };

  readonly listDocuments: KnowledgeReads['listDocuments'] = (location, query) => {
    const inDataset = [ofDataset(location.dataset_id), ...given('display_status = ?', query.status)];
    return this.#listIn(sql.listed.documents, location, inDataset, keywordFilter('name', query), query, documentOf);
  };

  readonly listSegments: KnowledgeReads['listSegments'] = (location, query) => {
    const { isIn, list } = this.#dialect;
    // No stored status contains NUL, and PostgreSQL would reject the parameter.
    const statuses = query.status?.filter((status) => !status.includes('\0'));
    const filter = [...given(isIn('status'), statuses && list(statuses)), ...keywordFilter('content', query)];
    return this.#listSegments(location, query, [], filter);
  };

  readonly findSegment: KnowledgeReads['findSegment'] = async ({ segment_id = '', ...location }) => {
    const found = await this.#listSegments(location, { page: 1, limit: 1 }, given('id = ?', segment_id), []);
    return 'missing' in found || found.items.length > 0 ? found : { missing: 'segment' };
  };

  async #listSegments(
    location: KnowledgeLocation,
    query: OffsetQuery,
    scope: readonly Condition[],
    filter: readonly Condition[],
  ): Promise<SegmentRows | MissingPart> {
    const { dataset_id, document_id = '' } = location;
    const inDocument = [ofDataset(dataset_id), ...given('document_id = ?', document_id), ...scope];
    const page = await this.#listIn(sql.listed.segments, location, inDocument, filter, query, segmentOf);
    return 'missing' in page ? page : { ...page, doc_form: page.first.found_doc_form ?? null };
  }

  readonly listChildChunks: KnowledgeReads['listChildChunks'] = (location, query) => {
    const { dataset_id, segment_id = '' } = location;
    const inSegment: Condition[] = [ofDataset(dataset_id), ...given('segment_id = ?', segment_id), ['deleted = 0']];
    const filter = keywordFilter('content', query);
    return this.#listIn(sql.listed.childChunks, location, inSegment, filter, query, chunkOf);
  };

  /** A page in a location. `first`: a row with the columns of its path. */
  async #listIn<C extends { id: string }, R>(
    list: sql.Listed<C>,
    location: KnowledgeLocation,
    scope: readonly Condition[],
    filter: readonly Condition[],
    query: OffsetQuery,
    itemOf: (row: C) => R,
  ): Promise<(OffsetRows<R> & { first: sql.PageRow<C> }) | MissingPart> {
    const rows = await this.#readPage(list, location, scope, filter, query);
    const first = foundRow(rows[0]);
    return 'missing' in first ? first : { ...this.#pageOf(list, rows, itemOf, location.dataset_id), first };
  }

  /** If the page is empty, there is one row without an item. */
  #pageOf<C extends { id: string }, R>(
    list: sql.Listed<C>,
    rows: readonly sql.PageRow<C>[],
    itemOf: (row: C) => R,
    ...dataset_id: string[]
  ): OffsetRows<R> {
    const items = rows
      .filter(({ id }) => id !== null)
      .map((row) => {
        const { id } = row;
        return { id, ...listedOf<C, R>(row, itemOf, () => this.#read(sql.rowStatement(list), ...dataset_id, id)) };
      });
    return { total: Number(rows[0]?.total ?? 0), items };
  }

  /** The rows of a page. An index has the rows of the scope in the order of the list. For the filter every row is read. */
  async #readPage<R extends { id: string }>(
    list: sql.Listed<R>,
    location: KnowledgeLocation | undefined,
    scope: readonly Condition[],
    filter: readonly Condition[],
    query: OffsetQuery,
  ): Promise<sql.PageRow<R>[]> {
    const statementFor = (selected: readonly Condition[]) =>
      sql.pageStatement(list, location, selected, query, this.#dialect);
    if (filter.length === 0) return this.#read(...statementFor(scope));
    const path = location && foundRow((await this.#read(...findPath(location)))[0]);
    // Nothing is scanned for a path that does not exist.
    if (path !== undefined && 'missing' in path) return this.#read(...statementFor([['1 = 0']]));
    return this.#scan((read) => read(...statementFor([...scope, ...filter])), query.disconnected?.());
  }

  readonly findDataset: KnowledgeReads['findDataset'] = async ({ dataset_id, workspace_id }) => {
    const found = foundRow((await this.#read(sql.findDataset, dataset_id, workspace_id))[0]);
    return 'missing' in found ? found : datasetOf(found);
  };

  readonly findDocument: KnowledgeReads['findDocument'] = async (location) => {
    const found = foundRow((await this.#read(...sql.documentStatement(location)))[0]);
    return 'missing' in found ? found : documentOf(found);
  };

  readonly findTotals: KnowledgeReads['findTotals'] = async (dataset_ids) => {
    const totals = new Map<string, DatasetTotals>();
    if (dataset_ids.length === 0) return totals;
    const { isIn, list } = this.#dialect;
    for (const row of await this.#read(sql.totalsStatement(`${isIn('dataset_id')}/*@*/`), list(dataset_ids))) {
      const { dataset_id, display_status, documents, words } = row;
      const sum = totals.get(dataset_id) ?? { documents: 0, available: 0, words: 0 };
      const available = display_status === 'available' ? documents : 0;
      totals.set(dataset_id, {
        documents: sum.documents + documents,
        available: sum.available + available,
        words: sum.words + words,
      });
    }
    return totals;
  };

  readonly findChildChunks: KnowledgeReads['findChildChunks'] = async (dataset_id, segment_ids, bytesMax) => {
    if (segment_ids.length === 0) return new Map();
    const { isIn, list } = this.#dialect;
    const ofSegments = isIn('c.segment_id');
    const values = [dataset_id, list(segment_ids), sql.pageChunksMax + 1];
    const [size] = await this.#read(sql.chunksSize(ofSegments), ...values);
    const bytes = size?.bytes ?? 0;
    if (bytes > bytesMax) return undefined;
    if (bytes > limits.largePageWriteBytes) await nextTurn();
    const rows = await this.#read(sql.chunksStatement(ofSegments), ...values);
    if (rows.length > sql.pageChunksMax || bytesOf(rows) > bytesMax) return undefined;
    const chunks: ChildChunk[] = [];
    for (const row of rows) {
      chunks.push(...(row.bytes <= sql.smallChunkBytesMax ? [row] : await this.#readChunk(dataset_id, row.id)));
    }
    return Map.groupBy(chunks.map(chunkOf), ({ segment_id }) => segment_id);
  };

  async *scanChildChunks(dataset_id: string, segment_id: string): AsyncGenerator<ChildChunk> {
    let after: [number, string] = [Number.MIN_SAFE_INTEGER, ''];
    for (;;) {
      const rows = await this.#read(sql.chunksAfter, dataset_id, segment_id, ...after, scanChunks);
      for (const row of rows) {
        yield* (isLarge(row) ? await this.#readChunk(dataset_id, row.id) : [row]).map(chunkOf);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < scanChunks) return;
      after = [last.after, last.id];
    }
  }

  #readChunk(dataset_id: string, id: string): Promise<ChildChunk[]> {
    return this.#read(sql.rowStatement(sql.listed.childChunks), dataset_id, id);
  }
}

const keywordFilter = (column: string, { keyword }: OffsetQuery) =>
  keyword === undefined ? [] : [sql.contains(column, keyword)];

const bytesOf = (rows: readonly { bytes: number }[]): number => rows.reduce((sum, { bytes }) => sum + bytes, 0);

const datasetOf = ({ details, tags, ...row }: sql.DatasetColumns): DatasetRow => ({
  ...row,
  tags: JSON.parse(tags),
  settings: null,
  ...detailsOf('dataset', details),
});

const documentOf = ({ details, ...row }: sql.DocumentColumns): DocumentRow => ({
  ...row,
  ...detailsOf('document', details),
});

const segmentOf = ({ details, ...row }: sql.SegmentColumns): SegmentRow => ({
  ...row,
  ...detailsOf('segment', details),
});

/** In the order of the API specification. */
function chunkOf(row: ChildChunk): ChildChunk {
  const { id, segment_id, content, position, word_count, type, created_at, updated_at } = row;
  return { id, segment_id, content, position, word_count, type, created_at, updated_at };
}
