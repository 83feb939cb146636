import { limits } from '../contract/limits.ts';
import { clientDisconnected } from './errors.ts';
import { bytesOf, type LargeText, type Listed, nextTurn, openText, type TextParts } from './large-text.ts';
import type { ListReads, Store } from './store/store.ts';

/**
 * Lists as JSON text. One whose texts fit into one slice is rendered at once; in a turn of its own, if many of its size would hold the
 * thread. A larger one is found again in a snapshot, and rendered in slices while it is sent.
 */

export type JsonBody = string | LargeText;

/** A list, or one object, that was found. */
export type FoundList<R> = {
  /** The JSON text before and after the items. */
  head: string;
  tail: string;
  items: readonly Listed<R>[];
  /** The JSON text of each row, in parts. Returns undefined if something that belongs to the rows is too large. */
  render(rows: readonly R[]): Promise<Iterable<string> | undefined> | Iterable<string>;
  /** The JSON text of one row, in parts of bounded size. Only needed if `render` can return undefined. */
  renderLarge?(row: R): AsyncIterable<string>;
};

/** The list, and its text. `disconnected` is called only for a large one. */
export async function renderList<R, F extends FoundList<R>>(
  store: Store,
  find: (reads: ListReads) => Promise<F & FoundList<R>>,
  disconnected: () => AbortSignal,
): Promise<F & { body: JsonBody }> {
  const list = await find(store);
  const body = await renderWhole<R>(list, disconnected);
  if (body !== undefined) return { ...list, body };
  const { close, ...reads } = await store.openReads(disconnected());
  const large = await find(reads).catch((error: Error) => {
    close();
    throw error;
  });
  const read = (slice: readonly Listed<R>[]) => readSlice<R>(large, slice);
  return { ...large, body: openText({ ...large, read, close }) };
}

/** The text of the list. */
export const renderBody = async <R>(
  store: Store,
  disconnected: () => AbortSignal,
  find: (reads: ListReads) => Promise<FoundList<R>>,
): Promise<JsonBody> => (await renderList<R, FoundList<R>>(store, find, disconnected)).body;

async function renderWhole<R>(
  { head, tail, items, render }: FoundList<R>,
  disconnected: () => AbortSignal,
): Promise<string | undefined> {
  const bytes = bytesOf(items);
  if (bytes > limits.largePageReadBytes) return undefined;
  if (bytes > limits.largePageWriteBytes) {
    const signal = disconnected();
    await nextTurn();
    if (signal.aborted) throw clientDisconnected();
  }
  const text = await render(await readRows(items));
  if (text === undefined) return undefined;
  let body = head;
  for (const part of text) body += part;
  return body + tail;
}

async function readSlice<R>({ render, renderLarge }: FoundList<R>, slice: readonly Listed<R>[]): Promise<TextParts> {
  const rows = await readRows(slice);
  return rows.length === 0 ? [] : ((await render(rows)) ?? joinLarge(rows, (row) => renderLarge?.(row) ?? []));
}

/** The rows of items, also of large ones, without those that do not exist any more. */
export async function readRows<R>(items: readonly Listed<R>[]): Promise<R[]> {
  const rows: R[] = [];
  for (const { row, readLarge } of items) {
    const fullRow = row ?? (await readLarge());
    if (fullRow !== undefined) rows.push(fullRow);
  }
  return rows;
}

async function* joinLarge<R>(rows: readonly R[], textOf: (row: R) => TextParts): AsyncGenerator<string | Uint8Array> {
  for (const [index, row] of rows.entries()) {
    if (index > 0) yield ',';
    yield* textOf(row);
  }
}
