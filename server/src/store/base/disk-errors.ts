import { asError } from '../../domain/errors.ts';
/** SQLite's primary result code; undefined if the error is not from SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  const { code, errcode } = asError(error);
  return code === 'ERR_SQLITE_ERROR' && errcode !== undefined ? errcode & 0xff : undefined;
}

/** The database was closed before a late request reached it. */
export const isClosed = (error: unknown): boolean => asError(error).code === 'ERR_INVALID_STATE';

export const sqliteBusy = 5;
export const sqliteReadOnly = 8;
const sqliteLocked = 6;
const sqliteInterrupted = 9;
const sqliteIoError = 10;
const sqliteCorrupt = 11;
const sqliteFull = 13;
const sqliteCannotOpen = 14;
const sqliteNoDatabase = 26;

/** Errors that may not occur again if the request is repeated later. */
export const transientSqliteCodes: readonly number[] = [
  ...[sqliteBusy, sqliteLocked, sqliteReadOnly, sqliteInterrupted],
  ...[sqliteIoError, sqliteFull, sqliteCannotOpen],
];

/** The file has a page that is not valid. Restarts and repeated requests do not help. */
export const isDamaged = (error: unknown): boolean =>
  [sqliteCorrupt, sqliteNoDatabase].includes(sqliteCode(error) ?? 0);

const full = 'the disk is full: free some space';
const explanations: Readonly<Record<string | number, string>> = {
  [sqliteReadOnly]: 'the database file is read-only: give the user who runs this program write permission',
  [sqliteIoError]: 'the disk cannot be written: check that it is not full or failing, and check file size limits',
  [sqliteFull]: full,
  [sqliteCannotOpen]: 'a file cannot be opened: check the permissions of the folder',
  ENOSPC: full,
  EDQUOT: full,
};

/** Why the disk cannot be written and how to fix it, in one line for an operator. */
export function explainDiskError(error: unknown): string {
  const { code } = asError(error);
  const message = error instanceof Error ? error.message : String(error);
  const explanation = explanations[sqliteCode(error) ?? code ?? ''];
  return explanation === undefined ? message : `${explanation} (${message})`;
}
