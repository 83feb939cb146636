import { type Command, runSynchronously, type Write } from '../base/statement.ts';
import { insertOutbox, OutboxTally, outboxValues } from '../changes/outbox.ts';
import type { Connection } from './connection.ts';

/** Runs a write inside the transaction of the writer thread, which is the only one that writes. */
export function runWrite<T>(db: Connection, write: Write<T>): T {
  return runSynchronously(write, (command) => run(db, command));
}

function run(db: Connection, command: Command): unknown {
  switch (command.kind) {
    case 'query':
      return db.all(command.statement, ...command.values);
    case 'execute':
      return db.run(command.statement, ...command.values);
    case 'rows': {
      let changed = 0;
      for (const values of command.rows) changed += db.run(command.statements.one, ...values);
      return changed;
    }
    case 'keyed-rows': {
      const { one } = command.statements;
      return command.rows.map((values) => db.run(one, ...values) > 0);
    }
    case 'outbox':
      return addOutboxEntries(db, command);
    case 'entry':
      return false;
    case 'begin':
    case 'lock':
      return undefined;
  }
}

/** Few entries are written before the transaction is committed, in one row for all of its writes; many at once. */
function addOutboxEntries(db: Connection, { entries, at, isLarge }: Extract<Command, { kind: 'outbox' }>): void {
  if (entries.length === 0 || !db.writesOutbox) return;
  if (isLarge) db.run(insertOutbox, ...outboxValues(entries, at));
  else db.pendingEntries.push(...entries.map((entry) => ({ entry, at })));
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
