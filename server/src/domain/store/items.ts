import type { Item } from '../records/items.ts';
import type { StoredTurn } from '../records/turns.ts';
import type { ConversationScope } from './app-store.ts';

/** A conversation of an app; with `user`, of that user. */
export type ItemScope = ConversationScope & { conversation_id: string };
/** Who writes, and when, in seconds. */
export type ItemAuthor = { key_id: string; now: number };

/** `inputs` is a JSON text. */
export type ItemConversation = { id: string; created_at: number; user: string | null; inputs: string | null };

export type ItemOrder = 'asc' | 'desc';
/** The place of a message in the order of its conversation. */
export type TurnPosition = { id: string; created_at: number; sequence: number };
export type TurnStart = Pick<TurnPosition, 'created_at' | 'sequence'> & { isIncluded: boolean };

export interface ItemReads {
  /** `bytes`: the size of `inputs`, which are null if they are large, unless all are read. */
  findConversation(scope: ItemScope, texts?: 'all'): Promise<(ItemConversation & { bytes: number }) | undefined>;
  /** The next messages in this order. `bytes`: the size of their texts. */
  listTurns(
    conversation_id: string,
    order: ItemOrder,
    start: TurnStart | undefined,
    count: number,
  ): Promise<(TurnPosition & { bytes: number })[]>;
  /** `turn` is undefined if its texts are large. */
  findTurn(
    conversation_id: string,
    id: string,
  ): Promise<{ bytes: number; turn: (StoredTurn & TurnPosition) | undefined } | undefined>;
  /** Those that exist, in any order. */
  readTurns(conversation_id: string, ids: readonly string[]): Promise<(StoredTurn & TurnPosition)[]>;
  /** Messages whose items may have this id of a client, the newest first. */
  findAlias(conversation_id: string, alias: string): Promise<string[]>;
}

/**
 * Items that are added to a conversation. `digest`: equal for the same request by the same key. `created`: the conversation is new,
 * with these inputs.
 */
export type ItemAppend = {
  scope: ItemScope;
  author: ItemAuthor;
  items: readonly Item[];
  digest: string;
  /** Names the request, for a client that says so: the same request is done once. */
  idempotency_key: string | undefined;
  /** The client may have sent the same request before. */
  isRetry: boolean;
  created?: { inputs: Readonly<Record<string, string>> | null };
};

/** The ids of the items. `different`: the idempotency key was used for another request. */
export type ItemAppendOutcome = { ids: string[] } | 'missing' | 'different';

export type ItemDeletion = { scope: ItemScope; author: ItemAuthor; message_id: string; index: number };
/** `inputs`: the texts that replace those of the conversation. */
export type MetadataChange = { scope: ItemScope; author: ItemAuthor; metadata: Readonly<Record<string, string>> };
