import type { ChildChunk, SegmentPath } from '../../contract/child-chunk.ts';
import { type MetadataMode, metadataModes } from '../../contract/knowledge.ts';
import type { CallerOf } from '../caller.ts';
import { ServiceError } from '../errors.ts';
import { joinTexts } from '../large-text.ts';
import { type FoundList, type JsonBody, renderList } from '../render-list.ts';
import type { KnowledgeLocation } from '../store/child-chunks.ts';
import type {
  DatasetQuery,
  DatasetRow,
  DocumentQuery,
  DocumentRow,
  KnowledgeReads,
  OffsetQuery,
  OffsetRows,
  SegmentQuery,
  SegmentRow,
} from '../store/knowledge-reads.ts';
import type { ListReads, Store } from '../store/store.ts';
import { renderBase, renderChunk, renderDocument, renderSegment, renderSingleDocument } from './knowledge-shapes.ts';
import { envelopeEnd, hasMore } from './offset-page.ts';
import { locationOf, requirePath } from './path.ts';

/** The lists of knowledge bases, documents, segments and child chunks that a knowledge key allows, as JSON text. */

/** The caller of a list, and a signal that aborts when the client disconnects, for large pages and scans. */
export type ListCaller = { caller: CallerOf<'knowledge'>; disconnected: () => AbortSignal };

const pageStart = '{"data":[';

export async function listDatasets(
  store: Store,
  { caller, disconnected }: ListCaller,
  query: DatasetQuery,
): Promise<JsonBody> {
  const { limit, page } = query;
  const find = async ({ knowledge: reads }: ListReads) => {
    const found = await reads.listDatasets(caller, { ...query, disconnected });
    const { total } = found;
    const totals = await reads.findTotals(found.items.map(({ key }) => key));
    return {
      ...found,
      head: pageStart,
      tail: envelopeEnd({ has_more: hasMore(query, total), limit, total, page }),
      readRow: (id: string) => reads.readDataset(id),
      render: (rows: readonly DatasetRow[]) =>
        joinTexts(rows, (row) => JSON.stringify(renderBase(row, totals.get(row.id)))),
    };
  };
  return (await renderList(store, find, disconnected)).body;
}

export async function findDataset(store: Store, caller: CallerOf<'knowledge'>, path: { dataset_id: string }) {
  const row = requirePath(await store.knowledge.findDataset(locationOf(caller, path)));
  const totals = await store.knowledge.findTotals([row.id]);
  return renderBase(row, totals.get(row.id));
}

export async function listDocuments(
  store: Store,
  { caller, disconnected }: ListCaller,
  path: Pick<SegmentPath, 'dataset_id'>,
  query: DocumentQuery,
): Promise<JsonBody> {
  const location = locationOf(caller, path);
  const { limit, page } = query;
  const find = async ({ knowledge: reads }: ListReads) => {
    const found = requirePath(await reads.listDocuments(location, { ...query, disconnected }));
    const { total } = found;
    return {
      ...found,
      head: pageStart,
      tail: envelopeEnd({ has_more: hasMore(query, total), limit, total, page }),
      readRow: (id: string) => reads.readDocument(location.dataset_id, id),
      render: (rows: readonly DocumentRow[]) =>
        joinTexts(rows, (row) => JSON.stringify(renderDocument(row, caller.workspace_id))),
    };
  };
  return (await renderList(store, find, disconnected)).body;
}

/** `metadata` is checked before the path. */
export async function findDocument(
  store: Store,
  caller: CallerOf<'knowledge'>,
  path: Pick<SegmentPath, 'dataset_id' | 'document_id'>,
  metadata: string,
) {
  if (!isMetadataMode(metadata)) {
    throw new ServiceError('invalid_metadata', `metadata must be one of ${metadataModes.join(', ')}`);
  }
  const row = requirePath(await store.knowledge.findDocument(locationOf(caller, path)));
  return renderSingleDocument(row, caller.workspace_id, metadata);
}

const isMetadataMode = (value: string): value is MetadataMode => (metadataModes as readonly string[]).includes(value);

export async function listSegments(
  store: Store,
  { caller, disconnected }: ListCaller,
  path: Pick<SegmentPath, 'dataset_id' | 'document_id'>,
  query: SegmentQuery,
): Promise<JsonBody> {
  const location = locationOf(caller, path);
  const { limit, page } = query;
  const find = async ({ knowledge: reads }: ListReads) => {
    const found = requirePath(await reads.listSegments(location, { ...query, disconnected }));
    const { doc_form, total } = found;
    const tail = envelopeEnd({ doc_form, total, has_more: hasMore(query, total), limit, page });
    return { ...segmentItems(reads, location, found), head: pageStart, tail };
  };
  return (await renderList(store, find, disconnected)).body;
}

export async function findSegment(
  store: Store,
  { caller, disconnected }: ListCaller,
  path: SegmentPath,
): Promise<JsonBody> {
  const location = locationOf(caller, path);
  const find = async ({ knowledge: reads }: ListReads) => {
    const found = requirePath(await reads.findSegment(location));
    const tail = `,${JSON.stringify({ doc_form: found.doc_form }).slice(1)}`;
    return { ...segmentItems(reads, location, found), head: '{"data":', tail };
  };
  return (await renderList(store, find, disconnected)).body;
}

/** Segments with their child chunks, which are read by one statement for the whole page. */
function segmentItems(
  reads: KnowledgeReads,
  { dataset_id, workspace_id }: KnowledgeLocation,
  { items }: OffsetRows<SegmentRow>,
): Omit<FoundList<SegmentRow>, 'head' | 'tail'> {
  return {
    items,
    readRow: (id) => reads.readSegment(dataset_id, id),
    render: async (segments) => {
      const chunks = await reads.findChildChunks(
        dataset_id,
        segments.map(({ id }) => id),
      );
      if (chunks === undefined) return undefined;
      return joinTexts(segments, (segment) => {
        const { before, after } = renderSegment(segment, workspace_id);
        return `${before}${(chunks.get(segment.id) ?? []).map(renderChunk).join(',')}${after}`;
      });
    },
    renderLarge: async function* (segment) {
      const { before, after } = renderSegment(segment, workspace_id);
      yield before;
      let isFirst = true;
      for await (const chunk of reads.scanChildChunks(dataset_id, segment.id)) {
        yield isFirst ? renderChunk(chunk) : `,${renderChunk(chunk)}`;
        isFirst = false;
      }
      yield after;
    },
  };
}

export async function listChildChunks(
  store: Store,
  { caller, disconnected }: ListCaller,
  path: SegmentPath,
  query: OffsetQuery,
): Promise<JsonBody> {
  const location = locationOf(caller, path);
  const { limit, page } = query;
  const find = async ({ knowledge: reads }: ListReads) => {
    const found = requirePath(await reads.listChildChunks(location, { ...query, disconnected }));
    const { total } = found;
    return {
      ...found,
      head: pageStart,
      tail: envelopeEnd({ total, total_pages: Math.ceil(total / limit), page, limit }),
      readRow: (id: string) => reads.readChildChunk(location.dataset_id, id),
      render: (rows: readonly ChildChunk[]) => joinTexts(rows, renderChunk),
    };
  };
  return (await renderList(store, find, disconnected)).body;
}
