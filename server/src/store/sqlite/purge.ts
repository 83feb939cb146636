import * as audit from '../accounting/audit.ts';
import { NoteTally, noteOfConversation } from '../changes/notes.ts';
import type { WriteInput, WriteResult } from '../engine.ts';
import * as sql from '../statements.ts';
import { writeManyNotes } from './changes.ts';
import type { Connection } from './connection.ts';
import { eraseConversation } from './search.ts';

/** Erases conversations with their messages, inside the transaction of the writer thread. */
export function purge(db: Connection, { selection, now }: WriteInput<'purge'>): WriteResult<'purge'> {
  const [by, values] = sql.purgeBy(selection);
  const selected = db.all(sql.purge.selected(by), ...values);
  const ids = selected.map(({ conversation_id }) => conversation_id as string);
  for (const id of ids) eraseConversation(db, id);
  db.run(sql.purge.days(by), ...values);
  const messages = db.run(sql.purge.messages(by), ...values);
  const conversations = db.run(sql.purge.conversations(by), ...values);
  for (const entry of audit.purgeEntries(ids, messages, now)) db.run(audit.writeEntry, ...audit.entryValues(entry));
  const tally = new NoteTally();
  for (const { app_id, conversation_id } of selected) {
    tally.add(noteOfConversation(app_id as string, conversation_id as string));
  }
  writeManyNotes(db, tally.take(), now);
  return { conversations, messages };
}
