import type { AppDetails } from '../../contract/app.ts';
import type { ConversationOrder } from '../../contract/conversation.ts';

/** Conversations of an app; with `user`, only those of that user. */
export type ConversationScope = { app_id: string; user: string | undefined };
/** Conversations that were created in a period: `created_after` is included, `created_before` is not. */
export type ListScope = ConversationScope & { created_after?: number | undefined; created_before?: number | undefined };

/**
 * Start of a page: after the conversation `id`, whose value in the order was `value` when an earlier page was read.
 * Without a value: after its current position.
 */
export type ConversationPosition = { id: string; value: number | undefined };

export type ConversationQuery = ListScope & {
  after: ConversationPosition | undefined;
  order: ConversationOrder;
  limit: number;
};

/** A conversation as lists show it. `inputs` is a JSON text. `name` and `inputs` are null if they cannot be derived either. */
export type ConversationRow = {
  id: string;
  name: string | null;
  inputs: string | null;
  introduction: string | null;
  created_at: number;
  updated_at: number;
};

/** The rows of a page, or `too_large` if the page must be streamed. */
export type FoundList<R> = { rows: R[]; has_more: boolean } | 'too_large';

/** A list that is too large for memory, in a snapshot that lasts until `close`. Its rows have null in large columns. */
export type OpenList<R> = {
  has_more: boolean;
  rows: readonly (R & { bytes: number })[];
  /** The same rows with all columns. */
  readRows(batch: readonly R[]): Promise<R[]>;
  close(): void;
};

/** Author and time of a change, in seconds. */
type Change = ConversationScope & { key_id: string; now: number };

/** A new name (null: derived from the first message), or a deletion. */
export type ConversationChange = Change & { conversation_id: string } & ({ name: string | null } | { deleted: true });

export type MessageRating = Change & {
  message_id: string;
  user: string;
  rating: 'like' | 'dislike' | null;
  content: string | null;
};

/** Feedback of a message. `feedback` is a JSON text. */
export type FeedbackEntry = {
  conversation_id: string;
  message_id: string;
  feedback: string;
  content: string | null;
  at: number;
  user: string | null;
};

/** Operations of app keys besides messages. Ids are canonical, and no text contains NUL. */
export interface AppStore {
  /** Undefined if the app does not exist. */
  findDetails(app_id: string): Promise<AppDetails | undefined>;
  /** Undefined if the page starts after the current position of a conversation that is not in the list. */
  listConversations(query: ConversationQuery): Promise<FoundList<ConversationRow> | undefined>;
  /** A list of any size. See `Store.openPage` for the limit and the signal. */
  openConversations(query: ConversationQuery, signal: AbortSignal): Promise<OpenList<ConversationRow> | undefined>;
  /** Feedback of conversations that are not deleted: newest first, then by message id, descending. */
  listFeedback(app_id: string, offset: number, count: number): Promise<FeedbackEntry[]>;
}
