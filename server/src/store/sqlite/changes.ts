import type { OutboxEntry } from '../base/outbox-entry.ts';
import { insertOutbox, OutboxTally, outboxValues } from '../changes/outbox.ts';
import type { Connection } from './connection.ts';

/** They are written before the transaction is committed, in one row for all of its writes. */
export function addOutboxEntries(db: Connection, entries: readonly OutboxEntry[], at: number): void {
  if (db.writesOutbox) db.pendingEntries.push(...entries.map((entry) => ({ entry, at })));
}

/** Writes the outbox entries of all writes of a transaction as one row. */
export function writePendingEntries(db: Connection): void {
  const pending = db.pendingEntries.splice(0);
  const last = pending.at(-1);
  if (last === undefined) return;
  const tally = new OutboxTally();
  for (const { entry } of pending) tally.add(entry);
  db.run(insertOutbox, ...outboxValues(tally.take(), last.at));
}

/** Writes outbox entries at once, since they are many. */
export function writeManyOutboxEntries(db: Connection, entries: readonly OutboxEntry[], at: number): void {
  if (entries.length > 0 && db.writesOutbox) db.run(insertOutbox, ...outboxValues(entries, at));
}
