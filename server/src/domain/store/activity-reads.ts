import type { ConversationListed, ConversationSummary, MessageDetails } from '../../contract/console/activity.ts';
import type { UserListed, UserOrder } from '../../contract/console/users.ts';
import type { ListRange, ListRows } from './admin-reads.ts';
import type { Selection } from './selection.ts';

/** Days are counted from 1970-01-01; both are included. */
export type DayRange = { first: number; last: number };
/** An undefined app or user means all of them. */
export type DaySelection = DayRange & { app_id: string | undefined; user?: string | undefined };

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
/** `earlier`: 1 in the period before. Empty texts: the model is not known. */
export type RankedSum = UsageSum & {
  earlier: number;
  app_id: string;
  app_name: string;
  model_provider: string;
  model: string;
};
/** The sums of an app or a model, and the first of them. */
export type Ranked = { first: RankedSum; rows: readonly RankedSum[] };
/** The sum over all currencies; `currency` is '' if there are none or several. */
export type UserSum = UsageSum & { user: string };

/** What a plot has a bar for. A slot is one of them, counted from 1970-01-01. */
export type Step = 'day' | 'hour';
export type SeriesBy = 'app' | 'model';
/** Values of columns. */
export type Part = { app_id: string } | { model_provider: string; model: string };
/** `part`: its place in a list of parts, or the length of that list for all others. */
export type PartSum = UsageSum & { slot: number; part: number };
export type SlotUsers = { slot: number; users: number };

/** `parts`: of how many apps or models there are sums by slot. `running`: until which hour its last two days are added up, too. */
export type PeriodWanted = {
  selection: DaySelection;
  before: DayRange;
  step: Step;
  by: SeriesBy;
  parts: number;
  running: number | undefined;
};

/**
 * Of the period and the one before: sums by slot and part, and of each app and each model, those with the most messages first.
 * Of the period: different users, also of each slot; those with the most messages.
 */
export type PeriodSums = {
  slots: PartSum[];
  untilHour: (UsageSum & { day: number })[];
  apps: Ranked[];
  models: Ranked[];
  users: number;
  usersBySlot: ReadonlyMap<number, number>;
  usersBefore: number;
  top: UserSum[];
};

/** What a message has in addition to its fields. */
export type StoredDetails = Omit<MessageDetails, 'trace_url'> & { trace_id: string | null };

/** Conversations and usage of apps, for the console. Ids are canonical; callers check that the app exists. */
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
  /** Sums of a period and of the one before. Slots and apps without messages are left out. */
  sumPeriod(wanted: PeriodWanted, signal: AbortSignal): Promise<PeriodSums>;
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
  /** Of an app, or of all. */
  count(app_id: string | undefined): Promise<number>;
}
