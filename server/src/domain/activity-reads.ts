import type { ConversationListed, UsageListed } from '../contract/activity.ts';
import type { ListPlace } from './admin-reads.ts';

/** `since` counts days from 1970-01-01. */
export type UsageQuestion = { since: number; app_id: string | undefined };

/** What goes on in apps. Ids are as they are kept; the app is known to exist. */
export interface ActivityReads {
  /** Latest message first, then by id, descending. Sorted by last_message_at, 0 for none, and id. */
  listConversations(app_id: string, place: ListPlace): Promise<ConversationListed[]>;
  /**
   * The conversation of that id, then those of users whose name begins so: by user, then as above. Sorted by 0 for the first
   * or 1, the beginning of the user's name, last_message_at and id.
   */
  searchConversations(app_id: string, search: string, place: ListPlace): Promise<ConversationListed[]>;
  findConversation(app_id: string, id: string): Promise<ConversationListed | undefined>;
  /** Newest day first, then by app and currency: what it is sorted by. */
  listUsage(question: UsageQuestion, place: ListPlace): Promise<UsageListed[]>;
}
