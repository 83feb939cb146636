import { type Note, NoteTally, noteValues, writeNotes } from '../changes/notes.ts';
import type { Connection } from './connection.ts';

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
