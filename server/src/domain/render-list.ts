import { limits } from '../contract/limits.ts';
import { type LargeText, type Listed, openText, type TextParts } from './large-text.ts';
import type { ListReads, Store } from './store/store.ts';

/**
 * Lists as JSON text. One whose texts fit into memory is rendered at once. A larger one is found again in a snapshot, and rendered in
 * slices while it is sent.
 */

export type JsonBody = string | LargeText;

/** A list, or one object, that was found. */
export type FoundList<R, K = string> = {
  /** The JSON text before and after the items. */
  head: string;
  tail: string;
  items: readonly Listed<R, K>[];
  /** Reads a large row. Undefined if it does not exist any more. */
  readRow(key: K): Promise<R | undefined>;
  /** The JSON text of each row, in parts. Returns undefined if something that belongs to the rows is too large. */
  render(rows: readonly R[]): Promise<Iterable<string> | undefined> | Iterable<string>;
  /** The JSON text of one row, in parts of bounded size. Only needed if `render` can return undefined. */
  renderLarge?(row: R): AsyncIterable<string>;
};

/** The list, and its text. `disconnected` is called only for a large one. */
export async function renderList<R, K, F extends FoundList<R, K>>(
  store: Store,
  find: (reads: ListReads) => Promise<F & FoundList<R, K>>,
  disconnected: () => AbortSignal,
): Promise<F & { body: JsonBody }> {
  const found = await find(store);
  const body = await renderWhole<R, K>(found);
  if (body !== undefined) return { ...found, body };
  const { close, ...reads } = await store.openReads(disconnected());
  const large = await find(reads).catch((error: Error) => {
    close();
    throw error;
  });
  const read = (slice: readonly Listed<R, K>[]) => readSlice<R, K>(large, slice);
  return { ...large, body: openText({ ...large, read, close }) };
}

/** The text of the list. */
export const renderBody = async <R, K>(
  store: Store,
  disconnected: () => AbortSignal,
  find: (reads: ListReads) => Promise<FoundList<R, K>>,
): Promise<JsonBody> => (await renderList<R, K, FoundList<R, K>>(store, find, disconnected)).body;

async function renderWhole<R, K>({ head, tail, items, readRow, render }: FoundList<R, K>): Promise<string | undefined> {
  if (items.reduce((sum, { bytes }) => sum + bytes, 0) > limits.pageBytesMax) return undefined;
  const text = await render(await readRows(items, readRow));
  if (text === undefined) return undefined;
  let body = head;
  for (const part of text) body += part;
  return body + tail;
}

async function readSlice<R, K>(
  { readRow, render, renderLarge }: FoundList<R, K>,
  slice: readonly Listed<R, K>[],
): Promise<TextParts> {
  const rows = await readRows(slice, readRow);
  return rows.length === 0 ? [] : ((await render(rows)) ?? joinLarge(rows, (row) => renderLarge?.(row) ?? []));
}

/** The rows of items, also of large ones, without those that do not exist any more. */
export async function readRows<R, K>(
  items: readonly Listed<R, K>[],
  readRow: (key: K) => Promise<R | undefined>,
): Promise<R[]> {
  const rows: R[] = [];
  for (const { key, row } of items) {
    const whole = row ?? (await readRow(key));
    if (whole !== undefined) rows.push(whole);
  }
  return rows;
}

async function* joinLarge<R>(rows: readonly R[], textOf: (row: R) => TextParts): AsyncGenerator<string | Uint8Array> {
  for (const [index, row] of rows.entries()) {
    if (index > 0) yield ',';
    yield* textOf(row);
  }
}
