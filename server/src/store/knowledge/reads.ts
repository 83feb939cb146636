import type { ChildChunk } from '../../contract/child-chunk.ts';
import { limits } from '../../contract/limits.ts';
import type { KnowledgeLocation, MissingPart } from '../../domain/store/child-chunks.ts';
import type {
  ChunksBySegment,
  DatasetQuery,
  DatasetRow,
  DatasetTotals,
  DocumentQuery,
  DocumentRow,
  KnowledgeReads,
  KnowledgeScope,
  OffsetQuery,
  OffsetRows,
  SegmentQuery,
  SegmentRow,
  SegmentRows,
} from '../../domain/store/knowledge-reads.ts';
import type { Dialect, Reader, Scan } from '../base/engine.ts';
import type { Condition } from '../base/selection.ts';
import { isLarge, listedOf } from '../base/sized.ts';
import { detailsOf } from '../tables/tables.ts';
import { findPath, foundRow } from './path.ts';
import * as sql from './statements.ts';

/** Child chunks of one segment that are read at once, if they are many. */
const scanChunks = 100;

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

  async listDatasets(scope: KnowledgeScope, query: DatasetQuery): Promise<OffsetRows<DatasetRow>> {
    const { workspace_id, dataset_ids } = scope;
    const inWorkspace = [
      ['workspace_id = ?', workspace_id] as const,
      ...(dataset_ids === null ? [] : [[this.#dialect.isIn('id'), this.#dialect.list(dataset_ids)] as const]),
    ];
    const filter = [
      ...keywordFilter('name', query),
      ...(query.tag_ids === undefined ? [] : [sql.hasTags(query.tag_ids, this.#dialect)]),
    ];
    return pageOf(await this.#readPage(sql.listed.datasets, undefined, inWorkspace, filter, query), datasetOf);
  }

  async listDocuments(location: KnowledgeLocation, query: DocumentQuery) {
    const inDataset = [
      ['dataset_id = ?', location.dataset_id] as const,
      ...(query.status === undefined ? [] : [['display_status = ?', query.status] as const]),
    ];
    const filter = keywordFilter('name', query);
    const rows = await this.#readPage(sql.listed.documents, location, inDataset, filter, query);
    return foundPage(rows, documentOf);
  }

  listSegments(location: KnowledgeLocation, query: SegmentQuery) {
    const { isIn, list } = this.#dialect;
    // No stored status contains NUL, and PostgreSQL would reject the parameter.
    const statuses = query.status?.filter((status) => !status.includes('\0'));
    return this.#listSegments(
      location,
      query,
      [],
      [
        ...(statuses === undefined ? [] : [[isIn('status'), list(statuses)] as const]),
        ...keywordFilter('content', query),
      ],
    );
  }

  async findSegment({ segment_id = '', ...location }: KnowledgeLocation): Promise<SegmentRows | MissingPart> {
    const found = await this.#listSegments(location, { page: 1, limit: 1 }, [['id = ?', segment_id]], []);
    return 'missing' in found || found.items.length > 0 ? found : { missing: 'segment' };
  }

  async #listSegments(
    location: KnowledgeLocation,
    query: OffsetQuery,
    scope: readonly Condition[],
    filter: readonly Condition[],
  ): Promise<SegmentRows | MissingPart> {
    const { dataset_id, document_id = '' } = location;
    const inDocument = [['dataset_id = ?', dataset_id] as const, ['document_id = ?', document_id] as const, ...scope];
    const rows = await this.#readPage(sql.listed.segments, location, inDocument, filter, query);
    const page = foundPage(rows, segmentOf);
    return 'missing' in page ? page : { ...page, doc_form: rows[0]?.found_doc_form ?? null };
  }

  async listChildChunks(location: KnowledgeLocation, query: OffsetQuery) {
    const { dataset_id, segment_id = '' } = location;
    const inSegment = [
      ['dataset_id = ?', dataset_id] as const,
      ['segment_id = ?', segment_id] as const,
      ['deleted = 0'] as const,
    ];
    const filter = keywordFilter('content', query);
    const rows = await this.#readPage(sql.listed.childChunks, location, inSegment, filter, query);
    return foundPage(rows, chunkOf);
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

  async findDataset({ dataset_id, workspace_id }: KnowledgeLocation): Promise<DatasetRow | MissingPart> {
    const found = foundRow((await this.#read(sql.findDataset, dataset_id, workspace_id))[0]);
    return 'missing' in found ? found : datasetOf(found);
  }

  async findDocument(location: KnowledgeLocation): Promise<DocumentRow | MissingPart> {
    const found = foundRow((await this.#read(...sql.documentStatement(location)))[0]);
    return 'missing' in found ? found : documentOf(found);
  }

  async readDataset(id: string): Promise<DatasetRow | undefined> {
    return (await this.#read(sql.rowStatement(sql.listed.datasets), id)).map(datasetOf)[0];
  }

  async readDocument(dataset_id: string, id: string): Promise<DocumentRow | undefined> {
    return (await this.#read(sql.rowStatement(sql.listed.documents), dataset_id, id)).map(documentOf)[0];
  }

  async readSegment(dataset_id: string, id: string): Promise<SegmentRow | undefined> {
    return (await this.#read(sql.rowStatement(sql.listed.segments), dataset_id, id)).map(segmentOf)[0];
  }

  async readChildChunk(dataset_id: string, id: string): Promise<ChildChunk | undefined> {
    return (await this.#read(sql.rowStatement(sql.listed.childChunks), dataset_id, id)).map(chunkOf)[0];
  }

  async findTotals(dataset_ids: readonly string[]): Promise<ReadonlyMap<string, DatasetTotals>> {
    const totals = new Map<string, DatasetTotals>();
    if (dataset_ids.length === 0) return totals;
    const { isIn, list } = this.#dialect;
    for (const row of await this.#read(sql.totalsStatement(isIn('dataset_id')), list(dataset_ids))) {
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
  }

  async findChildChunks(dataset_id: string, segment_ids: readonly string[]): Promise<ChunksBySegment> {
    if (segment_ids.length === 0) return new Map();
    const { isIn, list } = this.#dialect;
    const statement = sql.chunksStatement(isIn('c.segment_id'));
    const rows = await this.#read(statement, dataset_id, list(segment_ids), sql.pageChunksMax + 1);
    if (rows.length > sql.pageChunksMax || bytesOf(rows) > limits.pageBytesMax) return undefined;
    const chunks: ChildChunk[] = [];
    for (const row of rows) {
      const isWhole = row.bytes <= sql.smallChunkBytesMax;
      const chunk = isWhole ? chunkOf(row) : await this.readChildChunk(dataset_id, row.id);
      if (chunk !== undefined) chunks.push(chunk);
    }
    return Map.groupBy(chunks, ({ segment_id }) => segment_id);
  }

  async *scanChildChunks(dataset_id: string, segment_id: string): AsyncGenerator<ChildChunk> {
    let after: [number, string] = [Number.MIN_SAFE_INTEGER, ''];
    for (;;) {
      const rows = await this.#read(sql.chunksAfter, dataset_id, segment_id, ...after, scanChunks);
      for (const row of rows) {
        const chunk = isLarge(row) ? await this.readChildChunk(dataset_id, row.id) : chunkOf(row);
        if (chunk !== undefined) yield chunk;
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < scanChunks) return;
      after = [last.position, last.id];
    }
  }
}

const keywordFilter = (column: string, { keyword }: OffsetQuery) =>
  keyword === undefined ? [] : [sql.contains(column, keyword)];

/** If the page is empty, there is one row without an item. */
function pageOf<C extends { id: string }, R>(
  rows: readonly sql.PageRow<C>[],
  itemOf: (row: sql.PageRow<C>) => R,
): OffsetRows<R> {
  const items = rows.filter(({ id }) => id !== null).map((row) => listedOf(row, row.id, itemOf));
  return { total: Number(rows[0]?.total ?? 0), items };
}

/** A page in a location. */
function foundPage<C extends { id: string }, R>(
  rows: readonly sql.PageRow<C>[],
  itemOf: (row: sql.PageRow<C>) => R,
): OffsetRows<R> | MissingPart {
  const found = foundRow(rows[0]);
  return 'missing' in found ? found : pageOf(rows, itemOf);
}

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
