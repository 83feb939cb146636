import type { Static } from 'typebox';
import type { ListQuery } from '../../contract/admin.ts';
import type { ChildChunkPath } from '../../contract/child-chunk.ts';
import type {
  DatasetCited,
  DocumentCited,
  KnowledgeListQuery,
  RevisionListed,
  SegmentListed,
  SegmentQuery,
  SegmentWithChunks,
} from '../../contract/console/knowledge.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { byName, type CursorPage, Paging } from '../paging.ts';
import { dayOf } from '../records/usage.ts';
import type { KnowledgeRange, ListRange, ListRows } from '../store/admin-reads.ts';
import type { Store } from '../store/store.ts';
import { type DocumentPath, requireKnowledge, requireSegment } from './path.ts';

type Query = Static<typeof ListQuery>;

const datasets = byName<DatasetCited>();
const documents = byName<DocumentCited>();
const revisions = new Paging<RevisionListed>(['number'], ({ revision }) => [revision]);

/** The first of the days in which citations are counted. `clock` is in milliseconds. */
export const firstCitedDay = (clock: () => number): number => dayOf(clock() / 1000) - limits.citedDays + 1;

const rangeOf = (range: ListRange, { sort }: { sort?: string }, clock: () => number): KnowledgeRange => ({
  ...range,
  since: firstCitedDay(clock),
  isWorst: sort === '-disliked',
});

type Dependencies = { store: Store; clock: () => number };

/** A page of the knowledge bases of all workspaces. */
export const listAllDatasets = (
  { store, clock }: Dependencies,
  query: KnowledgeListQuery,
): Promise<CursorPage<DatasetCited>> =>
  datasets.read(query, (range) => store.admin.listDatasets(rangeOf(range, query, clock)));

/** A page of the documents of a knowledge base. */
export const listAllDocuments = (
  { store, clock }: Dependencies,
  params: Parameters<typeof requireKnowledge>[1],
  query: KnowledgeListQuery,
): Promise<CursorPage<DocumentCited>> =>
  documents.read(query, async (range) => {
    const { dataset_id } = await requireKnowledge(store, params);
    return store.admin.listDocuments(dataset_id, rangeOf(range, query, clock));
  });

/** A page of the replaced texts of a child chunk, newest first. */
export const listRevisions = (
  store: Store,
  params: ChildChunkPath,
  query: Query,
): Promise<CursorPage<RevisionListed>> =>
  revisions.read(query, async (range) => {
    const path = await requireKnowledge(store, params);
    return store.admin.listRevisions(path.dataset_id, path.child_chunk_id, range);
  });

/** A range of the segments of a document. Without a cursor, it starts with `start_id` if the query has one. */
export async function listSegments(
  store: Store,
  path: DocumentPath,
  { start_id, order = 'asc' }: SegmentQuery,
  { after, count }: ListRange,
): Promise<ListRows<SegmentListed>> {
  const isFromStart = after === undefined && start_id !== undefined;
  const first = isFromStart ? await requireSegment(store, { ...path, segment_id: start_id }) : undefined;
  const { dataset_id, document_id } = await requireKnowledge(store, path);
  const list = (range: ListRange) => store.admin.listSegments(dataset_id, document_id, range, order);
  if (first === undefined) return list({ after, count });
  const { rows, has_more } = await list({ after: [first.position, first.id], count: count - 1 });
  return { rows: [first, ...rows], has_more };
}

/** Adds the child chunks of all segments of a page, or null to each if they are too many for one response. */
export async function addChildChunks(
  store: Store,
  { dataset_id }: DocumentPath,
  segments: readonly SegmentListed[],
): Promise<SegmentWithChunks[]> {
  const ids = segments.map(({ id }) => id);
  const chunks = await store.knowledge.findChildChunks(canonicalId(dataset_id), ids, limits.pageBytesMax);
  return segments.map((segment) => {
    const own = chunks?.get(segment.id) ?? [];
    return { ...segment, child_chunks: chunks === undefined ? null : [...own] };
  });
}
