import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync } from 'node:fs';
import { unavailable } from '../../domain/errors.ts';
import { sqliteBusy, sqliteCode } from '../base/disk-errors.ts';
import type { Connection } from './connection.ts';

/** Removes copies of deleted texts from the files, on the writer thread. */

/** Duration of one attempt to get the write lock while another process has it. */
export const busyMillis = 200;
/** Time until no other process writes, so that the file can be rebuilt. */
const otherWriterMillisMax = 70_000;

/**
 * Overwriting deleted cells is not enough: SQLite leaves copies in the unused parts of pages when it moves rows.
 */
export function rebuildFile(db: Connection): void {
  const deadline = Date.now() + otherWriterMillisMax;
  for (;;) {
    try {
      db.db.exec('VACUUM');
      return;
    } catch (error) {
      const isTemporary = sqliteCode(error) === sqliteBusy && Date.now() < deadline;
      if (!isTemporary) throw unavailable(`the file of the database cannot be rebuilt: ${(error as Error).message}`);
      pause(busyMillis);
    }
  }
}

const pause = (millis: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis);

/** Layout of the log: https://sqlite.org/fileformat2.html#walformat */
const headerBytes = 32;
const frameHeaderBytes = 24;
const pageBytesAt = 8;
const saltAt = { header: 16, frame: 8 } as const;
const saltBytes = 8;

/**
 * One attempt to remove everything from the log at `path` that was written while it had the salt `oldSalt`, or null for its
 * present one. While another process reads data that is older than the last frame, SQLite copies nothing past that
 * reader's mark and does not start the log again: the result has the salt for the next attempt.
 *
 * A log with another salt was started again, so all of its old frames are in the file. Those that are not overwritten yet
 * are cut off.
 */
export function emptyLog(db: Connection, path: string, oldSalt: string | null): { isEmpty: boolean; salt: string } {
  const log = openSync(path, 'r+');
  try {
    const { salt } = readHeader(log);
    if (salt === '') return { isEmpty: true, salt };
    if (oldSalt !== null && salt !== oldSalt) return { isEmpty: cutOldFrames(db, log), salt };
    const { busy, log: frames, checkpointed } = db.get('PRAGMA wal_checkpoint(PASSIVE)') ?? {};
    // Only now does it wait for readers, for `busyMillis` at most, since other writes wait meanwhile.
    const isCopied = busy === 0 && frames === checkpointed;
    return { isEmpty: isCopied && db.get('PRAGMA wal_checkpoint(TRUNCATE)')?.busy === 0, salt };
  } finally {
    closeSync(log);
  }
}

/** The salt is empty if the log is. */
function readHeader(log: number): { salt: string; pageBytes: number } {
  const header = Buffer.alloc(headerBytes);
  if (readSync(log, header, 0, headerBytes, 0) < headerBytes) return { salt: '', pageBytes: 0 };
  const salt = header.toString('hex', saltAt.header, saltAt.header + saltBytes);
  return { salt, pageBytes: header.readUInt32BE(pageBytesAt) };
}

/**
 * Cuts the log after its last frame with the present salt, as SQLite does itself for a log over its limit: under the write
 * lock, so that no frame is added meanwhile. No reader looks beyond that frame. Returns false if the lock is not free.
 */
function cutOldFrames(db: Connection, log: number): boolean {
  try {
    db.db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    if (sqliteCode(error) === sqliteBusy) return false;
    throw error;
  }
  try {
    const { salt, pageBytes } = readHeader(log);
    const frameBytes = frameHeaderBytes + pageBytes;
    const frame = Buffer.alloc(frameHeaderBytes);
    let [known, end] = [0, Math.floor((fstatSync(log).size - headerBytes) / frameBytes)];
    while (known < end) {
      const middle = Math.floor((known + end) / 2);
      readSync(log, frame, 0, frameHeaderBytes, headerBytes + middle * frameBytes);
      if (frame.toString('hex', saltAt.frame, saltAt.frame + saltBytes) === salt) known = middle + 1;
      else end = middle;
    }
    ftruncateSync(log, headerBytes + known * frameBytes);
    fsyncSync(log);
    return true;
  } finally {
    db.db.exec('ROLLBACK');
  }
}
