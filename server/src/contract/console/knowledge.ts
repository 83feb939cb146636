import type { Static } from 'typebox';
import { inWorkspace, listParameters } from '../admin.ts';
import { ChildChunk } from '../child-chunk.ts';
import { epochSeconds, id, integer, list, nullable, optional, shape, text, uuid } from '../primitives.ts';
import { Type } from '../type.ts';

const changed_at = nullable(
  epochSeconds(
    'Time of the last change of the record, or of a child chunk in it by a request that is still in the audit log; null if ' +
      'unknown.',
  ),
);
const word_count = integer('Number of words.');

export const DatasetListed = shape(
  {
    id: uuid('Knowledge base ID.'),
    ...inWorkspace,
    name: text('Name.'),
    document_count: integer('Number of its documents.'),
    word_count,
    changed_at,
  },
  { title: 'Dataset', description: 'A knowledge base.' },
);
export type DatasetListed = Static<typeof DatasetListed>;

export const DocumentListed = shape(
  {
    id: uuid('Document ID.'),
    name: text('Name.'),
    segment_count: integer('Number of its segments.'),
    word_count,
    changed_at,
  },
  { title: 'Document', description: 'A document of a knowledge base.' },
);
export type DocumentListed = Static<typeof DocumentListed>;

const neighbour = (description: string) =>
  nullable(shape({ id: uuid('Document ID.'), name: text('Name.') }, { description }));

export const DocumentShown = shape(
  {
    ...DocumentListed.properties,
    previous: neighbour('The document before it in the list; null for the first.'),
    next: neighbour('The document after it in the list; null for the last.'),
  },
  { title: 'DocumentShown', description: 'A document of a knowledge base, with its neighbours in the list.' },
);
export type DocumentShown = Static<typeof DocumentShown>;

export const SegmentListed = shape(
  {
    id: uuid('Parent chunk ID.'),
    position: integer('Position in the document.'),
    content: text('Text.'),
    word_count,
    child_chunk_count: integer('Number of its child chunks.'),
  },
  { title: 'Segment', description: 'A parent chunk of a document.' },
);
export type SegmentListed = Static<typeof SegmentListed>;

export const SegmentWithChunks = shape(
  {
    ...SegmentListed.properties,
    child_chunks: Type.Optional(
      nullable(
        list(
          ChildChunk,
          'With `include=child_chunks`: its child chunks, by position; null if those of the page are too many for one response.',
        ),
      ),
    ),
  },
  { title: 'SegmentWithChunks', description: 'A parent chunk of a document.' },
);
export type SegmentWithChunks = Static<typeof SegmentWithChunks>;

export const SegmentQuery = Type.Object({
  ...listParameters,
  include: optional.choice(['child_chunks'], 'What the rows also have.'),
  order: optional.choice(['asc', 'desc'], 'Order of the positions. Default: `asc`.'),
  start_id: optional.text('The segment with which the first page starts.'),
});
export type SegmentQuery = Static<typeof SegmentQuery>;

export const RevisionListed = shape(
  {
    revision: integer('Number of the revision.'),
    content: text('Replaced text.'),
    replaced_at: epochSeconds('Time of the replacement.'),
    key_id: nullable(id('Key that replaced it; null for an import or a person.')),
    key_name: nullable(text('Name of that key; null without a key.')),
    person_id: nullable(id('Person who replaced it; null for an import or a key.')),
    person_name: nullable(text('Name of that person; null without a person.')),
  },
  { title: 'ChildChunkRevision' },
);
export type RevisionListed = Static<typeof RevisionListed>;
