import type { AppDetails } from '../../contract/app.ts';
import type { ConversationOrder } from '../../contract/conversation.ts';
import type { ModelType } from '../../contract/model.ts';
import type { Listed } from '../large-text.ts';

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

/** What an entry of a list has in addition to its row. */
export type ConversationKey = Pick<ConversationRow, 'id' | 'created_at' | 'updated_at'>;
export type ConversationRows = { items: readonly (Listed<ConversationRow> & ConversationKey)[]; has_more: boolean };

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

/** Feedback of a message. `doc` is the JSON text of the message. */
export type FeedbackEntry = {
  conversation_id: string;
  message_id: string;
  doc: string;
  content: string | null;
  at: number;
  user: string | null;
};

/** Operations of app keys in addition to messages. Ids are canonical, and no text contains NUL. */
export interface AppStore {
  /** Undefined if the app does not exist. */
  findDetails(app_id: string): Promise<AppDetails | undefined>;
  /** Undefined if the page starts after the current position of a conversation that is not in the list. */
  listConversations(query: ConversationQuery): Promise<ConversationRows | undefined>;
  /** Feedback of conversations that are not deleted: newest first, then by message id, descending. */
  listFeedback(app_id: string, offset: number, count: number): Promise<Listed<FeedbackEntry>[]>;
  /** JSON texts of provider entries, in the order in which the providers were recorded. */
  listModelEntries(workspace_id: string, model_type: ModelType): Promise<Listed<string>[]>;
}
