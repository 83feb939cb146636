import type { ConversationListed, UsageListed } from '../contract/activity.ts';
import type { ListPlace } from './admin-reads.ts';

/** `since` counts days from 1970-01-01. */
export type UsageSelection = { since: number; app_id: string | undefined };

/** Conversations and usage of apps, for the console. Ids are canonical; callers check that the app exists. */
export interface ActivityReads {
  /** Latest message first, then by id, descending. Sorted by last_message_at, 0 for none, and id. */
  listConversations(app_id: string, place: ListPlace): Promise<ConversationListed[]>;
  /**
   * The conversation with that id, then those of users that begin with the text: by user, then as `listConversations`.
   * Sorted by 0 for the first or 1, the beginning of the user, last_message_at and id.
   */
  searchConversations(app_id: string, search: string, place: ListPlace): Promise<ConversationListed[]>;
  findConversation(app_id: string, id: string): Promise<ConversationListed | undefined>;
  /** Newest day first, then by app and currency. Sorted by day, app_id and currency. */
  listUsage(selection: UsageSelection, place: ListPlace): Promise<UsageListed[]>;
}
