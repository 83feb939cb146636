import type { SegmentListed, SegmentQuery, SegmentWithChunks } from '../../contract/console/knowledge.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type { ListRange, ListRows } from '../store/admin-reads.ts';
import type { Store } from '../store/store.ts';
import { requireKnowledge, requireSegment } from './path.ts';

type DocumentPath = { dataset_id: string; document_id: string };

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
  const chunks = await store.knowledge.findChildChunks(canonicalId(dataset_id), ids);
  return segments.map((segment) => {
    const own = chunks?.get(segment.id) ?? [];
    return { ...segment, child_chunks: chunks === undefined ? null : [...own] };
  });
}
