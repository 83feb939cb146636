import type { ConversationListed, ConversationSummary, MessageDetails } from '../../contract/console/activity.ts';
import type { UserListed, UserOrder } from '../../contract/console/users.ts';
import type { ListRange, ListRows } from './admin-reads.ts';
import type { Selection } from './selection.ts';

/** Days are counted from 1970-01-01; both are included. */
export type DayRange = { first: number; last: number };
/** An undefined app means all apps. */
export type DaySelection = DayRange & { app_id: string | undefined };

/** Totals of messages. The price is in billionths. */
export type UsageSum = {
  currency: string;
  messages: number;
  tokens: number;
  price_nanos: number;
  liked: number;
  disliked: number;
  failed: number;
};
export type DaySum = UsageSum & { day: number };
export type AppSum = UsageSum & { app_id: string; app_name: string };
/** The sum over all currencies; `currency` is '' if there are none or several. */
export type UserSum = UsageSum & { user: string };
/** Empty texts: the model is not known. */
export type ModelSum = UsageSum & { model_provider: string; model: string };
/**
 * Sums by day and currency, of two periods, by app and currency, and by model and currency; different users, also on each
 * day of the period; those with the most messages.
 */
export type PeriodSums = {
  days: DaySum[];
  apps: AppSum[];
  models: ModelSum[];
  users: number;
  usersByDay: ReadonlyMap<number, number>;
  usersBefore: number;
  top: UserSum[];
};

/** Conversations and usage of apps, for the console. Ids are canonical; callers check that the app exists. */
/** What a message has beside its fields. */
export type StoredDetails = Omit<MessageDetails, 'trace_url'> & { trace_id: string | null };

export interface ActivityReads {
  findConversation(app_id: string, id: string): Promise<ConversationListed | undefined>;
  /**
   * Conversations: latest update first, then by id, descending. The sort key is updated_at and id. The period of the
   * selection is that of updated_at. `ids`: only those of these conversations that exist and are not deleted.
   */
  listSummaries(
    selection: Selection,
    ids: readonly string[] | undefined,
    range: ListRange,
  ): Promise<ListRows<ConversationSummary>>;
  /**
   * The id of the message that is this many messages newer than another, or than the beginning of the conversation; null if
   * there are not so many. Undefined if the conversation or the other message does not exist.
   */
  findNewer(
    app_id: string,
    conversation_id: string,
    message_id: string | undefined,
    distance: number,
  ): Promise<string | null | undefined>;
  /** Of these messages of a conversation that is not deleted. */
  listDetails(app_id: string, conversation_id: string, message_ids: readonly string[]): Promise<StoredDetails[]>;
  /** Sums of a period; days and users also of the one before. Days and apps without messages are left out. */
  sumPeriod(selection: DaySelection, before: DayRange, signal: AbortSignal): Promise<PeriodSums>;
}

/** `app_id`: undefined for all apps. `q`: part of the name. The sort key is the value of the order, then a text. */
export type UserSelection = { app_id: string | undefined; q: string | undefined; order: UserOrder };
export type UserKey = readonly [value: string | number, user_key: string];
/** `next` is the key after which the list continues; undefined at its end. */
export type UserRows = { rows: UserListed[]; next: UserKey | undefined };

/** Totals of end users, which follow their conversations. */
export interface Users {
  /** With `q` only a part of the list is compared: rows may be fewer than requested, even none, although more follow. */
  list(selection: UserSelection, range: ListRange): Promise<UserRows>;
}
