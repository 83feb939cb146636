import { request } from '../state/api.ts';
import { limits } from '../state/server-rules.ts';
import { type CursorPage, type List, withCursor } from './use-list.ts';
import { useReading } from './use-reading.ts';

/** All rows of a list; none until they are loaded. */
export type All<T> = Omit<List<T>, 'refresh'>;

const none: readonly never[] = [];

/** Reads a list to its end, for lists that are only useful as a whole. */
export function useAll<T>(path: string): All<T> {
  const { body, error, reload } = useReading(path, (signal) => readPages<T>(path, signal));
  const isLoading = body === undefined && error === undefined;
  return { rows: body ?? none, hasMore: false, isLoading, error, more: reload, reload };
}

async function readPages<T>(path: string, signal: AbortSignal): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  do {
    const page = withCursor(`${path}?limit=${limits.listRowsMax}`, cursor);
    const { body }: { body: CursorPage<T> } = await request(page, { signal });
    rows.push(...body.data);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return rows;
}
