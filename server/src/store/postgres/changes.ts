import { type Note, noteValues, writeNotes } from '../changes/notes.ts';
import * as numbering from '../changes/numbering.ts';
import type { Row, WriteResult } from '../engine.ts';
import type { PostgresPool, Transaction } from './pool.ts';
import { dialect } from './statements.ts';

const owners = numbering.ownerStatements(dialect);
const { changeColumns } = numbering;
const types = ['text', 'text', 'text', 'bigint', 'bigint', 'text', 'text'];
const writeEntries = `
  INSERT INTO changes (${changeColumns.join(', ')})
  SELECT * FROM unnest(${types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')}) ${numbering.onKnownRecord}`;
const deleteMessages = `DELETE FROM changes WHERE kind = 'message' AND scope = ANY(?)`;
const deleteNotes = 'DELETE FROM changes_new WHERE id = ANY(?) AND scope = ANY(?)';

/** `shard`: the distribution value of the rows that the notes are about, so that notes and rows are on one node. */
export async function addNotes(
  transaction: Transaction,
  notes: readonly Note[],
  at: number,
  shard?: string,
): Promise<void> {
  if (notes.length > 0 && transaction.notesChanges)
    await transaction.query(writeNotes, ...noteValues(notes, at, shard));
}

/**
 * Numbers notes. The head stays locked until the end, so only one reader at a time does this; writers do not use the head.
 * The notes are read after the lock was taken: each statement sees what was committed before it.
 */
export function numberChanges(pool: PostgresPool): Promise<WriteResult<'numberChanges'>> {
  return pool.transaction(async ({ query }) => {
    const [row] = await query(`${numbering.findHead} FOR UPDATE`);
    const { epoch, position } = row as { epoch: string; position: number };
    const rows = await query(numbering.findNotes);
    if (rows.length === 0) return { epoch, position, hasMore: false };
    const { records, noteIds, scopes } = numbering.expandNotes(rows);
    const find = async (statement: string, ids: string[]): Promise<Row[]> =>
      ids.length === 0 ? [] : query(statement, dialect.list(ids));
    const conversations = numbering.conversationsOf(records);
    const appOfConversation = numbering.ownersOf(await find(owners.conversations, conversations));
    const workspaceOf = numbering.ownersOf([
      ...(await find(owners.apps, numbering.appsOf(records, appOfConversation))),
      ...(await find(owners.datasets, numbering.datasetsOf(records))),
    ]);
    const erased = conversations.filter((id) => !appOfConversation.has(id));
    if (erased.length > 0) await query(deleteMessages, erased);
    const entries = numbering.entriesOf(records, position, { appOfConversation, workspaceOf });
    const head = position + entries.length;
    if (entries.length > 0) {
      const lists = changeColumns.map((column) => entries.map((entry) => entry[column]));
      await query(writeEntries, ...(lists as never[]));
      await query(numbering.moveHead, head);
    }
    await query(deleteNotes, noteIds, scopes);
    return { epoch, position: head, hasMore: numbering.mayHaveMore(rows, noteIds) };
  });
}
