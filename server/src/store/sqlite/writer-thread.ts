import { parentPort, workerData } from 'node:worker_threads';
import { limits } from '../../contract/limits.ts';
import type { AuditEntry, Author } from '../../domain/audit.ts';
import { countWords } from '../../domain/count-words.ts';
import { BadRecord, ServiceError } from '../../domain/errors.ts';

import type { ChildChunkEdit, ChildChunkOutcome, CreatedKey, Purge } from '../../domain/store.ts';
import { decideEdit } from '../../domain/update-child-chunk.ts';

import * as audit from '../accounting/audit.ts';
import { AuditTally } from '../accounting/audit-tally.ts';
import { subtractFromApps } from '../accounting/usage-statements.ts';
import { changeSession } from '../console/session-statements.ts';
import { explainDiskError, sqliteBusy, sqliteCode, sqliteReadOnly, transientSqliteCodes } from '../disk-errors.ts';
import type { Write } from '../engine.ts';
import { readSpool, type Spooled } from '../records/spool.ts';
import * as sql from '../statements.ts';
import { Connection } from './connection.ts';
import { RecordWriter } from './record-writer.ts';
import * as embedded from './statements.ts';

/** The thread that owns all writes. It is handed what has queued up and commits it as one transaction. */

export type WriteFailure = { kind: 'bad-record' | 'unavailable' | 'internal'; message: string };
export type WriteResult = { value: unknown } | { failure: WriteFailure };
export type WriterAnswer = { results: WriteResult[] } | { busy: true } | { applied: number };

/** How long one try for the write lock lasts while another process holds it. */
const busyMillis = 200;
const progressEvery = 10_000;
/** How long a purge waits for readers of the file to end. */
const cleanMillisMax = 20_000;

const open = () => new Connection(workerData.path, busyMillis);
let db = open();
/** Why the last writes were not written, where the next ones need help. */
let trouble: number | undefined;
const port = parentPort ?? fail('the writer is a worker thread');
const response = (message: WriterAnswer) => port.postMessage(message);

port.on('message', (writes: Write[] | 'close') => {
  if (writes === 'close') {
    db.close();
    port.close();
    return;
  }
  try {
    db.requireFile();
    if (trouble !== undefined) recover(trouble);
    db.db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    if (sqliteCode(error) === sqliteBusy) return response({ busy: true });
    return response({ results: writes.map(() => ({ failure: failureOf(error) })) });
  }
  try {
    const results = writes.map(attempt);
    db.db.exec('COMMIT');
    if (writes.some(({ name }) => name === 'purge')) cleanFile();
    response({ results });
  } catch (error) {
    if (db.db.isTransaction) db.db.exec('ROLLBACK');
    response({ results: writes.map(() => ({ failure: failureOf(error) })) });
  }
});

/**
 * A connection that was opened on a read-only file stays read-only, so it is opened anew. A disk that takes no more may take
 * what stands in the log, whose room is then free again.
 */
function recover(code: number): void {
  if (code === sqliteReadOnly) {
    const fresh = open();
    db.close();
    db = fresh;
  } else {
    try {
      db.db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // What comes next will tell.
    }
  }
  trouble = undefined;
}

/**
 * Makes the file forget what was erased. Overwriting deleted cells is not enough: moving rows about has left copies of
 * them in the unused parts of pages. So the file is written anew, and the log folded into it.
 */
function cleanFile(): void {
  const deadline = Date.now() + cleanMillisMax;
  try {
    patiently(deadline, () => db.db.exec('VACUUM'));
    while (db.get('PRAGMA wal_checkpoint(TRUNCATE)')?.busy !== 0) {
      if (Date.now() > deadline) throw new Error('something is reading it');
      pause(busyMillis);
    }
  } catch (error) {
    const reason = (error as Error).message;
    throw new NotClean(`erased, but the file may still hold copies (${reason}): run purge again`);
  }
}

/** Another process may hold the lock for a while. */
function patiently(deadline: number, work: () => void): void {
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (sqliteCode(error) !== sqliteBusy || Date.now() > deadline) throw error;
      pause(busyMillis);
    }
  }
}

class NotClean extends Error {}

const pause = (millis: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis);

