import type { ConversationSummary } from '../../contract/activity.ts';
import { derivedName } from '../../domain/conversation-name.ts';
import type { Engine, Value } from '../engine.ts';
import * as sql from './summary-statements.ts';

type Selected = Pick<ConversationSummary, 'id' | 'app_id' | 'app_name' | 'user' | 'created_at' | 'updated_at'> & {
  name: string | null;
  derived_name: string | null;
  last_message_at: number;
};
type Sums = {
  conversation_id: string;
  currency: string;
  messages: number;
  disliked: number;
  failed: number;
  price_nanos: number;
};

/** Reads conversations by a statement, then what their messages add up to, their first and newest texts: four statements. */
export async function readSummaries(engine: Engine, text: string, ...values: Value[]): Promise<ConversationSummary[]> {
  const rows = (await engine.read(text, ...values)) as Selected[];
  if (rows.length === 0) return [];
  const { isIn, list, jsonField } = engine.dialect;
  const ids = list(rows.map(({ id }) => id));
  const sums = Map.groupBy(
    (await engine.read(sql.sums(isIn('d.conversation_id')), ids)) as Sums[],
    ({ conversation_id }) => conversation_id,
  );
  const textsOf = async (statement: typeof sql.firstTexts): Promise<Map<string, string>> => {
    const texts = await engine.read(statement(isIn('c.conversation_id'), jsonField), ids);
    return new Map(texts.map(({ conversation_id, text }) => [conversation_id as string, text as string]));
  };
  const first = await textsOf(sql.firstTexts);
  const last = await textsOf(sql.lastTexts);
  return rows.map((row) => summaryOf(row, sums.get(row.id) ?? [], first.get(row.id), last.get(row.id) ?? ''));
}

function summaryOf(
  row: Selected,
  sums: readonly Sums[],
  first_text: string | undefined,
  last_text: string,
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
    name: row.name ?? (first_text?.trim() || (row.derived_name ?? derivedName.withoutQuery)),
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
    last_text,
  };
}
