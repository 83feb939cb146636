import { findEntry } from '../../accounting/audit.ts';
import { distribution } from '../../base/distribution.ts';
import type { Command, Scalar, Statement, Value, Write } from '../../base/statement.ts';
import { insertOutbox, outboxValues } from '../../changes/outbox.ts';
import type { PostgresPool, Session } from '../pool/pool.ts';

export type RunOptions = {
  /** Up to this number, rows are written by a statement each. */
  singleRowsMax: number;
  /** For long statements. */
  statementMillis?: number | undefined;
  /** Sets the limit of the wait for locks, if that is shorter. */
  limitLocks?: Statement | undefined;
};

type Entry = Extract<Command, { kind: 'entry' }>;

/**
 * Runs a write. After a transient error it starts again, unless the attempt before was committed and only the response was
 * lost: others may have written since, and theirs is the last write then. Its audit entry shows that.
 */
export function runWrite<T>(
  pool: PostgresPool,
  start: () => Write<T>,
  { singleRowsMax, statementMillis, limitLocks }: RunOptions,
): Promise<T> {
  let sent: { entry: Entry; result: T } | undefined;
  return pool.session(async (session) => {
    if (sent !== undefined && (await session.query(findEntry, sent.entry.id, sent.entry.scope)).length > 0)
      return sent.result;
    let entry: Entry | undefined;
    const write = start();
    let step = write.next();
    while (step.done !== true) {
      const command: Command = step.value;
      if (command.kind === 'entry') entry = command;
      step = write.next(await run(session, command, singleRowsMax, pool.writesOutbox));
      if (command.kind === 'begin' && limitLocks !== undefined) await session.query(limitLocks);
    }
    sent = entry && { entry, result: step.value };
    return step.value;
  }, statementMillis);
}

async function run(session: Session, command: Command, singleRowsMax: number, writesOutbox: boolean): Promise<unknown> {
  switch (command.kind) {
    case 'query':
      return session.query(command.statement, ...command.values);
    case 'execute':
    case 'lock':
      return session.execute(command.statement, ...command.values);
    case 'rows':
      return writeRows(session, command, singleRowsMax);
    case 'keyed-rows':
      return writeKeyedRows(session, command, singleRowsMax);
    case 'begin':
      return session.begin();
    case 'entry':
      return undefined;
    case 'outbox':
      if (command.entries.length === 0 || !writesOutbox) return undefined;
      return session.execute(insertOutbox, ...outboxValues(command.entries, command.at));
  }
}

async function writeRows(
  session: Session,
  { statements, rows }: Extract<Command, { kind: 'rows' }>,
  singleRowsMax: number,
): Promise<number> {
  // Rows that are not on different nodes are written by one statement, even if they are few.
  if (rows.length > singleRowsMax || !Object.hasOwn(distribution.distributed, statements.table))
    return session.execute(statements.many, ...listsOf(rows));
  let changed = 0;
  for (const values of rows) changed += await session.execute(statements.one, ...values);
  return changed;
}

async function writeKeyedRows(
  session: Session,
  { statements, rows }: Extract<Command, { kind: 'keyed-rows' }>,
  singleRowsMax: number,
): Promise<boolean[]> {
  const { one, many, key, returning } = statements;
  if (rows.length > singleRowsMax) {
    const written = await session.query(`${many} ${returning}`, ...listsOf(rows));
    const keys = new Set(written.map((row) => Object.values(row).join(' ')));
    return rows.map((values) => keys.has(key.map((at) => values[at]).join(' ')));
  }
  const isWritten: boolean[] = [];
  for (const values of rows) isWritten.push((await session.execute(one, ...values)) > 0);
  return isWritten;
}

/** One list of values for each column. */
export const listsOf = (rows: readonly (readonly Scalar[])[]): Value[] =>
  [...(rows[0]?.keys() ?? [])].map((column) => rows.map((row) => row[column] ?? null));
