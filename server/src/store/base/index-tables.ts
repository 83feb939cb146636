import type { ModelFields } from '../../domain/records/usage.ts';
import type { ChunkKind, IndexChange } from '../../domain/store/search-reads.ts';
import type { IndexedMessage } from '../../domain/words/search-document.ts';
import type { Write } from './statement.ts';

export type MessageKey = { conversation_id: string; id: string };
export type ChunkChange = Extract<IndexChange, { kind: ChunkKind }>;
/** `content` is undefined if the chunk is gone. */
export type FoundChunk = ChunkChange & { content: string | undefined };

/** A message that has to be indexed, or removed from the index. */
export type FoundMessage = MessageKey & {
  /** Of its entry, if it has one. */
  position: number | null;
  created_at: number | null;
  cited: string | null;
  /** It was erased, or its conversation was deleted. */
  isGone: boolean;
  /** Undefined if it is not needed. */
  indexed: IndexedMessage | undefined;
};
/** A message `m` with its conversation `c`, and its entry `s` if there is one. The text is null if it is large. */
export type MessageRow = ModelFields & {
  text: string | null;
  app_id: string;
  user: string | null;
  deleted: number;
  position: number | null;
  created_at: number | null;
  cited: string | null;
};
export const rowColumns = 'm.model_provider, m.model, c.app_id, c."user", c.deleted, s.position, s.created_at, s.cited';

export type PlacedMessage = MessageKey & { position: number; indexed: IndexedMessage };

/** The part of the index in which the engines differ: its tokens. */
export type IndexTables = {
  empty: readonly string[];
  /** This many changes are looked up at once. */
  findMax: number;
  /** Those of these messages whose entries are not up to date. Their texts do not change until the end of the transaction. */
  find(keys: readonly MessageKey[]): Write<FoundMessage[]>;
  /** Removes entries that are not to be written again, or that must be removed first. */
  remove(messages: readonly FoundMessage[]): Write<void>;
  add(messages: readonly PlacedMessage[]): Write<void>;
  /** Each chunk is in the list once, as in the change feed. `nextPosition`: for a new entry. */
  putChunks(chunks: readonly FoundChunk[], nextPosition: () => Write<number>): Write<void>;
  /**
   * To be run before messages are erased, all of these conversations or one, on an engine that needs their texts to remove
   * their tokens.
   */
  removeTokens?(conversation_ids: readonly string[], message_id?: string): Write<void>;
};
