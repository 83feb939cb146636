import { limits } from '../contract/limits.ts';
import { decodeCursor, encodeCursor, type SortKey } from './cursor.ts';
import { type ListRange, type ListRows, sortText } from './store/admin-reads.ts';

type Query = { limit?: number; cursor?: string };

/** One page of a list, as in the response. */
export type CursorPage<R> = { limit: number; has_more: boolean; data: R[]; next_cursor: string | null };

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
  read(query: Query, find: (range: ListRange) => Promise<ListRows<R>>): Promise<CursorPage<R>> {
    return this.readWindow(query, async (range) => {
      const { rows, has_more } = await find(range);
      const last = has_more ? rows.at(-1) : undefined;
      return { rows, next: last && this.#keyOf(last) };
    });
  }

  /** Reads a page of a list that is searched in windows: `find` also returns the key after which the search continues. */
  async readWindow(
    { limit = limits.listRowsDefault, cursor }: Query,
    find: (range: ListRange) => Promise<{ rows: R[]; next: SortKey | undefined }>,
  ): Promise<CursorPage<R>> {
    const after = cursor === undefined ? undefined : decodeCursor(cursor, this.#types);
    const { rows: data, next } = await find({ after, count: limit });
    return { limit, has_more: next !== undefined, data, next_cursor: next === undefined ? null : encodeCursor(next) };
  }
}

/** Pages of a list by name, then by id. */
export const byName = <R extends { name: string; id: string }>(): Paging<R> =>
  new Paging<R>(['string', 'string'], ({ name, id }) => [sortText(name), id]);

/** The rows of all pages, or the first ones. */
export async function readAll<R>(
  readPage: (page: { limit: number; cursor?: string }) => Promise<CursorPage<R>>,
  max = Number.POSITIVE_INFINITY,
): Promise<R[]> {
  const rows: R[] = [];
  for (let cursor: string | null | undefined; cursor !== null && rows.length < max; ) {
    const limit = Math.min(max - rows.length, limits.listRowsMax);
    const page = await readPage({ limit, ...(cursor && { cursor }) });
    rows.push(...page.data);
    cursor = page.next_cursor;
  }
  return rows;
}
