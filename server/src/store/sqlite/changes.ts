import { type Note, NoteTally, noteValues, writeNotes } from '../changes/notes.ts';
import * as numbering from '../changes/numbering.ts';
import type { Row, WriteResult } from '../engine.ts';
import type { Connection } from './connection.ts';
import { dialect } from './statements.ts';

const owners = numbering.ownerStatements(dialect);
const { changeColumns } = numbering;
const writeEntry = `
  INSERT INTO changes (${changeColumns.join(', ')}) VALUES (${changeColumns.map(() => '?').join(', ')})
  ${numbering.onKnownRecord}`;
const deleteMessages = `DELETE FROM changes WHERE kind = 'message' AND scope = ?`;
const deleteNote = 'DELETE FROM changes_new WHERE id = ?';

/** They are written before the transaction is committed, in one row for all of its writes. */
export function addNotes(db: Connection, notes: readonly Note[], at: number): void {
  if (db.notesChanges) db.pendingNotes.push(...notes.map((note) => ({ note, at })));
}

/** Writes the notes of all writes of a transaction as one row. */
export function writePendingNotes(db: Connection): void {
  const pending = db.pendingNotes.splice(0);
  const last = pending.at(-1);
  if (last === undefined) return;
  const tally = new NoteTally();
  for (const { note } of pending) tally.add(note);
  db.run(writeNotes, ...noteValues(tally.take(), last.at));
}

/** Writes notes at once, since they are many. */
export function writeManyNotes(db: Connection, notes: readonly Note[], at: number): void {
  if (notes.length > 0 && db.notesChanges) db.run(writeNotes, ...noteValues(notes, at));
}

/** Numbers notes inside the caller's transaction, which is the only one that writes. */
export function numberChanges(db: Connection): WriteResult<'numberChanges'> {
  const { epoch, position } = db.get(numbering.findHead) as { epoch: string; position: number };
  const rows = db.all(numbering.findNotes);
  const { records, noteIds } = numbering.expandNotes(rows);
  const find = (statement: string, ids: string[]): Row[] =>
    ids.length === 0 ? [] : db.all(statement, dialect.list(ids));
  const conversations = numbering.conversationsOf(records);
  const appOfConversation = numbering.ownersOf(find(owners.conversations, conversations));
  const workspaceOf = numbering.ownersOf([
    ...find(owners.apps, numbering.appsOf(records, appOfConversation)),
    ...find(owners.datasets, numbering.datasetsOf(records)),
  ]);
  for (const id of conversations) if (!appOfConversation.has(id)) db.run(deleteMessages, id);
  const entries = numbering.entriesOf(records, position, { appOfConversation, workspaceOf });
  for (const entry of entries) db.run(writeEntry, ...changeColumns.map((column) => entry[column]));
  for (const id of noteIds) db.run(deleteNote, id);
  const head = position + entries.length;
  if (entries.length > 0) db.run(numbering.moveHead, head);
  return { epoch, position: head, hasMore: numbering.mayHaveMore(rows, noteIds) };
}
