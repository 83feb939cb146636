import type { KnowledgeHit } from '../../contract/console/search.ts';
import type { QueryToken } from '../words/tokens.ts';
import type { KnowledgeScope } from './knowledge-reads.ts';
import type { ReadBudget } from './read-budget.ts';

/** Tokens that an entry must have: at least one of each list. */
export type IndexQuery = {
  tokens: readonly (readonly QueryToken[])[];
  conversation_id?: string | undefined;
  /** Only chunks of these knowledge bases. */
  scope?: KnowledgeScope | undefined;
  min_cost?: number | undefined;
  min_latency?: number | undefined;
  /** Only messages with a form that expires after this time in seconds. */
  waits_after?: number | undefined;
  /** Only messages from this time in seconds on, and before that one. */
  created_from?: number | undefined;
  created_to?: number | undefined;
  /** Positions: the first one, and the end. */
  from?: number | undefined;
  to?: number | undefined;
};

export type IndexHit = { position: number; conversation_id: string; id: string };
/** The stored text of a hit. `text` is null if it has more than `limits.joinedDocBytesMax`. */
type HitText = { text: string | null; bytes: number };
export type MessageHit = HitText & {
  app_id: string;
  user: string | null;
  created_at: number;
  /** At most `limits.listedTextCharsMax` characters. */
  feedback_content: string | null;
  /** Times of the first and the last message of the conversation. */
  first: number;
  last: number;
};
/** `isPartial`: there may be more. */
export type Count = { count: number; isPartial: boolean };

/**
 * How many hits a part of the index should have. `slow`: if a statement reads all rows of many words, no matter how many it
 * returns.
 */
export type HitCount = { usual: number; slow: number };

/**
 * Newest first. `isLast`: there are no more. `end`: the budget was spent, and positions before this one were not searched.
 */
export type IndexPart<Hit> = { hits: Hit[]; isLast: boolean; end: number | undefined };

export type ChunkKind = 'segment' | 'child_chunk';
export type ChunkIndexHit = { position: number; dataset_id: string; kind: ChunkKind; id: string };
export type ChunkHit = HitText & Omit<KnowledgeHit, 'snippet' | 'ranges'>;

/** The cursor after the changes that were indexed, and how long that took, without the wait for the writes of others. */
export type AppliedChanges = { cursor: string; millis: number };

/** A change that the indexer has read. `cursor` is the place after it. */
export type IndexChange = { cursor: string } & (
  | { kind: 'message'; conversation_id: string; id: string }
  | { kind: 'conversation'; id: string }
  | { kind: ChunkKind; dataset_id: string; id: string }
  | { kind: 'none' }
);

/** Position of the indexer in the change feed; '' at the start. `rules`: of the tokens in the index. */
export type IndexState = { cursor: string; rules: string };

export type CitedSegment = { dataset_id: string; segment_id: string; disliked: number };

/** Reads of a search. Lists are in the order of the hits; undefined for hits that do not exist or were deleted. */
export interface SearchReads {
  findMessages(query: IndexQuery, count: HitCount, budget: ReadBudget): Promise<IndexPart<IndexHit>>;
  /** Counts as far as `max`. */
  countMessages(query: IndexQuery, max: number, budget: ReadBudget): Promise<Count>;
  readMessages(hits: readonly IndexHit[]): Promise<(MessageHit | undefined)[]>;
  /** The text, whatever its size. */
  readMessage(hit: IndexHit): Promise<string | undefined>;
  /** The segments that most of the disliked answers of these days cite, and the number of all disliked answers. */
  findWorst(since: number, count: number): Promise<{ disliked: number; rows: CitedSegment[] }>;
  findChunks(query: IndexQuery, count: HitCount, budget: ReadBudget): Promise<IndexPart<ChunkIndexHit>>;
  readChunks(hits: readonly ChunkIndexHit[]): Promise<(ChunkHit | undefined)[]>;
  readChunk(hit: ChunkIndexHit): Promise<string | undefined>;
}
