import type { KeptMessage, StoredUsage } from '../../domain/records/prepared-record.ts';
import type { Usage } from '../../domain/records/usage.ts';
import type { SpooledOf } from './spooled-record.ts';
import type { Scalar, Statement, Value, Write } from './statement.ts';

/** New messages of one conversation: the time of the newest, the oldest, and whether one is large. */
export type NewMessages = { newest: number; oldest: SpooledOf<'message'>; hasLarge: 0 | 1 };
/** `first_message_at` is the time of its first message, new or stored. */
export type OpenedConversation = {
  conversation_id: string;
  app_id: string;
  first_sequence: number;
  first_message_at: number;
};
/** A message that is being written. `mayExist`: its conversation already has messages. */
export type WrittenMessage = { message: SpooledOf<'message'>; app_id: string; sequence: number; mayExist: boolean };
export type StoredMessage = StoredUsage & KeptMessage & { conversation_id: string; id: string };

/** Bulk writes of messages: the fastest way differs between engines. */
export type MessageTables = {
  /**
   * Locks conversations, sets a new version and what they store about their first and newest messages, and reserves `count`
   * sequences in each. `added`: their new messages, sorted by conversation.
   */
  open(added: ReadonlyMap<string, NewMessages>, count: number): Write<OpenedConversation[]>;
  /** The stored versions of these messages. The engine may insert the other ones already. */
  findStored(messages: readonly WrittenMessage[]): Write<StoredMessage[]>;
  /** Replaces the stored ones, which leave the index of the search, and inserts the other ones. */
  write(messages: readonly WrittenMessage[], stored: readonly StoredMessage[]): Write<void>;
  /** Recomputes what conversations store about their first and newest messages. */
  updateActivity(conversation_ids: readonly string[]): Write<void>;
};

export const messageColumns = {
  conversation_id: 'text',
  created_at: 'bigint',
  sequence: 'bigint',
  id: 'text',
  doc: 'text',
  feedback_content: 'text',
  rated_at: 'bigint',
  model_provider: 'text',
  model: 'text',
  trace_id: 'text',
  items: 'text',
  feedback_at: 'bigint',
  review_state: 'text',
  listed_app_id: 'text',
} as const;

/** In the order of `messageColumns`. */
export function messageValues(written: WrittenMessage, doc: string | Uint8Array): Scalar[] {
  const { message, sequence } = written;
  const { conversation_id, created_at, id } = message;
  return [conversation_id, created_at, sequence, id, doc, ...valuesAfterText(written)];
}

export const itemsText = (items: readonly object[]): string | null =>
  items.length === 0 ? null : JSON.stringify(items);

/** In the order of the columns after `doc`. */
export function valuesAfterText(written: WrittenMessage): Scalar[] {
  const { feedback_content, rated_at, model_provider, model, trace_id, items } = written.message;
  return [feedback_content, rated_at, model_provider, model, trace_id, itemsText(items), ...listedValues(written)];
}

/** The state of a message without a review: if it was disliked, or if its generation failed, it needs one. */
export const unreviewed = ({ disliked, failed }: Pick<Usage, 'disliked' | 'failed'>): 'new' | null =>
  disliked + failed > 0 ? 'new' : null;

/** The state of a stored message that gets the state `given` unless it has a review. */
export const stateOrGiven = (given: string): string =>
  `CASE WHEN COALESCE(messages.review_state, 'new') = 'new' THEN ${given} ELSE messages.review_state END`;

/** The columns of the lists of an app's feedback and of reviews. A message with a review keeps its state and app. */
function listedValues({ message: { usage, rated_at, created_at }, app_id }: WrittenMessage): Scalar[] {
  const feedback_at = usage.liked + usage.disliked === 0 ? null : (rated_at ?? created_at);
  const state = unreviewed(usage);
  return [feedback_at, state, feedback_at === null && state === null ? null : app_id];
}

type AddedName = 'newest' | 'has_large_messages' | 'created_at' | 'derived_name' | 'derived_inputs';
export const addedTypes: Record<AddedName, 'BIGINT' | 'TEXT'> = {
  newest: 'BIGINT',
  has_large_messages: 'BIGINT',
  created_at: 'BIGINT',
  derived_name: 'TEXT',
  derived_inputs: 'TEXT',
};

export function addedValues({ newest, oldest, hasLarge }: NewMessages): Record<AddedName, string | number | null> {
  const { created_at, derived_name, derived_inputs } = oldest;
  return { newest, has_large_messages: hasLarge, created_at, derived_name, derived_inputs };
}

/**
 * The columns of a conversation for its first and newest messages after new ones were added. `value` returns expressions. If a
 * stored message is replaced, `updateActivity` corrects this.
 */
export function addedMessages(value: (name: AddedName) => string): string {
  const later = (column: string, condition = '') =>
    `${column} = CASE WHEN ${condition} ${column} < ${value('newest')} THEN ${value('newest')} ELSE ${column} END`;
  const ofFirst = (column: string, name: AddedName) => `
    ${column} = CASE WHEN first_message_at IS NULL OR ${value('created_at')} < first_message_at
      THEN ${value(name)} ELSE ${column} END`;
  return [
    later('last_message_at', 'first_message_at IS NULL OR'),
    later('updated_at'),
    `has_large_messages = CASE WHEN ${value('has_large_messages')} = 1 THEN 1 ELSE has_large_messages END`,
    ofFirst('first_message_at', 'created_at'),
    ofFirst('derived_name', 'derived_name'),
    ofFirst('derived_inputs', 'derived_inputs'),
  ].join(', ');
}

const openOrder: AddedName[] = [];
/** See `MessageTables`. Parameters: see `openValues`. */
export const openConversation: Statement<OpenedConversation> = `
  UPDATE conversations SET next_sequence = next_sequence + CAST(? AS BIGINT), version = ?, ${addedMessages((name) => {
    openOrder.push(name);
    return `CAST(? AS ${addedTypes[name]})`;
  })}
  WHERE conversation_id = ?/*@*/
  RETURNING conversation_id, app_id, next_sequence - CAST(? AS BIGINT) AS first_sequence, first_message_at`;

export function openValues(id: string, added: NewMessages, count: number, version: string): Value[] {
  const values = addedValues(added);
  return [count, version, ...openOrder.map((name) => values[name]), id, count];
}
