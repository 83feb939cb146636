import type { TSchema } from 'typebox';
import { ChildChunk } from '../child-chunk.ts';
import { displayStatuses, doc_form, KnowledgeSegment, metadataModes } from '../knowledge.ts';
import { limits } from '../limits.ts';
import { described, flag, integer, list, optional, pageParameters } from '../primitives.ts';
import { Type } from '../type.ts';

/** Pages of the lists of knowledge bases, and their queries. */

const total = integer('Number of all items.');
const has_more = flag('Whether there are more pages.');
const limit = integer('Number of items per page.');
const page = integer('Number of this page.');
const dataOf = <S extends TSchema>(item: S) => list(item, 'The items of this page.');

/** The envelopes of offset pages: see `domain/knowledge/offset-page.ts`. */
export const offsetPage = <S extends TSchema>(item: S) =>
  described('A page of the list.', { data: dataOf(item), has_more, limit, total, page });
export const SegmentPage = described('A page of the list.', {
  data: dataOf(KnowledgeSegment),
  doc_form,
  total,
  has_more,
  limit,
  page,
});
export const ChildChunkPage = described('A page of the list.', {
  data: dataOf(ChildChunk),
  total,
  total_pages: integer('Number of pages.'),
  page,
  limit,
});
export const SegmentResponse = described('The segment.', { data: KnowledgeSegment, doc_form });

const paged = pageParameters(limits.listRowsMax, 'items');
const keyword = (field: string) => optional.text(`Only items whose ${field} contains this. A–Z match in any case.`);

export const KnowledgeBaseQuery = Type.Object({
  ...paged,
  keyword: keyword('name'),
  tag_ids: Type.Optional(Type.Array(Type.String(), { description: 'Only knowledge bases with all of these tags.' })),
  include_all: optional.text('Accepted and ignored.'),
});
export const DocumentQuery = Type.Object({
  ...paged,
  keyword: keyword('name'),
  status: optional.choice(displayStatuses, 'Only this `display_status`.'),
});
export const SegmentQuery = Type.Object({
  ...paged,
  keyword: keyword('text'),
  status: Type.Optional(Type.Array(Type.String(), { description: 'Only segments with one of these statuses.' })),
});
export const ChildChunkQuery = Type.Object({ ...paged, keyword: keyword('text') });
export const SingleDocumentQuery = Type.Object({
  metadata: optional.choice(metadataModes, '`all`, `only` or `without`: which fields are returned.', metadataModes[0]),
});
