import { limits } from '../../contract/limits.ts';
import type { ItemSize, KnowledgeReads, NumberedQuery, NumberedRows } from '../store/knowledge-reads.ts';
import type { Store } from '../store/store.ts';

/**
 * Pages of numbered lists as JSON text. A page whose texts fit into memory is rendered at once. A larger one is read from a
 * snapshot, in batches: once to compute its length, and once more while it is sent.
 */

/** A response that is too large for memory. The caller must always close it. Closing it twice is harmless. */
export type LargeBody = { bytes: number; text: AsyncIterable<Uint8Array>; close(): void };
export type JsonBody = string | LargeBody;

/** One page, or one object, that was found. */
export type FoundItems<R> = Pick<NumberedRows<R>, 'items' | 'rows'> & {
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
  try {
    const large = await find(reads);
    let bytes = 0;
    for await (const part of textOf(large)) bytes += Buffer.byteLength(part);
    return { bytes, text: encode(textOf(large)), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Small parts are joined, so that few chunks are sent. */
async function* encode(text: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let joinedParts = '';
  for await (const part of text) {
    joinedParts += part;
    if (joinedParts.length < limits.joinedDocBytesMax) continue;
    yield Buffer.from(joinedParts);
    joinedParts = '';
  }
  yield Buffer.from(joinedParts);
}

async function* textOf<R>(found: FoundItems<R>): AsyncGenerator<string> {
  yield found.head;
  let isFirst = true;
  for (const batch of batchesOf(found.items)) {
    const rows = await found.readRows(batch.map(({ id }) => id));
    if (rows.length === 0) continue;
    if (!isFirst) yield ',';
    isFirst = false;
    const text = await found.render(rows);
    if (text !== undefined) yield* text;
    else for (const [index, row] of rows.entries()) yield* joined(index, found.renderLarge?.(row) ?? []);
  }
  yield found.tail;
}

async function* joined(index: number, text: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  if (index > 0) yield ',';
  yield* text;
}

/** Texts of rows, joined by commas. */
export function* renderRows<R>(rows: readonly R[], textOfRow: (row: R) => string): Generator<string> {
  for (const [index, row] of rows.entries()) yield index === 0 ? textOfRow(row) : `,${textOfRow(row)}`;
}

function* batchesOf(items: readonly ItemSize[]): Generator<ItemSize[]> {
  let batch: ItemSize[] = [];
  let bytes = 0;
  for (const item of items) {
    if (batch.length > 0 && bytes + item.bytes > limits.largePageReadBytes) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(item);
    bytes += item.bytes;
  }
  if (batch.length > 0) yield batch;
}

/** The rest of an envelope, after its data. */
export const envelopeEnd = (fields: object): string => `],${JSON.stringify(fields).slice(1)}`;
export const hasMore = ({ page, limit }: NumberedQuery, total: number): boolean => page * limit < total;
