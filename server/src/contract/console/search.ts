import type { Static } from 'typebox';
import { listParameters, periodFilters } from '../admin.ts';
import { limits } from '../limits.ts';
import { decimal, epochSeconds, flag, id, integer, named, nullable, number, optional, text } from '../primitives.ts';
import { Type } from '../type.ts';
import { segmentPlace } from './knowledge.ts';

const ranges = Type.Unsafe<[number, number][]>({
  type: 'array',
  items: { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 },
  description: 'Matches in the snippet: start and end, in UTF-16 units.',
});
const snippet = text(
  'Part of the text around the first match; without one, its beginning. Of a message without `q`: of its answer.',
);

export const SearchHit = named('SearchHit', 'A message.', {
  app_id: id('App ID.'),
  conversation_id: id('Conversation ID.'),
  message_id: id('Message ID.'),
  created_at: epochSeconds('Creation time of the message.'),
  user: nullable(text('End user of the conversation.')),
  latency: number('double', 'Seconds that the answer took: its provider_response_latency.'),
  snippet,
  ranges,
  feedback_content: nullable(text(`Text of the feedback; at most the first ${limits.listedTextCharsMax} characters.`)),
  hit_count: nullable(
    integer(
      'With `group=conversation`: number of hits in the conversation; null for phrases, and if there are very many hits ' +
        'in its time.',
    ),
  ),
});
export type SearchHit = Static<typeof SearchHit>;

export const KnowledgeHit = named('KnowledgeHit', 'A segment or child chunk.', {
  ...segmentPlace,
  child_chunk_id: nullable(id('Child chunk ID; null if the segment itself is meant.')),
  child_chunk_position: nullable(integer('Position of the child chunk in the segment; null without a child chunk.')),
  snippet,
  ranges,
});
export type KnowledgeHit = Static<typeof KnowledgeHit>;

/** Hits of `in=knowledge` or of messages. */
export const AnyHit = Type.Unsafe<SearchHit | KnowledgeHit>({ anyOf: [SearchHit, KnowledgeHit] });

const hasValues = ['files', 'form', 'waiting_form', 'citations', 'bad_answer'] as const;

const filters = {
  q: optional.text(
    'Words that must all occur, the last one as the beginning of a word; `"…"` is a phrase. Case and accents are ignored. ' +
      'Parts of user names and IDs match too. `user-17` finds texts that join these words, or if there are none, texts that ' +
      'have them in sequence. Absent: everything.',
    { maxLength: limits.searchUnitsMax },
  ),
  in: optional.choice(
    ['messages', 'knowledge'],
    'What to search: messages, or segments and child chunks. With `knowledge`, only `q` and `dataset_id` are allowed.',
    'messages',
  ),
  dataset_id: optional.text('Only this knowledge base; of messages, only those that cite it.'),
  app_id: optional.text('Only this app.'),
  conversation_id: optional.text('Only this conversation.'),
  user: optional.text('Only conversations of this end user; the exact name.'),
  rating: optional.choice(['like', 'dislike'], 'Only messages with this feedback.'),
  status: optional.choice(['normal', 'error'], 'Only messages with this status.'),
  has: Type.Optional(
    Type.Array(Type.Unsafe<(typeof hasValues)[number]>({ type: 'string', enum: hasValues }), {
      description:
        'Only messages with files, with a form, with a form that waits for its submission and has not expired, with ' +
        'citations, or with a bad answer: one that was disliked or whose generation failed. Repeat it for several.',
    }),
  ),
  ...periodFilters('creation time'),
  min_cost: Type.Optional(decimal('Only messages whose total_price is at least this, in any currency.')),
  min_latency: Type.Optional(decimal('Only messages whose provider_response_latency in seconds is at least this.')),
  document_id: optional.text('Only messages that cite this document.'),
  segment_id: optional.text('Only messages that cite this segment.'),
  model_provider: optional.text('Only messages that a model of this provider answered.'),
  model: optional.text('Only messages that this model answered; the exact name.'),
};

export const SearchQuery = Type.Object({
  ...filters,
  group: optional.choice(
    ['none', 'conversation'],
    'With `conversation`: one row for each conversation, its first hit in the order.',
    'none',
  ),
  order: optional.choice(
    ['newest', 'best'],
    `With \`best\`: one page with the best matches of the newest ${limits.searchRankedMax}. A word counts most in the question, ` +
      'then in the answer, and least in code and all other texts.',
    'newest',
  ),
  ...listParameters,
});
export type SearchQuery = Static<typeof SearchQuery>;
export const SearchCountsQuery = Type.Object(filters);
export type SearchFilters = Static<typeof SearchCountsQuery>;

const found = (what: string) => integer(`Messages ${what}; \`max\` means this many or more.`);

export const SearchCounts = named('SearchCounts', 'Numbers of search results.', {
  max: integer('Counts stop at this number.'),
  all: found('with these filters'),
  disliked: found('with these filters that were disliked'),
  failed: found('with these filters whose generation failed'),
  files: found('with these filters that have files'),
  waiting_form: found('with these filters that have a form waiting for its submission'),
  citations: found('with these filters that have citations'),
  bad_answer: found('with these filters that were disliked or whose generation failed'),
  is_partial: flag('Whether counts may be too low: too many messages have the words of a phrase, but not in sequence.'),
  suggestion: nullable(
    text('If nothing is found: `q` with one word replaced by a similar one that messages have; null if there is none.'),
  ),
  is_building: flag('Whether the index is being built from all records: then results are incomplete.'),
});
export type SearchCounts = Static<typeof SearchCounts>;
