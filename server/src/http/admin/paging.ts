import { limits } from '../../contract/limits.ts';
import { cursorProblem } from '../../contract/rules.ts';
import type { ListRange } from '../../domain/admin-reads.ts';
import { invalidParam } from '../../domain/errors.ts';

type SortKey = readonly (string | number)[];
type Query = { limit?: number; cursor?: string };

/** One page of a list, as in the response. */
export type Page<R> = { limit: number; has_more: boolean; data: R[]; next_cursor: string | null };

/**
 * Pages of a list. A cursor is the encoded sort key of a page's last row, and opaque to clients. The next page starts after
 * that key, so if rows are added or deleted in between, no other row is repeated or skipped.
 */
export class Paging<R> {
  readonly #types: readonly ('string' | 'number')[];
  readonly #keyOf: (row: R) => SortKey;

  /** `types` are the types of the values in the sort key. */
  constructor(types: readonly ('string' | 'number')[], keyOf: (row: R) => SortKey) {
    this.#types = types;
    this.#keyOf = keyOf;
  }

  /** Reads a page: `find` returns the rows in a range of the list. */
  async read({ limit = limits.listRowsDefault, cursor }: Query, find: (range: ListRange) => Promise<R[]>) {
    const after = cursor === undefined ? undefined : this.#decode(cursor);
    return this.#page(await find({ after, count: limit + 1 }), limit);
  }

  /** Reads a page of a list that is searched in windows: `find` also returns the key after which the search continues. */
  async readWindow(
    { limit = limits.listRowsDefault, cursor }: Query,
    find: (range: ListRange) => Promise<{ rows: R[]; next: SortKey | undefined }>,
  ): Promise<Page<R>> {
    const after = cursor === undefined ? undefined : this.#decode(cursor);
    const { rows: data, next } = await find({ after, count: limit });
    return { limit, has_more: next !== undefined, data, next_cursor: next === undefined ? null : encode(next) };
  }

  #page(rows: readonly R[], limit: number): Page<R> {
    const data = rows.slice(0, limit);
    const last = rows.length > limit ? data.at(-1) : undefined;
    const next_cursor = last === undefined ? null : encode(this.#keyOf(last));
    return { limit, has_more: last !== undefined, data, next_cursor };
  }

  #decode(cursor: string): SortKey {
    const key = parse(cursor);
    const fits = (value: unknown, index: number) => typeof value === this.#types[index] && isComparable(value);
    if (!Array.isArray(key) || key.length !== this.#types.length || !key.every(fits) || encode(key) !== cursor) {
      throw invalidParam(`cursor ${cursorProblem}`);
    }
    return key;
  }
}

const encode = (key: SortKey): string => Buffer.from(JSON.stringify(key)).toString('base64url');

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** A value that the database would reject cannot come from a row. */
function isComparable(value: unknown): boolean {
  return typeof value === 'string' ? value.isWellFormed() && !value.includes('\0') : Number.isSafeInteger(value);
}
