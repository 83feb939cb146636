import type { ConversationSummary } from '../../contract/console/activity.ts';
import { derivedName } from '../../domain/records/conversation-name.ts';
import type { ListRange, ListRows } from '../../domain/store/admin-reads.ts';
import type { Selection } from '../../domain/store/selection.ts';
import { type ConversationSums, conversationSums } from '../accounting/usage-statements.ts';
import type { ReadEngine } from '../base/engine.ts';
import { type Condition, split } from '../base/selection.ts';
import { readList } from './admin-statements.ts';
import * as sql from './summary-statements.ts';

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
    return readPage(engine, [...isListed(engine, ids), ...sql.selected(selection)], range);
  const found = await findOfUser(engine, selection, range);
  // These are in the range already.
  return readPage(engine, isListed(engine, found), { after: undefined, count: range.count });
}

function isListed({ dialect }: ReadEngine, ids: readonly string[] | undefined): Condition[] {
  return ids === undefined ? [] : [[dialect.isIn('c.conversation_id'), dialect.list(ids)]];
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
  const found: sql.Position[] = [];
  for (const { id: app_id } of await engine.read(sql.appIds)) {
    const conditions = sql.selected({ ...selection, app_id });
    found.push(...(await engine.read(...sql.positions(conditions, { after, count: count + 1 }))));
  }
  const isBefore = (one: sql.Position, other: sql.Position) => (one.id < other.id ? 1 : -1);
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
  const conversations = sql.summaries(conditions);
  const { rows, has_more } = await readList<Selected>(engine, conversations, split(conditions).values, range);
  if (rows.length === 0) return { rows: [], has_more };
  const { isIn, list } = engine.dialect;
  const ids = list(rows.map(({ id }) => id));
  const sums = Map.groupBy(
    await engine.read(conversationSums(isIn('d.conversation_id')), ids),
    ({ conversation_id }) => conversation_id,
  );
  const texts = new Map((await engine.read(sql.texts(engine.dialect), ids, ids, ids)).map((row) => [row.id, row]));
  return { rows: rows.map((row) => summaryOf(row, sums.get(row.id) ?? [], texts.get(row.id))), has_more };
}

function summaryOf(
  row: Selected,
  sums: readonly ConversationSums[],
  texts: sql.ConversationTexts | undefined,
): ConversationSummary {
  const total = (name: 'messages' | 'disliked' | 'failed') => sums.reduce((sum, one) => sum + one[name], 0);
  const { id, user, created_at, app_id, app_name, updated_at } = row;
  const message_count = total('messages');
  const priced = sums.filter(({ currency, messages }) => currency !== '' && messages > 0);
  const [single] = priced.length === 1 ? priced : [];
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
    disliked_count: total('disliked'),
    failed_count: total('failed'),
    price: single === undefined ? null : single.price_nanos / 1e9,
    currency: single?.currency ?? null,
    last_text: texts?.last_text ?? '',
  };
}
