import type { StoredTurn } from '../../domain/records/turns.ts';
import type {
  ItemConversation,
  ItemOrder,
  ItemReads,
  ItemScope,
  TurnPosition,
  TurnStart,
} from '../../domain/store/items.ts';
import type { Dialect, ReadEngine } from '../base/engine.ts';
import { firstOf, isLarge, type Reading, type Sized, sizedColumns } from '../base/sized.ts';
import { type Bound, insertInto, type Statement, upsertInto } from '../base/statement.ts';

const inScope = ({ user }: ItemScope): string =>
  `conversation_id = ?/*@*/ AND app_id = ? AND deleted = 0 ${user === undefined ? '' : 'AND "user" = ?'}`;
const valuesOf = ({ conversation_id, app_id, user }: ItemScope): string[] => [
  conversation_id,
  app_id,
  ...(user === undefined ? [] : [user]),
];

const conversation = {
  columns: ['conversation_id AS id', 'created_at', '"user"'],
  texts: { inputs: firstOf('inputs', 'derived_inputs') },
};

export const findConversation = (scope: ItemScope, texts: Reading): Bound<Sized<ItemConversation>> => [
  `SELECT ${sizedColumns(conversation, texts)} FROM conversations WHERE ${inScope(scope)}`,
  ...valuesOf(scope),
];

/** Also locks the conversation. */
export const touchConversation = (scope: ItemScope, version: string): Bound => [
  `UPDATE conversations SET version = ? WHERE ${inScope(scope)}`,
  version,
  ...valuesOf(scope),
];

export const setInputs = 'UPDATE conversations SET inputs = ? WHERE conversation_id = ?/*@*/';

type ListedTurn = TurnPosition & { bytes: number };

/** One range of the key of the table. */
export function listTurns(
  id: string,
  order: ItemOrder,
  start: TurnStart | undefined,
  count: number,
): Bound<ListedTurn> {
  const direction = order === 'asc' ? '' : ' DESC';
  const comparison = (order === 'asc' ? '>' : '<') + (start?.isIncluded ? '=' : '');
  const after = start === undefined ? '' : `AND (created_at, sequence) ${comparison} (?, ?)`;
  const text = `
    SELECT id, created_at, sequence, octet_length(doc) + COALESCE(octet_length(items), 0) AS bytes FROM messages
    WHERE conversation_id = ?/*@*/ ${after} ORDER BY created_at${direction}, sequence${direction} LIMIT ?`;
  return [text, id, ...(start === undefined ? [] : [start.created_at, start.sequence]), count];
}

const turn = { columns: ['id', 'created_at', 'sequence'], texts: { doc: 'doc', items: 'items' } };

/** The texts are null if they are large. */
export const findSmallTurn: Statement<Sized<StoredTurn & TurnPosition>> = `
  SELECT ${sizedColumns(turn, 'small')} FROM messages WHERE conversation_id = ?/*@*/ AND id = ?`;

export const readTurns = ({ isIn }: Dialect): Statement<StoredTurn & TurnPosition> =>
  `SELECT ${sizedColumns(turn, 'all')} FROM messages WHERE conversation_id = ?/*@*/ AND ${isIn('id')}`;

/** Few messages can have it: texts with the same characters have other quotes. Parameters: conversation_id, the field in JSON. */
export const findAlias: Statement<{ id: string }> = `
  SELECT id FROM messages WHERE conversation_id = ?/*@*/ AND replace(items, ?, '') <> items
  ORDER BY created_at DESC, sequence DESC LIMIT 100`;

/** What a message has besides the fields of its record. */
export type WholeTurn = StoredTurn & { model_provider: string | null; model: string | null; trace_id: string | null };
const wholeTurn = `id, created_at, doc, items, model_provider, model, trace_id FROM messages WHERE conversation_id = ?/*@*/`;

export const findNewest: Statement<WholeTurn> = `SELECT ${wholeTurn} ORDER BY created_at DESC, sequence DESC LIMIT 1`;
export const findTurn: Statement<WholeTurn> = `SELECT ${wholeTurn} AND id = ?`;

/** An append of items that a client may send again. `items`: their ids, as JSON. */
type StoredAppend = { digest: string; at: number; items: string };
const appendColumns = { conversation_id: 'text', name: 'text', digest: 'text', at: 'bigint', items: 'text' } as const;
/** Returns 0 changed rows if another request has the name. */
export const claimAppend = insertInto('item_appends', appendColumns, 'ON CONFLICT (conversation_id, name) DO NOTHING');
export const writeAppend = upsertInto('item_appends', appendColumns, ['conversation_id', 'name']);
/** Parameters: conversation_id, name, the earliest time. */
export const findAppend: Statement<StoredAppend> =
  'SELECT digest, at, items FROM item_appends WHERE conversation_id = ?/*@*/ AND name = ? AND at >= ?';
/** Parameters: conversation_id, the name that stays, the earliest time. */
export const trimAppends = 'DELETE FROM item_appends WHERE conversation_id = ?/*@*/ AND name <> ? AND at < ?';

export const itemReads = ({ read, dialect }: ReadEngine): ItemReads => ({
  findConversation: async (scope, texts) => (await read(...findConversation(scope, texts ?? 'small')))[0],
  listTurns: (conversation_id, order, start, count) => read(...listTurns(conversation_id, order, start, count)),
  findTurn: async (conversation_id, id) => {
    const [turn] = await read(findSmallTurn, conversation_id, id);
    return turn && { bytes: turn.bytes, turn: isLarge(turn) ? undefined : turn };
  },
  readTurns: (conversation_id, ids) => read(readTurns(dialect), conversation_id, dialect.list(ids)),
  findAlias: async (conversation_id, alias) =>
    (await read(findAlias, conversation_id, `"id":${JSON.stringify(alias)}`)).map(({ id }) => id),
});
