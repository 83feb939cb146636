/** SQLite's primary result code, where the error is SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  const { code, errcode } = error as { code?: string; errcode?: number };
  return code === 'ERR_SQLITE_ERROR' && errcode !== undefined ? errcode & 0xff : undefined;
}

/** The database was closed under a request that came late. */
export const isClosed = (error: unknown): boolean => (error as { code?: string }).code === 'ERR_INVALID_STATE';

export const sqliteBusy = 5;
export const sqliteReadOnly = 8;
/** Busy, locked, read-only, interrupted, I/O error, full, cannot open: not wrong, only not now. */
export const transientSqliteCodes: readonly number[] = [sqliteBusy, 6, sqliteReadOnly, 9, 10, 13, 14];
