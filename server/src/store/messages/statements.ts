import type { ConversationOrder } from '../../contract/conversation.ts';
import type { ModelFields } from '../../domain/records/usage.ts';
import type {
  ConversationChange,
  ConversationQuery,
  ConversationRow,
  FeedbackEntry,
  ListScope,
} from '../../domain/store/app-store.ts';
import { stateOrGiven } from '../base/message-tables.ts';
import { type Condition, inPeriod, isUser, split } from '../base/selection.ts';
import { firstOf, type Sized, type SizedColumns, sizedColumns } from '../base/sized.ts';
import type { Bound, Statement, Value } from '../base/statement.ts';

export const findDetails: Statement<{ name: string; mode: string; details: string | null }> =
  'SELECT name, mode, details FROM apps WHERE id = ?';

const columns: SizedColumns = {
  columns: ['c.conversation_id AS id, c.created_at, c.updated_at'],
  texts: {
    name: firstOf('c.name', 'c.derived_name'),
    inputs: firstOf('c.inputs', 'c.derived_inputs'),
    introduction: 'c.introduction',
  },
};

/** A condition that both indexes and distributed databases support, and its parameters. */
function inScope(table: string, { app_id, user, created_after, created_before }: ListScope): [string, ...Value[]] {
  const conditions: Condition[] = [
    [`${table}.app_id = ? AND ${table}.deleted = 0`, app_id],
    ...(user === undefined ? [] : [isUser(`${table}."user"`, user)]),
    ...inPeriod(`${table}.created_at`, { from: created_after, to: created_before }),
    // No conversation is updated before it is created: the end of a range in the order of updates.
    ...inPeriod(`${table}.updated_at`, { from: created_after }),
  ];
  const { texts, values } = split(conditions);
  return [texts.join(' AND '), ...values];
}

const columnOf = (order: ConversationOrder): string => order.replace('-', '');

/**
 * A page of conversations, and one more, to detect whether others follow. Each has its `bytes`, the length of its texts. One
 * range of an index, in either direction. On a distributed database it is read from every shard,
 * since conversations of an app are on all of them. If the position has no value, the statement finds it; the page is empty
 * if there is none.
 */
export function conversations({ after, order, limit, ...scope }: ConversationQuery): Bound<Sized<ConversationRow>> {
  const column = columnOf(order);
  const direction = order.startsWith('-') ? ' DESC' : '';
  const [condition, ...values] = inScope('c', scope);
  const [afterCondition, ...afterValues] = startAfter(after, order, scope);
  return [
    `SELECT ${sizedColumns(columns, 'small')} FROM conversations c WHERE ${condition} ${afterCondition}
     ORDER BY c.${column}${direction}, c.conversation_id${direction} LIMIT ?`,
    ...values,
    ...afterValues,
    limit + 1,
  ];
}

export const findConversationRow: Statement<ConversationRow> = `SELECT ${sizedColumns(columns, 'all')} FROM conversations c WHERE c.conversation_id = ?/*@*/`;

function startAfter(
  after: ConversationQuery['after'],
  order: ConversationOrder,
  scope: ListScope,
): [string, ...Value[]] {
  if (after === undefined) return [''];
  const [value, ...values] = after.value === undefined ? findValue({ ...scope, order }, after.id) : ['?', after.value];
  const comparison = order.startsWith('-') ? '<' : '>';
  return [`AND (c.${columnOf(order)}, c.conversation_id) ${comparison} ((${value}), ?)`, ...values, after.id];
}

/** The current value of a conversation in an order, if it is in the list. */
export function findValue(
  { order, ...scope }: ListScope & { order: ConversationOrder },
  conversation_id: string,
): Bound<{ value: number }> {
  const [condition, ...values] = inScope('l', scope);
  const text = `SELECT l.${columnOf(order)} AS value FROM conversations l WHERE l.conversation_id = ?/*@*/ AND ${condition}`;
  return [text, conversation_id, ...values];
}

const returned = sizedColumns(columns, 'all').replaceAll('c.', 'conversations.');

