import type { ConversationSummary } from '../../contract/console/activity.ts';
import { limits } from '../../contract/limits.ts';
import { derivedName } from '../../domain/records/conversation-name.ts';
import type { ListRange, ListRows } from '../../domain/store/admin-reads.ts';
import type { Selection } from '../../domain/store/selection.ts';
import { type ConversationSums, conversationSums } from '../accounting/usage-tally.ts';
import { countsOf, priceOf } from '../accounting/user-totals.ts';
import type { Dialect, ReadEngine } from '../base/engine.ts';
import { type Condition, inPeriod, ofConversation, split } from '../base/selection.ts';
import { smallText } from '../base/sized.ts';
import type { Bound, Statement } from '../base/statement.ts';
import { type List, listPage, readList } from './admin-statements.ts';

/** Conversations that are not deleted, for which these conditions hold, latest update first. */
const latest = (conditions: readonly Condition[]) => ({
  from: 'conversations c',
  where: [...split(conditions).texts, 'c.deleted = 0'],
  by: ['c.updated_at', 'c.conversation_id'],
  descending: true,
});

export const summaries = (conditions: readonly Condition[]): List => ({
  columns: ['c.conversation_id AS id, c.app_id, c.created_at, c.updated_at, c.last_message_at'],
  texts: {
    app_name: '(SELECT a.name FROM apps a WHERE a.id = c.app_id)',
    name: 'c.name',
    derived_name: 'c.derived_name',
    '"user"': 'c."user"',
  },
  ...latest(conditions),
});

type Position = { id: string; updated_at: number };

export const positions = (conditions: readonly Condition[], range: ListRange): Bound<Position> => {
  const list = { columns: ['c.conversation_id AS id, c.updated_at'], texts: {}, ...latest(conditions) };
  return listPage(list, split(conditions).values, range);
};

export const selected = (selection: Selection): Condition[] => [
  ...ofConversation('c.', selection),
  ...inPeriod('c.updated_at', selection),
];

type ConversationTexts = { id: string; first_text: string | null; last_text: string | null };

/**
 * The beginnings of texts of each conversation: its first query, and the answer of its newest message, or that message's query
 * if the answer is empty. Null for a large message. Parameters: the ids three times.
 */
export function texts(dialect: Dialect): Statement<ConversationTexts> {
  const beginningOf = (name: string) => `substr(${dialect.jsonField('m.doc', name)}, 1, ${limits.listedTextCharsMax})`;
  const newest = `COALESCE(NULLIF(${beginningOf('answer')}, ''), ${beginningOf('query')})`;
  return `
    SELECT c.conversation_id AS id, ${textAt('c.first_message_at', 'ASC', beginningOf('query'), dialect)} AS first_text,
      ${textAt('c.last_message_at', 'DESC', newest, dialect)} AS last_text
    FROM conversations c WHERE ${dialect.isIn('c.conversation_id')}/*@*/`;
}

/**
 * A text of the first or last message of a second. The condition on the ids is repeated so that a distributed database queries
 * only the shards of these conversations.
 */
const textAt = (second: string, order: 'ASC' | 'DESC', text: string, { isIn }: Dialect): string => `(
  SELECT ${smallText({ text, bytes: 'octet_length(m.doc)' })} FROM messages m
  WHERE m.conversation_id = c.conversation_id AND m.created_at = ${second} AND ${isIn('m.conversation_id')}/*@*/
  ORDER BY m.sequence ${order} LIMIT 1)`;

type Selected = Pick<ConversationSummary, 'id' | 'app_id' | 'app_name' | 'user' | 'created_at' | 'updated_at'> & {
  name: string | null;
  derived_name: string | null;
  last_message_at: number;
};

/** Reads a page of conversations, then the totals of their messages, then their first and newest texts: three statements. */
export async function readSummaries(
  engine: ReadEngine,
  selection: Selection,
  ids: readonly string[] | undefined,
  range: ListRange,
): Promise<ListRows<ConversationSummary>> {
  const { app_id, user } = selection;
  const isOfAnyApp = user !== undefined && app_id === undefined;
  if (!isOfAnyApp || ids !== undefined)
    return readPage(engine, [...isListed(engine, ids), ...selected(selection)], range);
  const found = await findOfUser(engine, selection, range);
  // These are in the range already.
  return readPage(engine, isListed(engine, found), { after: undefined, count: range.count });
}

function isListed({ dialect }: ReadEngine, ids: readonly string[] | undefined): Condition[] {
  return ids === undefined ? [] : [[`${dialect.isIn('c.conversation_id')}/*@*/`, dialect.list(ids)]];
}

/**
 * The ids of a page of a user's conversations in all apps, and one more. Indexes of users begin with the app, so each app is
 * read for itself, a page at most: the cost grows with the number of apps, not with that of conversations.
 */
async function findOfUser(
  engine: ReadEngine,
  selection: Selection,
  { after, count }: ListRange,
): Promise<readonly string[]> {
  const found: Position[] = [];
  for (const { id: app_id } of await engine.read<{ id: string }>('SELECT id FROM apps')) {
    const conditions = selected({ ...selection, app_id });
    found.push(...(await engine.read(...positions(conditions, { after, count: count + 1 }))));
  }
  const isBefore = (one: Position, other: Position) => (one.id < other.id ? 1 : -1);
  return found
    .sort((one, other) => other.updated_at - one.updated_at || isBefore(one, other))
    .slice(0, count + 1)
    .map(({ id }) => id);
}

async function readPage(
  engine: ReadEngine,
  conditions: readonly Condition[],
  range: ListRange,
): Promise<ListRows<ConversationSummary>> {
  const conversations = summaries(conditions);
  const { rows, has_more } = await readList<Selected>(engine, conversations, split(conditions).values, range);
  if (rows.length === 0) return { rows: [], has_more };
  const { list } = engine.dialect;
  const ids = list(rows.map(({ id }) => id));
  const sums = Map.groupBy(
    await engine.read(conversationSums(engine.dialect), ids),
    ({ conversation_id }) => conversation_id,
  );
  const textsById = new Map((await engine.read(texts(engine.dialect), ids, ids, ids)).map((row) => [row.id, row]));
  return { rows: rows.map((row) => summaryOf(row, sums.get(row.id) ?? [], textsById.get(row.id))), has_more };
}

function summaryOf(
  row: Selected,
  sums: readonly ConversationSums[],
  texts: ConversationTexts | undefined,
): ConversationSummary {
  const { id, user, created_at, app_id, app_name, updated_at } = row;
  const { messages: message_count, disliked, failed, prices } = countsOf(sums);
  const price = priceOf(prices);
  return {
    id,
    user,
    // The derived name is short; a list has room for the query.
    name: row.name ?? (texts?.first_text?.trim() || (row.derived_name ?? derivedName.withoutQuery)),
    created_at,
    app_id,
    app_name,
    updated_at,
    last_message_at: message_count === 0 ? null : row.last_message_at,
    message_count,
    disliked_count: disliked,
    failed_count: failed,
    price: price === undefined ? null : price.price_nanos / 1e9,
    currency: price?.currency ?? null,
    last_text: texts?.last_text ?? '',
  };
}
