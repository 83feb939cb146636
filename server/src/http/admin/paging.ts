import { limits } from '../../contract/limits.ts';
import type { ListRange } from '../../domain/admin-reads.ts';
import { decodeCursor, encodeCursor, type SortKey } from '../request/cursor.ts';

type Query = { limit?: number; cursor?: string };

/** One page of a list, as in the response. */
export type Page<R> = { limit: number; has_more: boolean; data: R[]; next_cursor: string | null };

/**
 * Pages of a list. The next page starts after the sort key of the last row, so if rows are added or deleted in between, no
 * other row is repeated or skipped.
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
    const after = cursor === undefined ? undefined : decodeCursor(cursor, this.#types);
    return this.#page(await find({ after, count: limit + 1 }), limit);
  }

  /** Reads a page of a list that is searched in windows: `find` also returns the key after which the search continues. */
  async readWindow(
    { limit = limits.listRowsDefault, cursor }: Query,
    find: (range: ListRange) => Promise<{ rows: R[]; next: SortKey | undefined }>,
  ): Promise<Page<R>> {
    const after = cursor === undefined ? undefined : decodeCursor(cursor, this.#types);
    const { rows: data, next } = await find({ after, count: limit });
    return { limit, has_more: next !== undefined, data, next_cursor: next === undefined ? null : encodeCursor(next) };
  }

  #page(rows: readonly R[], limit: number): Page<R> {
    const data = rows.slice(0, limit);
    const last = rows.length > limit ? data.at(-1) : undefined;
    const next_cursor = last === undefined ? null : encodeCursor(this.#keyOf(last));
    return { limit, has_more: last !== undefined, data, next_cursor };
  }
}
