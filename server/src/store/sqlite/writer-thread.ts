import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { damaged, type ErrorMessage, toErrorMessage, unavailable } from '../../domain/errors.ts';
import {
  explainDiskError,
  isDamaged,
  sqliteBusy,
  sqliteCode,
  sqliteReadOnly,
  transientSqliteCodes,
} from '../base/disk-errors.ts';
import type { WriteInput, WriteName, WriteResult } from '../base/engine.ts';
import { writes } from '../writes.ts';
import { busyMillis, emptyLog, rebuildFile } from './clean-files.ts';
import { Connection } from './connection.ts';
import { messages } from './messages.ts';
import { runWrite, writePendingEntries } from './run-write.ts';
import { index } from './search.ts';
import { dialect } from './statements.ts';
import {
  groupStates,
  isLong,
  type QueuedWrite,
  type WriteOutcome,
  type WriterLink,
  type WriterMessage,
} from './writer.ts';

/**
 * The thread that does all writes of a process. Each of the other threads sends a group of queued writes and waits for its
 * outcomes. The groups that have arrived are committed as one transaction.
 */

type Group = { link: WriterLink; writes: QueuedWrite[] };

/** Messages are also indexed by their ids, in no order: a large import changes pages all over that index. */
const cacheKibibytes = 65_536;

const path: string = workerData.path;

function open(): Connection {
  const connection = new Connection(path, busyMillis, { writesOutbox: workerData.changes });
  connection.db.exec(`PRAGMA cache_size = -${cacheKibibytes}`);
  return connection;
}

let db = open();
/** The error code of the last writes, if the connection must recover before the next ones. */
let lastFailure: number | undefined;
if (parentPort === null) throw new Error('the writer is a worker thread');
const parent = parentPort;
const links = new Set<WriterLink>();

parent.on('message', (message: WriterLink | 'close') => {
  if (message === 'close') {
    db.close();
    parent.close();
    for (const { port } of links) port.close();
    return;
  }
  links.add(message);
  message.port.on('message', (writes: QueuedWrite[]) => receive({ link: message, writes }));
  message.port.once('close', () => links.delete(message));
});

function send({ port }: WriterLink, message: WriterMessage): void {
  port.postMessage(message);
}

/** Commits a group, together with the groups that other threads have sent in the meantime. */
function receive(first: Group): void {
  const groups = [first];
  for (const link of links) {
    // A thread has at most one group at the writer.
    const received = link === first.link ? undefined : receiveMessageOnPort(link.port as MessagePort);
    if (received !== undefined) groups.push({ link, writes: received.message });
  }
  const short = groups.filter(({ writes }) => !takesLong(writes));
  const long = groups.filter(({ writes }) => takesLong(writes));
  if (short.length > 0) commit(short);
  for (const group of long) {
    Atomics.store(group.link.longWrite, 0, 1);
    commit([group]);
    Atomics.store(group.link.longWrite, 0, 0);
  }
}

/** A long write is the only one of its group. */
const takesLong = (writes: QueuedWrite[]): boolean => writes.some(isLong);

/** Whether the group is still at the writer. If not, the writer may receive another one from this link. */
function take({ link }: Group): boolean {
  const { sent, taken } = groupStates;
  if (Atomics.compareExchange(link.group, 0, sent, taken) === sent) return true;
  send(link, { withdrawn: true });
  return false;
}

function commit(sent: Group[]): void {
  const groups = sent.filter(take);
  if (groups.length > 0) commitTaken(groups, false);
}

/**
 * Without savepoints at first: with one, SQLite keeps a copy of each page that a write changes, in a temporary file. If one of
 * several writes fails, all are rolled back and run again, each in a savepoint, so that only the one fails.
 */
function commitTaken(groups: Group[], inSavepoints: boolean): void {
  const failAll = (error: unknown) => {
    const failure = failureOf(error);
    for (const { link, writes } of groups) send(link, { outcomes: writes.map(() => ({ failure })) });
  };
  try {
    db.requireFile();
    if (lastFailure !== undefined) recover(lastFailure);
    db.db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    if (sqliteCode(error) !== sqliteBusy) return failAll(error);
    for (const { link } of groups) send(link, { busy: true });
    return;
  }
  try {
    db.pendingEntries.length = 0;
    const run = inSavepoints ? attempt : perform;
    const outcomes = groups.map(({ link, writes }) => writes.map((write) => run(write, link)));
    writePendingEntries(db);
    db.db.exec('COMMIT');
    // All links have the same counter.
    const [any] = groups;
    if (any !== undefined) Atomics.add(any.link.commits, 0, 1);
    for (const [at, { writes }] of groups.entries()) {
      const [write] = writes;
      if (write?.name === 'rebuildFile') rebuildFile(db);
      if (write?.name === 'emptyLog') outcomes[at] = [{ result: emptyLog(db, `${path}-wal`, write.input.salt) }];
    }
    for (const [at, { link }] of groups.entries()) send(link, { outcomes: outcomes[at] ?? [] });
  } catch (error) {
    // On a full disk SQLite has rolled back everything itself.
    const canContinue = db.db.isTransaction;
    if (canContinue) db.db.exec('ROLLBACK');
    const areSeveral = groups.length > 1 || groups.some(({ writes }) => writes.length > 1);
    if (canContinue && areSeveral && !inSavepoints) commitTaken(groups, true);
    else failAll(error);
  }
}

/**
 * A connection that was opened on a read-only file stays read-only, so it is opened again. On a full disk a checkpoint may
 * still work: it copies the log into the database file, and the space of the log can be reused.
 */
function recover(code: number): void {
  if (code === sqliteReadOnly) {
    const reopened = open();
    db.close();
    db = reopened;
  } else {
    try {
      db.db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // The next write reports the error.
    }
  }
  lastFailure = undefined;
}

/** If the write fails, only this write is rolled back. */
function attempt(write: QueuedWrite, link: WriterLink): WriteOutcome {
  const entries = db.pendingEntries.length;
  db.run('SAVEPOINT write');
  try {
    const outcome = perform(write, link);
    db.run('RELEASE write');
    return outcome;
  } catch (error) {
    if (!db.db.isTransaction) throw error;
    db.db.exec('ROLLBACK TO write; RELEASE write');
    db.pendingEntries.length = entries;
    return { failure: failureOf(error) };
  }
}

function perform({ name, input }: QueuedWrite, link: WriterLink): WriteOutcome {
  return { result: resultOf(name, input, (applied) => send(link, { applied })) };
}

function resultOf<N extends WriteName>(
  name: N,
  input: WriteInput<N>,
  progress: (applied: number) => void,
): WriteResult<N> {
  return runWrite(db, writes[name](input, { dialect, index, messages, progress }));
}

function failureOf(error: unknown): ErrorMessage {
  if (isDamaged(error)) return toErrorMessage(damaged());
  const code = sqliteCode(error);
  if (code === undefined || !transientSqliteCodes.includes(code)) return toErrorMessage(error);
  lastFailure = code;
  return toErrorMessage(unavailable(`${path}: ${explainDiskError(error)}`));
}
