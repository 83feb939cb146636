import type { Statement } from '../../base/statement.ts';

/** Waits for locks. */

export const limitLocks = (millis: number): Statement => `SET LOCAL lock_timeout = ${millis}`;
export const findOldestPrepared: Statement<{ seconds: number | null }> = `
  SELECT CAST(EXTRACT(EPOCH FROM now() - MIN(prepared)) AS float8) AS seconds FROM pg_prepared_xacts
  WHERE database = current_database()`;
