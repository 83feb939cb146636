import { useEffect, useState } from '../shared/dom.ts';
import { ask, pathOf } from './api.ts';
import type { Page } from './use-list.ts';

/** Rows that lists have shown, by their ids, which are unique in an installation. */
const known = new Map<string, { id: string }>();

export function remember(rows: readonly { id: string }[]): void {
  for (const row of rows) known.set(row.id, row);
}

const pagesMax = 10;

/** A row of a list by its id, for its name: as it was shown, or else looked for in the first thousand. */
export function useRow<T extends { id: string }>(parts: readonly string[], id: string | undefined): T | undefined {
  const [, setTurn] = useState(0);
  const path = id === undefined || known.has(id) ? undefined : pathOf(parts, { limit: 100 });
  useEffect(() => {
    if (path === undefined || id === undefined) return undefined;
    const leaving = new AbortController();
    find(path, id, leaving.signal).then(
      () => setTurn((turn) => turn + 1),
      // The list below says what is wrong; a name more or less does not matter then.
      () => undefined,
    );
    return () => leaving.abort();
  }, [path, id]);
  return id === undefined ? undefined : (known.get(id) as T | undefined);
}

async function find(path: string, id: string, signal: AbortSignal): Promise<void> {
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax && !known.has(id); page += 1) {
    const next: string = cursor === null ? path : `${path}&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await ask<Page<{ id: string }>>(next, { signal });
    remember(body.data);
    cursor = body.next_cursor;
    if (cursor === null) return;
  }
}
