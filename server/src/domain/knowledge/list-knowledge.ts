import type { SegmentPath } from '../../contract/child-chunk.ts';
import { type MetadataMode, metadataModes } from '../../contract/knowledge.ts';
import { limits } from '../../contract/limits.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { joinTexts } from '../large-text.ts';
import { type FoundList, type JsonBody, renderBody } from '../render-list.ts';
import type { KnowledgeLocation } from '../store/child-chunks.ts';
import type {
  DatasetQuery,
  DocumentQuery,
  KnowledgeReads,
  OffsetQuery,
  OffsetRows,
  SegmentQuery,
  SegmentRow,
} from '../store/knowledge-reads.ts';
import { renderBase, renderDocument, renderSegment, renderSingleDocument } from './knowledge-shapes.ts';
import { type DocumentPath, locationOf, requirePath } from './path.ts';

/** The lists of knowledge bases, documents, segments and child chunks that a knowledge key allows, as JSON text. */

/** The signal is for large pages and scans. */
type ListCall = Pick<Call<'knowledge'>, 'store' | 'caller' | 'disconnected'>;
type DatasetPath = Pick<SegmentPath, 'dataset_id'>;

const pageStart = '{"data":[';
const pageOf = <R>(list: OffsetRows<R>, tail: string, objectOf: (row: R) => object): FoundList<R> => ({
  ...list,
  head: pageStart,
  tail,
  render: (rows) => joinTexts(rows, (row) => JSON.stringify(objectOf(row))),
});

export function listDatasets({ store, caller, disconnected }: ListCall, query: DatasetQuery): Promise<JsonBody> {
  return renderBody(store, disconnected, async ({ knowledge: reads }) => {
    const list = await reads.listDatasets(caller, { ...query, disconnected });
    const totals = await reads.findTotals(list.items.map(({ id }) => id));
    return pageOf(list, pageEnd(query, list.total), (row) => renderBase(row, totals.get(row.id)));
  });
}

export async function findDataset({ store, caller }: ListCall, path: DatasetPath) {
  const row = requirePath(await store.knowledge.findDataset(locationOf(caller, path)));
  const totals = await store.knowledge.findTotals([row.id]);
  return renderBase(row, totals.get(row.id));
}

export function listDocuments(call: ListCall, path: DatasetPath, query: DocumentQuery): Promise<JsonBody> {
  const { store, caller, disconnected } = call;
  const location = locationOf(caller, path);
  return renderBody(store, disconnected, async ({ knowledge: reads }) => {
    const list = requirePath(await reads.listDocuments(location, { ...query, disconnected }));
    return pageOf(list, pageEnd(query, list.total), (row) => renderDocument(row, caller.workspace_id));
  });
}

/** `metadata` is checked before the path. */
export async function findDocument({ store, caller }: ListCall, path: DocumentPath, metadata: string) {
  if (!isMetadataMode(metadata)) {
    throw new ServiceError('invalid_metadata', `metadata must be one of ${metadataModes.join(', ')}`);
  }
  const row = requirePath(await store.knowledge.findDocument(locationOf(caller, path)));
  return renderSingleDocument(row, caller.workspace_id, metadata);
}

const isMetadataMode = (value: string): value is MetadataMode => (metadataModes as readonly string[]).includes(value);

export function listSegments(call: ListCall, path: DocumentPath, query: SegmentQuery): Promise<JsonBody> {
  const { store, caller, disconnected } = call;
  const location = locationOf(caller, path);
  const { limit, page } = query;
  return renderBody(store, disconnected, async ({ knowledge: reads }) => {
    const list = requirePath(await reads.listSegments(location, { ...query, disconnected }));
    const { doc_form, total } = list;
    const tail = envelopeEnd({ doc_form, total, has_more: hasMore(query, total), limit, page });
    return { ...segmentItems(reads, location, list), head: pageStart, tail };
  });
}

export function findSegment({ store, caller, disconnected }: ListCall, path: SegmentPath): Promise<JsonBody> {
  const location = locationOf(caller, path);
  return renderBody(store, disconnected, async ({ knowledge: reads }) => {
    const segment = requirePath(await reads.findSegment(location));
    const tail = `,${JSON.stringify({ doc_form: segment.doc_form }).slice(1)}`;
    return { ...segmentItems(reads, location, segment), head: '{"data":', tail };
  });
}

/** Segments with their child chunks, which are read by one statement for the whole page. */
function segmentItems(
  reads: KnowledgeReads,
  { dataset_id, workspace_id }: KnowledgeLocation,
  { items }: OffsetRows<SegmentRow>,
): Omit<FoundList<SegmentRow>, 'head' | 'tail'> {
  return {
    items,
    render: async (segments) => {
      const chunks = await reads.findChildChunks(
        dataset_id,
        segments.map(({ id }) => id),
        limits.largePageReadBytes,
      );
      if (chunks === undefined) return undefined;
      return joinTexts(segments, (segment) => {
        const { before, after } = renderSegment(segment, workspace_id);
        return `${before}${(chunks.get(segment.id) ?? []).map((chunk) => JSON.stringify(chunk)).join(',')}${after}`;
      });
    },
    renderLarge: async function* (segment) {
      const { before, after } = renderSegment(segment, workspace_id);
      yield before;
      let isFirst = true;
      for await (const chunk of reads.scanChildChunks(dataset_id, segment.id)) {
        yield `${isFirst ? '' : ','}${JSON.stringify(chunk)}`;
        isFirst = false;
      }
      yield after;
    },
  };
}

export function listChildChunks(call: ListCall, path: SegmentPath, query: OffsetQuery): Promise<JsonBody> {
  const { store, caller, disconnected } = call;
  const location = locationOf(caller, path);
  const { limit, page } = query;
  return renderBody(store, disconnected, async ({ knowledge: reads }) => {
    const list = requirePath(await reads.listChildChunks(location, { ...query, disconnected }));
    const { total } = list;
    const tail = envelopeEnd({ total, total_pages: Math.ceil(total / limit), page, limit });
    return pageOf(list, tail, (row) => row);
  });
}

/** The rest of an envelope, after its data. */
const envelopeEnd = (fields: object): string => `],${JSON.stringify(fields).slice(1)}`;
const hasMore = ({ page, limit }: OffsetQuery, total: number): boolean => page * limit < total;
const pageEnd = (query: OffsetQuery, total: number): string =>
  envelopeEnd({ has_more: hasMore(query, total), limit: query.limit, total, page: query.page });

type OffsetParameters = { page?: number; limit?: number };
/** With the defaults of the API. */
export const withPage = <Q extends OffsetParameters>(query: Q) => ({
  ...query,
  page: query.page ?? 1,
  limit: query.limit ?? limits.listRowsDefault,
});
