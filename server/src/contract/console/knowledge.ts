import type { Static } from 'typebox';
import { inWorkspace, listParameters } from '../admin.ts';
import { ChildChunk } from '../child-chunk.ts';
import { limits } from '../limits.ts';
import { epochSeconds, id, integer, list, named, nullable, optional, shape, text, uuid } from '../primitives.ts';
import { Type } from '../type.ts';

const changed_at = nullable(
  epochSeconds(
    'Time of the last change of the record, or of a child chunk in it by a request that is still in the audit log; null if ' +
      'unknown.',
  ),
);
const changed_by = nullable(
  text(
    'Name of the key or person of the newest change of a child chunk that is still in the audit log; null without one.',
  ),
);
const word_count = integer('Number of words.');
const segment_count = integer('Number of its segments.');

export const DatasetListed = named('Dataset', 'A knowledge base.', {
  id: uuid('Knowledge base ID.'),
  ...inWorkspace,
  name: text('Name.'),
  document_count: integer('Number of its documents.'),
  segment_count,
  word_count,
  changed_at,
  changed_by,
});
export type DatasetListed = Static<typeof DatasetListed>;

export const DocumentListed = named('Document', 'A document of a knowledge base.', {
  id: uuid('Document ID.'),
  name: text('Name.'),
  segment_count,
  word_count,
  changed_at,
  changed_by,
});
export type DocumentListed = Static<typeof DocumentListed>;

export const segmentPlace = {
  dataset_id: id('Knowledge base ID.'),
  dataset_name: text('Name of the knowledge base.'),
  document_id: id('Document ID.'),
  document_name: text('Name of the document.'),
  segment_id: id('Segment ID.'),
  segment_position: integer('Position of the segment in the document.'),
};

const period = `the last ${limits.citedDays} days`;
const cited = {
  cited: integer(`Answers of ${period} that cite it, as far as the search has indexed them.`),
  disliked: integer('Those of them that were disliked.'),
};
export const DatasetCited = named('DatasetCited', 'A knowledge base, with the answers that cite it.', {
  ...DatasetListed.properties,
  ...cited,
});
export type DatasetCited = Static<typeof DatasetCited>;
export const DocumentCited = named('DocumentCited', 'A document, with the answers that cite it.', {
  ...DocumentListed.properties,
  ...cited,
});
export type DocumentCited = Static<typeof DocumentCited>;

export const KnowledgeListQuery = Type.Object({
  ...listParameters,
  sort: optional.choice(
    ['name', '-disliked'],
    'By name, or one page of those with disliked answers, most of them first.',
    'name',
  ),
});
export type KnowledgeListQuery = Static<typeof KnowledgeListQuery>;

export const WorstTexts = named('WorstTexts', 'The texts that most disliked answers cite.', {
  from: epochSeconds(`Start of ${period}: midnight UTC.`),
  disliked: integer('All disliked answers since then, as far as the search has indexed them.'),
  citing: integer('Those of them that cite at least one of these texts.'),
  data: list(
    shape({
      ...segmentPlace,
      text: text(`Beginning of its text: up to ${limits.listedTextCharsMax} characters.`),
      disliked: integer(`Disliked answers of ${period} that cite it.`),
    }),
    `The ${limits.worstTexts} segments that most of the disliked answers cite, the worst first.`,
  ),
});
export type WorstTexts = Static<typeof WorstTexts>;

const neighbour = (description: string) =>
  nullable(shape({ id: uuid('Document ID.'), name: text('Name.') }, { description }));

export const DocumentShown = named('DocumentShown', 'A document, with its neighbours in the list.', {
  ...DocumentListed.properties,
  previous: neighbour('The document before it in the list; null for the first.'),
  next: neighbour('The document after it in the list; null for the last.'),
});
export type DocumentShown = Static<typeof DocumentShown>;

export const SegmentListed = named('Segment', 'A parent chunk of a document.', {
  id: uuid('Parent chunk ID.'),
  position: integer('Position in the document.'),
  content: text('Text.'),
  word_count,
  child_chunk_count: integer('Number of its child chunks.'),
});
export type SegmentListed = Static<typeof SegmentListed>;

export const SegmentWithChunks = named('SegmentWithChunks', 'A parent chunk of a document.', {
  ...SegmentListed.properties,
  child_chunks: Type.Optional(
    nullable(
      list(
        ChildChunk,
        'With `include=child_chunks`: its child chunks, by position; null if those of the page are too many for one response.',
      ),
    ),
  ),
});
export type SegmentWithChunks = Static<typeof SegmentWithChunks>;

export const SegmentQuery = Type.Object({
  ...listParameters,
  include: optional.choice(['child_chunks'], 'What the rows also have.'),
  order: optional.choice(['asc', 'desc'], 'Order of the positions. Default: `asc`.'),
  start_id: optional.text('The segment with which the first page starts.'),
});
export type SegmentQuery = Static<typeof SegmentQuery>;

export const RevisionListed = named('ChildChunkRevision', 'A replaced text of a child chunk.', {
  revision: integer('Number of the revision.'),
  content: text('Replaced text.'),
  replaced_at: epochSeconds('Time of the replacement.'),
  key_id: nullable(id('Key that replaced it; null for an import or a person.')),
  key_name: nullable(text('Name of that key; null without a key.')),
  person_id: nullable(id('Person who replaced it; null for an import or a key.')),
  person_name: nullable(text('Name of that person; null without a person.')),
  review_message_id: nullable(id('Message in whose review it was replaced; null for other changes.')),
});
export type RevisionListed = Static<typeof RevisionListed>;
