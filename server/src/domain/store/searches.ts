import type { WorstTexts } from '../../contract/console/knowledge.ts';
import type { KnowledgeHit, SearchCounts, SearchFilters, SearchHit } from '../../contract/console/search.ts';
import type { FoundMessage } from '../../contract/conversation.ts';
import type { KnowledgeScope } from './knowledge-reads.ts';
import type { IndexState } from './search-reads.ts';

type Filters = Omit<SearchFilters, 'in' | 'min_cost' | 'min_latency'> & { min_cost: number; min_latency: number };
/** Conditions of a message search. Ids are canonical, `now` and times are in seconds. */
export type MessageSearch = { [Name in keyof Filters]?: Filters[Name] | undefined } & { now: number };

export type OwnSearch = MessageSearch & { app_id: string; user: string };
export type OwnCursor = { second: number; conversation_id: string; message_id: string };

/** `before`: a position of the index; undefined for the newest. */
type Range = { before: number | undefined; limit: number };

/** `next` is the position after which the next page starts; undefined if this is the last one. */
export type FoundPart<Hit, Position = number> = { hits: Hit[]; next: Position | undefined };

export type MessageCounts = { -readonly [Name in Exclude<keyof SearchCounts, 'is_building'>]: SearchCounts[Name] };

/** The searches by name, each with its input and result. `domain/search/search.ts` implements them. */
export type Searches = {
  /** `isGrouped`: one hit of each conversation. `isBestFirst`: the best matches, on one page. */
  searchMessages: [Range & { search: MessageSearch; isGrouped: boolean; isBestFirst: boolean }, FoundPart<SearchHit>];
  countMessages: [{ search: MessageSearch }, MessageCounts];
  searchKnowledge: [Range & { q: string | undefined; scope?: KnowledgeScope | undefined }, FoundPart<KnowledgeHit>];
  /** `since` is a day. */
  findWorstTexts: [{ since: number }, WorstTexts];
  searchOwnMessages: [
    { search: OwnSearch; cursor: OwnCursor | undefined; limit: number },
    FoundPart<FoundMessage, OwnCursor>,
  ];
};
export type SearchName = keyof Searches;
export type SearchInput<N extends SearchName> = Searches[N][0];
export type SearchResult<N extends SearchName> = Searches[N][1];

/** The index of messages and of knowledge bases. */
export interface SearchStore {
  state(): Promise<IndexState>;
  /** The time of the first change after a position of the change feed; null if there is none. */
  timeAfter(position: number): Promise<number | null>;
  /** Runs a search where it holds up no other request. It ends when `signal` aborts. */
  run<N extends SearchName>(name: N, input: SearchInput<N>, signal: AbortSignal): Promise<SearchResult<N>>;

  /** The number of records in the index. */
  count(): Promise<number>;

  /** Makes the index empty, to be built again from the start of the feed. */
  reset(rules: string): Promise<void>;
}
