import { setImmediate as nextTick } from 'node:timers/promises';
import { limits } from '../contract/limits.ts';
import type { PageShape } from '../domain/store/store.ts';
import type { Row } from './engine.ts';

/** A message of a large page before its text is read. */
export type MessagePosition = { id: string; bytes: number; created_at: number; sequence: number };

/** The messages of a page in its order, from rows that are newest first and may have one message more than the page. */
export function pageOfRows(rows: readonly Row[], { limit, page_order }: PageShape) {
  const newest = rows.slice(0, limit) as MessagePosition[];
  const next = rows.length > limit ? newest.at(-1)?.id : undefined;
  const messages = page_order === 'newest_first' ? newest : newest.toReversed();
  const bytes = messages.reduce((sum, message) => sum + message.bytes, Math.max(0, messages.length - 1));
  return { messages, bytes, next };
}

const comma = Buffer.from(',');

/** Texts of messages joined by commas, read in batches. Other requests can run between two batches. */
export async function* readInBatches(
  messages: readonly MessagePosition[],
  read: (batch: readonly MessagePosition[]) => Promise<Uint8Array[]>,
): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < messages.length; ) {
    let end = start;
    let bytes = 0;
    do bytes += messages[end++]?.bytes ?? 0;
    while (end < messages.length && bytes + (messages[end]?.bytes ?? 0) <= limits.largePageReadBytes);
    const docs = await read(messages.slice(start, end));
    yield Buffer.concat(docs.flatMap((doc, index) => (start + index === 0 ? [doc] : [comma, doc])));
    start = end;
    await nextTick();
  }
}
