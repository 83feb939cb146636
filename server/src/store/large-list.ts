import { setImmediate as nextTick } from 'node:timers/promises';
import { limits } from '../contract/limits.ts';
import type { FoundList, ListStream } from '../domain/store/app-store.ts';
import type { Engine, Row, Snapshot, Value } from './engine.ts';

/**
 * Lists whose rows may be large. A page up to `limits.pageBytesMax` is read as a whole. A larger one is streamed, row by
 * row, from one snapshot: its rows are read twice, first for the length of the response.
 */

type Statement = [text: string, ...values: Value[]];

/**
 * A page of a list, and one row more, to detect whether others follow. Each row has its `bytes`, the length of its large
 * columns. `small`: these columns are null if they are larger than `limits.joinedDocBytesMax`; `none`: always null.
 */
export type LargeList = {
  limit: number;
  page: (texts: 'small' | 'all' | 'none') => Statement;
  /** One row of the page, with all columns. */
  row: (row: Row) => Statement;
};

export async function readList<R>(engine: Engine, { limit, page }: LargeList): Promise<FoundList<R>> {
  const smallRows = await engine.read(...page('small'));
  const sizes = smallRows.slice(0, limit).map((row) => row.bytes as number);
  if (sizes.reduce((sum, bytes) => sum + bytes, 0) > limits.pageBytesMax) return 'too_large';
  const isWhole = smallRows.every((row) => (row.bytes as number) <= limits.joinedDocBytesMax);
  const rows = isWhole ? smallRows : await engine.read(...page('all'));
  return { rows: rows.slice(0, limit) as R[], has_more: rows.length > limit };
}

/** Closes the snapshot if it fails. */
export async function openList<R>(
  snapshot: Snapshot,
  { limit, page, row: statementOf }: LargeList,
  render: (row: R) => string,
): Promise<ListStream<R>> {
  const textOf = async (row: Row): Promise<Buffer> => {
    const [whole] = await snapshot.read(...statementOf(row));
    await nextTick();
    return Buffer.from(render(whole as R));
  };
  try {
    const rows = await snapshot.read(...page('none'));
    const items = rows.slice(0, limit);
    let bytes = Math.max(0, items.length - 1);
    for (const item of items) bytes += (await textOf(item)).length;
    const has_more = rows.length > limit;
    const last = items.at(-1) as R | undefined;
    return { has_more, last, bytes, chunks: chunksOf(items, textOf), close: () => snapshot.close() };
  } catch (error) {
    snapshot.close();
    throw error;
  }
}

async function* chunksOf(items: readonly Row[], textOf: (row: Row) => Promise<Buffer>): AsyncGenerator<Uint8Array> {
  for (const [index, item] of items.entries()) {
    const text = await textOf(item);
    yield index === 0 ? text : Buffer.concat([comma, text]);
  }
}

const comma = Buffer.from(',');
