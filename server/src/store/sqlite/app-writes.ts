import type { ConversationChange, ConversationRow, MessageRating } from '../../domain/store/app-store.ts';
import { newVersion } from '../../domain/version.ts';
import * as audit from '../accounting/audit.ts';
import { noteOfConversation, noteOfMessages } from '../changes/notes.ts';
import type { WriteInput } from '../engine.ts';
import { contentOf, rate } from '../messages/rating.ts';
import * as apps from '../messages/statements.ts';
import * as sql from '../statements.ts';
import { addNotes } from './changes.ts';
import type { Connection } from './connection.ts';
import { writeUsage } from './usage.ts';

/** Changes by app keys, and of keys, inside the caller's transaction. */

export function changeConversation(db: Connection, change: ConversationChange): ConversationRow | undefined {
  const [row] = db.all(...apps.changeConversation(change, newVersion()));
  const entry = audit.conversationEntry(change);
  if (row === undefined) return undefined;
  const { app_id, conversation_id, now } = change;
  db.run(audit.writeEntry, ...audit.entryValues(entry, conversation_id));
  addNotes(db, [noteOfConversation(app_id, conversation_id)], now);
  return row as ConversationRow;
}

export function rateMessage(db: Connection, rating: MessageRating): 'rated' | 'unrated' | 'missing' {
  const { message_id, app_id, user } = rating;
  const [found, another] = db.all(apps.findMessageById, message_id, app_id, user);
  if (found === undefined || another !== undefined) return 'missing';
  const conversation_id = found.conversation_id as string;
  const rated = rate(db.get(apps.findDoc, conversation_id, message_id)?.doc as string, rating);
  if (rated === 'unrated') return rated;
  db.run(apps.rateMessage, rated.doc, contentOf(rating), rating.now, conversation_id, message_id);
  writeUsage(db, rated.usage);
  db.run(apps.touchConversation, newVersion(), conversation_id);
  db.run(audit.writeEntry, ...audit.entryValues(audit.ratingEntry(rating, conversation_id), conversation_id));
  addNotes(db, [noteOfMessages(conversation_id, [message_id])], rating.now);
  return 'rated';
}

export function updateKey(db: Connection, { id, change, by, now }: WriteInput<'updateKey'>): boolean {
  if (db.run(sql.updateKey, change.read_only ? 1 : 0, id) === 0) return false;
  db.run(audit.writeEntry, ...audit.entryValues(audit.keyEntry('update', id, by, now)));
  return true;
}
