import { limits } from '../../contract/limits.ts';
import type { Selection } from '../../domain/store/selection.ts';
import type { WriteContext, WriteInput } from '../base/engine.ts';
import { type Condition, given, isUser, ofConversation } from '../base/selection.ts';
import { type Columns, execute, insertInto, query, type Statement, type Write, writeRows } from '../base/statement.ts';

const columns: Columns = {
  ...{ id: 'text', at: 'bigint', key_id: 'text', operation: 'text' },
  ...{ app_id: 'text', conversation_id: 'text', '"user"': 'text', words: 'text' },
};
const insertReads = insertInto('audit_reads', columns, 'ON CONFLICT (id) DO NOTHING');

/** Whose a conversation is now. What was erased meanwhile gets no name. */
const findUsers = (
  isIn: WriteContext['dialect']['isIn'],
): Statement<{ id: string; app_id: string; user: string | null }> => `
  SELECT conversation_id AS id, app_id, "user" FROM conversations WHERE ${isIn('conversation_id')}/*@*/`;

/** In one order, so that two instances never deadlock. */
export function* noteReads(reads: WriteInput<'noteReads'>, { dialect }: WriteContext): Write<undefined> {
  const ids = [...new Set(reads.flatMap(({ conversation_id }) => conversation_id ?? []))];
  const found = ids.length === 0 ? [] : yield* query(findUsers(dialect.isIn), dialect.list(ids));
  const users = new Map(found.map((row) => [row.id, row]));
  const rows = reads
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ id, at, key_id, operation, conversation_id, words, ...read }) => {
      const of = users.get(conversation_id ?? '');
      const [app_id, user] = [read.app_id ?? of?.app_id ?? null, read.user ?? of?.user ?? null];
      return [id, at, key_id, operation, app_id, conversation_id, user, words];
    });
  yield* writeRows(insertReads, rows);
}

const trim = 'DELETE FROM audit_reads WHERE id IN (SELECT id FROM audit_reads WHERE at < ? ORDER BY at LIMIT ?)';
export const trimReads = (before: WriteInput<'trimReads'>): Write<number> =>
  execute(trim, before, limits.auditBatchMax);

const blank = 'UPDATE audit_reads SET "user" = NULL, words = NULL WHERE';

/** The fact stays: who has read a conversation at what time. */
export function* blankReads(selection: WriteInput<'blankReads'>): Write<undefined> {
  if ('conversation_id' in selection) {
    yield* execute(`${blank} conversation_id = ?`, selection.conversation_id);
    return;
  }
  const { app_id, user } = selection;
  const [ofUser, ...values] = isUser('"user"', user);
  yield* execute(`${blank} ${ofUser} AND (app_id = ? OR app_id IS NULL)`, ...values, app_id);
  const pattern = `%${user.replaceAll(/[!%_]/g, '!$&')}%`;
  yield* execute(`UPDATE audit_reads SET words = NULL WHERE lower(words) LIKE lower(?) ESCAPE '!'`, pattern);
}

export const readConditions = ({ conversation_id, ...selection }: Selection, author?: string): Condition[] => [
  ...ofConversation('r.', selection),
  ...given('r.conversation_id = ?', conversation_id),
  ...given('r.key_id = ?', author),
];

export const readList = {
  columns: ['r.id, r.at, r.key_id, r.operation, r.app_id, r.conversation_id'],
  texts: { '"user"': 'r."user"', words: 'r.words' },
  from: 'audit_reads r',
  by: ['r.at', 'r.id'],
  descending: true,
};
