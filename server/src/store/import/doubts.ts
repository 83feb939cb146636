import { type Doubt, type Doubts, doubtMark } from '../../domain/store/doubts.ts';
import { newVersion } from '../../domain/version.ts';
import type { Engine } from '../base/engine.ts';
import { begin, execute, first, type Statement, upsertInto, type Write, writeRows } from '../base/statement.ts';

const select = (rest: string): Statement<Doubt> => `SELECT scope, kind, id, conversation_id, at FROM doubts ${rest}`;

export const doubts = (engine: Engine): Doubts => ({
  list: (limit) => engine.read(select('ORDER BY at LIMIT ?'), limit),
  ofConversations: (ids) =>
    engine.read(select(`WHERE ${engine.dialect.isIn('conversation_id')}`), engine.dialect.list(ids)),
  exist: async (scope) => (await engine.read(`SELECT 1 FROM doubts WHERE scope IN (?, '') LIMIT 1`, scope)).length > 0,
  count: async () => Number((await engine.read('SELECT COUNT(*) AS n FROM doubts'))[0]?.n),
});

export function* addDoubts(doubts: readonly Doubt[]): Write<undefined> {
  yield* begin();
  const rows = doubts.map(({ scope, kind, id, conversation_id, at }) => [scope, kind, id, conversation_id, at]);
  yield* writeRows(insertDoubts, rows);
  for (const id of conversationsOf(doubts)) yield* execute(setVersion, doubtMark + newVersion(), id);
}

export function* endDoubts(doubts: readonly Doubt[]): Write<undefined> {
  yield* begin();
  for (const { scope, kind, id, at } of doubts) yield* execute(deleteDoubt, scope, kind, id, at);
  for (const id of conversationsOf(doubts)) {
    if ((yield* first(findOther, id)) === undefined) yield* execute(unmark, newVersion(), id, `${doubtMark}%`);
  }
}

/** Sorted, so that two writers never deadlock. */
const conversationsOf = (doubts: readonly Doubt[]): string[] =>
  [...new Set(doubts.map(({ conversation_id }) => conversation_id))].filter((id) => id !== '').sort();

const columns = { scope: 'text', kind: 'text', id: 'text', conversation_id: 'text', at: 'bigint' } as const;
const insertDoubts = upsertInto('doubts', columns, ['scope', 'kind', 'id']);
const deleteDoubt = 'DELETE FROM doubts WHERE scope = ? AND kind = ? AND id = ? AND at = ?';
const findOther: Statement<{ id: string }> = 'SELECT id FROM doubts WHERE conversation_id = ? LIMIT 1';
const setVersion = 'UPDATE conversations SET version = ? WHERE conversation_id = ?/*@*/';
const unmark = 'UPDATE conversations SET version = ? WHERE conversation_id = ?/*@*/ AND version LIKE ?';
