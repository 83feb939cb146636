import { damaged, unavailable } from '../../domain/errors.ts';
import { isClosed, isDamaged, sqliteCode, transientSqliteCodes } from '../base/disk-errors.ts';

/** Runs a read. An error that may not occur again becomes a 503, and so does a damaged page. */
export function orUnavailable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isDamaged(error)) throw damaged();
    if (!isClosed(error) && !transientSqliteCodes.includes(sqliteCode(error) ?? 0)) throw error;
    throw Object.assign(unavailable('the database is not available'), { cause: error });
  }
}
