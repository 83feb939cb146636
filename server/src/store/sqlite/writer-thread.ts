import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { limits } from '../../contract/limits.ts';
import { type ErrorMessage, toErrorMessage, unavailable } from '../../domain/errors.ts';
import { explainDiskError, sqliteBusy, sqliteCode, sqliteReadOnly, transientSqliteCodes } from '../disk-errors.ts';
import type { WriteInput, WriteName, WriteResult } from '../engine.ts';
import { removeValue, valueNames } from '../erasure/statements.ts';
import { writes } from '../writes.ts';
import { writePendingEntries } from './changes.ts';
import { Connection } from './connection.ts';
import { messages } from './messages.ts';
import { runWrite } from './run-write.ts';
import { index } from './search.ts';
import { dialect } from './statements.ts';
import {
  groupStates,
  isLong,
  type QueuedWrite,
  type WriteOutcome,
  type WriterLink,
  type WriterMessage,
} from './writer-link.ts';

/**
 * The thread that does all writes of a process. Each of the other threads sends a group of queued writes and waits for its
 * outcomes. The groups that have arrived are committed as one transaction.
 */

type Group = { link: WriterLink; writes: QueuedWrite[] };

/** Duration of one attempt to get the write lock while another process has it. */
const busyMillis = 200;
/** Maximum time that an erasure waits until no one else reads the file: longer than a slow reader of a large page stays connected. */
const cleanMillisMax = 2 * limits.slowReaderMillis + 10_000;

/** Messages are also indexed by their ids, in no order: a large import changes pages all over that index. */
const cacheKibibytes = 65_536;

function open(): Connection {
  const connection = new Connection(workerData.path, busyMillis, { writesOutbox: workerData.changes });
  connection.db.exec(`PRAGMA cache_size = -${cacheKibibytes}`);
  return connection;
}

let db = open();
/** The error code of the last writes, if the connection must recover before the next ones. */
let lastFailure: number | undefined;
const parent = parentPort ?? fail('the writer is a worker thread');
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
  const failAll = (error: unknown) => {
    const failure = failureOf(error);
    for (const { link, writes } of groups) send(link, { outcomes: writes.map(() => ({ failure })) });
  };
  if (groups.length === 0) return;
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
    const outcomes = groups.map(({ link, writes }) => writes.map((write) => attempt(write, link)));
    writePendingEntries(db);
    db.db.exec('COMMIT');
    // All links have the same counter.
    const [{ link: anyLink }] = groups as [Group];
    Atomics.add(anyLink.commits, 0, 1);
    for (const { writes } of groups) for (const { name } of writes) if (cleans(name)) cleanFile(name);
    for (const [index, { link }] of groups.entries()) send(link, { outcomes: outcomes[index] as WriteOutcome[] });
  } catch (error) {
    if (db.db.isTransaction) db.db.exec('ROLLBACK');
    failAll(error);
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

const cleans = (name: WriteName): name is 'cleanFile' | 'resetIndex' => name === 'cleanFile' || name === 'resetIndex';

/**
 * Removes erased texts from the file. Overwriting deleted cells is not enough: SQLite leaves copies in the unused parts of
 * pages when it moves rows. So the file is rebuilt; of the index all pages were overwritten. Then the log is truncated.
 */
function cleanFile(name: 'cleanFile' | 'resetIndex'): void {
  const deadline = Date.now() + cleanMillisMax;
  try {
    if (name === 'cleanFile') retryWhileBusy(deadline, () => db.db.exec('VACUUM'));
    while (db.get('PRAGMA wal_checkpoint(TRUNCATE)')?.busy !== 0) {
      if (Date.now() > deadline) throw new Error('something is reading it');
      pause(busyMillis);
    }
  } catch (error) {
    const reason = (error as Error).message;
    const again = name === 'cleanFile' ? 'the erasure' : 'reindex';
    throw new CleanFailed(`erased, but the file may still hold copies (${reason}): run ${again} again`);
  }
  if (name === 'cleanFile') db.run(removeValue, valueNames.unclean);
}

/** Retries while another process has the lock. */
function retryWhileBusy(deadline: number, work: () => void): void {
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (sqliteCode(error) !== sqliteBusy || Date.now() > deadline) throw error;
      pause(busyMillis);
    }
  }
}

class CleanFailed extends Error {}

const pause = (millis: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis);

/** Runs one write of a group. If it fails, only this write is rolled back. */
function attempt({ name, input }: QueuedWrite, link: WriterLink): WriteOutcome {
  const entries = db.pendingEntries.length;
  db.run('SAVEPOINT write');
  try {
    const result = perform(name, input, (applied) => send(link, { applied }));
    db.run('RELEASE write');
    return { result };
  } catch (error) {
    // On a full disk SQLite rolls back the whole transaction, with all writes of the group.
    if (!db.db.isTransaction) throw error;
    db.db.exec('ROLLBACK TO write; RELEASE write');
    db.pendingEntries.length = entries;
    return { failure: failureOf(error) };
  }
}

type Progress = (applied: number) => void;

function perform<N extends WriteName>(name: N, input: WriteInput<N>, progress: Progress): WriteResult<N> {
  const { writesOutbox } = db;
  return runWrite(db, writes[name](input, { dialect, index, messages, writesOutbox, progress }));
}

function failureOf(error: unknown): ErrorMessage {
  const code = error instanceof CleanFailed ? undefined : sqliteCode(error);
  if (code === undefined || !transientSqliteCodes.includes(code)) return toErrorMessage(error);
  lastFailure = code;
  return toErrorMessage(unavailable(`${workerData.path}: ${explainDiskError(error)}`));
}

function fail(message: string): never {
  throw new Error(message);
}