/** The clock may have been set back since the last change, but times of a conversation never decrease. */
const increase = (column: string): string => `${column} = CASE WHEN ${column} > ? THEN ${column} ELSE ? END`;
const renamed = `name = ?, ${increase('renamed_at')}, ${increase('updated_at')}`;
/** All parameters after the name are the time of the rename. */
const renameTimes = renamed.split('?').length - 2;

/** Returns the changed conversation, if it exists. */
export function changeConversation(change: ConversationChange, version: string): Bound<ConversationRow> {
  const { app_id, user, conversation_id, now } = change;
  const [sets, values] =
    'deleted' in change ? ['deleted = 1', []] : [renamed, [change.name, ...Array<number>(renameTimes).fill(now)]];
  const text = `
    UPDATE conversations SET version = ?, ${sets}
    WHERE conversation_id = ?/*@*/ AND app_id = ? AND deleted = 0 ${user === undefined ? '' : 'AND "user" = ?'}
    RETURNING ${returned}`;
  return [text, version, ...values, conversation_id, app_id, ...(user === undefined ? [] : [user])];
}

/**
 * Live conversations of the app, of this user or of none, that have the message: at most two. SQLite reads the
 * tables of a CROSS JOIN in this order (https://sqlite.org/optoverview.html#crossjoin). Asks every shard of a
 * distributed database. Parameters: message_id, app_id, user.
 */
export const findMessageById: Statement<{ conversation_id: string }> = `
  SELECT m.conversation_id FROM messages m CROSS JOIN conversations c
  WHERE c.conversation_id = m.conversation_id AND m.id = ? AND c.app_id = ? AND c.deleted = 0 AND (c."user" IS NULL OR c."user" = ?) LIMIT 2`;

export const findDoc: Statement<ModelFields & { doc: string }> =
  'SELECT doc, model_provider, model FROM messages WHERE conversation_id = ?/*@*/ AND id = ?';

/** Also locks the conversation. */
export const touchConversation = 'UPDATE conversations SET version = ? WHERE conversation_id = ?/*@*/ AND deleted = 0';

/** Parameters: doc, feedback_content, rated_at, feedback_at, review_state without a review, app_id, conversation_id, id. */
export const rateMessage = `
  UPDATE messages SET doc = ?, feedback_content = ?, rated_at = ?, feedback_at = ?,
    review_state = ${stateOrGiven('?')}, listed_app_id = ?
  WHERE conversation_id = ?/*@*/ AND id = ?`;

const feedback = sizedColumns.bind(undefined, {
  columns: ['m.conversation_id, m.id AS message_id, m.feedback_at AS at'],
  texts: { doc: 'm.doc', content: 'm.feedback_content', user: 'c."user"' },
});
const messageWithConversation = 'messages m CROSS JOIN conversations c WHERE c.conversation_id = m.conversation_id';

/** Feedback of live conversations, the newest first. Parameters: app_id, count, number of entries before. */
export const listFeedback: Statement<Sized<FeedbackEntry>> = `
  SELECT ${feedback('small')} FROM ${messageWithConversation}
  AND m.listed_app_id = ? AND m.feedback_at IS NOT NULL AND c.deleted = 0
  ORDER BY m.feedback_at DESC, m.id DESC, m.conversation_id DESC LIMIT ? OFFSET ?`;

export const findFeedback: Statement<FeedbackEntry> = `
  SELECT ${feedback('all')} FROM ${messageWithConversation} AND m.conversation_id = ?/*@*/ AND m.id = ?`;

const entry = sizedColumns.bind(undefined, { columns: ['position'], texts: { entry: 'entry' } });
const modelEntries = 'model_entries WHERE workspace_id = ? AND model_type = ?';
type ModelEntry = { position: number; entry: string };

export const listModelEntries: Statement<Sized<ModelEntry>> =
  `SELECT ${entry('small')} FROM ${modelEntries} ORDER BY position`;
export const findModelEntry: Statement<ModelEntry> = `SELECT ${entry('all')} FROM ${modelEntries} AND position = ?`;