/** One write among others: if it fails, it alone is undone. */
function attempt(write: Write): WriteResult {
  db.run('SAVEPOINT write');
  try {
    const value = perform(write);
    db.run('RELEASE write');
    return { value };
  } catch (error) {
    // A full disk rolls back the whole transaction by itself, and all writes of it with it.
    if (!db.db.isTransaction) throw error;
    db.db.exec('ROLLBACK TO write; RELEASE write');
    return { failure: failureOf(error) };
  }
}

function perform(write: Write): unknown {
  switch (write.name) {
    case 'updateChildChunk':
      return updateChildChunk(write.edit);
    case 'applyRecords':
      return applyRecords(write.spooled, write.author);
    case 'createKey':
      return createKey(write.key, write.createdBy);
    case 'revokeKey':
      return revokeKey(write.id, write.by, write.now);
    case 'changeSession':
      return void db.run(...changeSession(write.change));
    case 'purge':
      return purge(write.selection, write.now);
    case 'trimAudit':
      return db.run(audit.trimEntries, write.before, limits.auditBatchMax);
    case 'noteKeyUse':
      for (const [id, at] of write.uses) db.run(embedded.noteKeyUse, at, id);
      return;
  }
}

function updateChildChunk(edit: ChildChunkEdit): ChildChunkOutcome {
  const found = sql.childChunkOf(db.all(sql.findChildChunk, ...sql.childChunkValues(edit)));
  const settled = decideEdit(found, edit);
  if (settled !== undefined) return settled;
  const { chunk } = found.child_chunk ?? fail('settled as writable');
  const { dataset_id, content, version } = edit;
  const word_count = countWords(content);
  if (chunk.content !== content) db.run(embedded.keepRevision, edit.now, edit.key_id, dataset_id, chunk.id);
  const updated_at = Math.max(edit.now, chunk.updated_at);
  db.run(embedded.replaceChildChunk, content, word_count, updated_at, version, dataset_id, chunk.id);
  note(audit.editEntry(edit), dataset_id);
  return { chunk: { ...chunk, content, word_count, type: 'customized', updated_at }, version };
}

function note(entry: AuditEntry, dataset_id?: string): void {
  db.run(audit.writeEntry, ...audit.rowOf(entry, dataset_id));
}

function applyRecords(spooled: Spooled, author: Author): number {
  const tally = new AuditTally();
  const writer = new RecordWriter(db);
  let applied = 0;
  for (const batch of readSpool(spooled)) {
    for (const record of batch) {
      writer.write(record);
      tally.add(record);
      applied += 1;
      if (applied % progressEvery === 0) response({ applied });
    }
  }
  writer.finish();
  for (const entry of tally.entries(author)) note(entry);
  return applied;
}

function createKey(key: CreatedKey, createdBy: string | null): void {
  db.run(sql.createKey, ...sql.createKeyValues(key));
  note(audit.keyEntry('create', key.id, createdBy, key.created_at));
}

function revokeKey(id: string, by: string | null, now: number): boolean {
  if (db.run(sql.revokeKey, now, id) === 0) return false;
  note(audit.keyEntry('revoke', id, by, now));
  return true;
}

function purge(selection: Purge, now: number) {
  const [by, values] = sql.purgeBy(selection);
  const ids = db.all(sql.purge.chosen(by), ...values).map(({ conversation_id }) => conversation_id as string);
  db.run(subtractFromApps(sql.purge.chosen(by)), ...values);
  db.run(sql.purge.days(by), ...values);
  const messages = db.run(sql.purge.messages(by), ...values);
  const conversations = db.run(sql.purge.conversations(by), ...values);
  for (const entry of audit.purgeEntries(ids, messages, now)) note(entry);
  return { conversations, messages };
}

function failureOf(error: unknown): WriteFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof BadRecord) return { kind: 'bad-record', message };
  if (error instanceof ServiceError) return { kind: 'unavailable', message };
  if (error instanceof NotClean) return { kind: 'internal', message };
  const code = sqliteCode(error);
  if (code !== undefined && transientSqliteCodes.includes(code)) {
    trouble = code;
    return { kind: 'unavailable', message: `${workerData.path}: ${explainDiskError(error)}` };
  }
  return { kind: 'internal', message };
}

function fail(message: string): never {
  throw new Error(message);
}
