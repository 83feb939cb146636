import { cursorProblem } from '../contract/rules.ts';
import { invalidParam, type ServiceError } from './errors.ts';

/** The values by which a list is sorted, of one row. */
export type SortKey = readonly (string | number)[];

/** A cursor is the encoded sort key of a page's last row, and opaque to clients. */
export const encodeCursor = (key: SortKey): string => Buffer.from(JSON.stringify(key)).toString('base64url');

/** The sort key, whose values have these types. Throws if it is not a cursor of such a list. */
export function decodeCursor(cursor: string, types: readonly ('string' | 'number')[]): SortKey {
  const key = parse(cursor);
  const fits = (value: unknown, index: number) => typeof value === types[index] && isComparable(value);
  if (!Array.isArray(key) || key.length !== types.length || !key.every(fits) || encodeCursor(key) !== cursor) {
    throw invalidCursor();
  }
  return key;
}

export const invalidCursor = (): ServiceError => invalidParam(`cursor ${cursorProblem}`);

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** A value that the database would reject cannot come from a row. */
export function isComparable(value: unknown): boolean {
  return typeof value === 'string' ? value.isWellFormed() && !value.includes('\0') : Number.isSafeInteger(value);
}
