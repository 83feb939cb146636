import type { ItemReads } from '../../domain/store/items.ts';
import type { ReadEngine } from '../base/engine.ts';
import { isLarge } from '../base/sized.ts';
import * as sql from './statements.ts';

export const itemReads = ({ read, dialect }: ReadEngine): ItemReads => ({
  findConversation: async (scope, texts) => (await read(...sql.findConversation(scope, texts ?? 'small')))[0],
  listTurns: (conversation_id, order, start, count) => read(...sql.listTurns(conversation_id, order, start, count)),
  findTurn: async (conversation_id, id) => {
    const [turn] = await read(sql.findSmallTurn, conversation_id, id);
    return turn && { bytes: turn.bytes, turn: isLarge(turn) ? undefined : turn };
  },
  readTurns: (conversation_id, ids) => read(sql.readTurns(dialect), conversation_id, dialect.list(ids)),
  findAlias: async (conversation_id, alias) =>
    (await read(sql.findAlias, conversation_id, `"id":${JSON.stringify(alias)}`)).map(({ id }) => id),
});
