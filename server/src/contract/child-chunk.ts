import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { described, epochSeconds, integer, named, text, uuid } from './primitives.ts';
import { noNul, notBlank } from './rules.ts';
import { Type } from './type.ts';

export const ChildChunk = named('ChildChunk', 'A child chunk.', {
  id: text('Child chunk ID.'),
  segment_id: text('Parent chunk ID.'),
  content: text('Child chunk text.'),
  position: integer('Position.'),
  word_count: integer('Word count.'),
  type: text('Type of child chunk: `automatic` after splitting, `customized` after an edit.'),
  created_at: epochSeconds('Creation time.'),
  updated_at: epochSeconds('Time of the last change.'),
});

export type ChildChunk = Static<typeof ChildChunk>;

export const ChildChunkResponse = described('The child chunk.', { data: ChildChunk });

export const ChildChunkPath = Type.Object({
  dataset_id: Type.String({ description: 'Knowledge base ID.' }),
  document_id: Type.String({ description: 'Document ID.' }),
  segment_id: Type.String({ description: 'Parent chunk ID.' }),
  child_chunk_id: Type.String({ description: 'Child chunk ID.' }),
});

const { child_chunk_id: _, ...segmentPath } = ChildChunkPath.properties;
export const SegmentPath = Type.Object(segmentPath);
export type SegmentPath = Static<typeof SegmentPath>;

export type ChildChunkPath = Static<typeof ChildChunkPath>;

/** The domain also checks that the text is well-formed Unicode, which JSON Schema cannot express. */
export const ChildChunkEdit = Type.Object({
  content: Type.String({
    minLength: 1,
    maxLength: limits.childChunkUnitsMax,
    pattern: notBlank.source,
    allOf: [{ pattern: noNul.source }],
    description: 'The child chunk text: not blank, well-formed Unicode without NUL.',
  }),
});

export const ReviewedChunkEdit = Type.Object({
  ...ChildChunkEdit.properties,
  review_message_id: Type.Optional(uuid('The message in whose review the text is replaced: each shows the other.')),
});
export type ReviewedChunkEdit = Static<typeof ReviewedChunkEdit>;
