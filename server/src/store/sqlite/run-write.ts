import { type Command, runSynchronously, type Write } from '../base/statement.ts';
import { addOutboxEntries, writeManyOutboxEntries } from './changes.ts';
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
      return (command.isLarge ? writeManyOutboxEntries : addOutboxEntries)(db, command.entries, command.at);
    case 'entry':
      return false;
    case 'begin':
    case 'lock':
      return undefined;
  }
}
