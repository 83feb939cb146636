import { limits } from '../../contract/limits.ts';
import { type LargeText, openText, type TextParts } from '../large-text.ts';
import type { ItemSize, KnowledgeReads, OffsetQuery, OffsetRows } from '../store/knowledge-reads.ts';
import type { Store } from '../store/store.ts';

/**
 * Offset pages as JSON text. A page whose texts fit into memory is rendered at once. A larger one is read from a
 * snapshot.
 */

export type JsonBody = string | LargeText;

/** One page, or one object, that was found. */
export type FoundItems<R> = Pick<OffsetRows<R>, 'items' | 'rows'> & {
  /** The JSON text before and after the items. */
  head: string;
  tail: string;
  /** Reads whole rows, in the order of the ids. */
  readRows(ids: readonly string[]): Promise<readonly R[]>;
  /** The JSON text of each row, in parts. Returns undefined if something that belongs to the rows is too large. */
  render(rows: readonly R[]): Promise<AsyncIterable<string> | undefined> | Iterable<string>;
  /** The JSON text of one row, in parts of bounded size. Only needed if `render` can return undefined. */
  renderLarge?(row: R): AsyncIterable<string>;
};

/** Finds a page with current data, and again in a snapshot if the page is too large. */
export async function renderItems<R>(
  store: Store,
  find: (reads: KnowledgeReads) => Promise<FoundItems<R>>,
  disconnected: () => AbortSignal,
): Promise<JsonBody> {
  const found = await find(store.knowledge);
  const text = found.rows === undefined ? undefined : await found.render(found.rows);
  if (text !== undefined) {
    let body = found.head;
    for await (const part of text) body += part;
    return body + found.tail;
  }
  const { reads, close } = await store.openKnowledge(disconnected());
  const large = await find(reads).catch((error: Error) => {
    close();
    throw error;
  });
  return openText({ ...large, read: (batch) => readText(large, batch), close });
}

async function readText<R>({ readRows, render, renderLarge }: FoundItems<R>, batch: readonly ItemSize[]) {
  const rows = await readRows(batch.map(({ id }) => id));
  return rows.length === 0 ? [] : ((await render(rows)) ?? joinLarge(rows, (row) => renderLarge?.(row) ?? []));
}

async function* joinLarge<R>(rows: readonly R[], textOf: (row: R) => TextParts): AsyncGenerator<string | Uint8Array> {
  for (const [index, row] of rows.entries()) {
    if (index > 0) yield ',';
    yield* textOf(row);
  }
}

/** The rest of an envelope, after its data. */
export const envelopeEnd = (fields: object): string => `],${JSON.stringify(fields).slice(1)}`;
export const hasMore = ({ page, limit }: OffsetQuery, total: number): boolean => page * limit < total;

type OffsetParameters = { page?: number; limit?: number };
/** With the defaults of the API. */
export const withPage = <Q extends OffsetParameters>(query: Q) => ({
  ...query,
  page: query.page ?? 1,
  limit: query.limit ?? limits.listRowsDefault,
});
