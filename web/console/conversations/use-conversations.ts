import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { type CursorPage, type List, useList } from '../hooks/requests.ts';
import { pathOf, request } from '../state/api.ts';
import { useChanges } from '../state/changes.ts';
import type { Filters } from '../state/route.ts';
import type { ConversationSummary, SearchHit } from '../state/types.ts';
import { isSearched, queryOf } from './search-query.ts';

/** A conversation in the list, with the newest of its messages that the search has found. */
export type ConversationEntry = { id: string; app_id: string; hit?: SearchHit };

/** The address of a conversation: at its newest hit, if it has hits. */
export const placeOf = ({ id, app_id, hit }: ConversationEntry): string[] =>
  ['conversations', app_id, id, hit?.message_id].filter((part) => part !== undefined);

export type Conversations = ReturnType<typeof useConversations>;

const pageRows = 50;

/**
 * The list of conversations: all of them by their latest activity, or those with hits of the search and the filters. The
 * summaries are in one place, so that the list and the open conversation show the same numbers. `open` is the open
 * conversation; `mayMove` tells whether rows may change their places now. `fresh` rows came since the list was read.
 */
export function useConversations(filters: Filters, open: string | undefined, mayMove: () => boolean) {
  const isSearch = isSearched(filters);
  const query = { ...queryOf(filters), limit: pageRows };
  const path = isSearch
    ? pathOf(['admin', 'search'], { ...query, group: 'conversation', order: filters.order })
    : pathOf(['admin', 'conversations'], query);
  const all = useList<ConversationSummary>(isSearch ? undefined : path);
  const found = useList<SearchHit>(isSearch ? path : undefined);
  const entries: readonly ConversationEntry[] = useMemo(
    () => (isSearch ? entriesOf(found.rows) : all.rows),
    [isSearch, found.rows, all.rows],
  );
  const { summaryOf, put, refresh } = useSummaries();
  useMemo(() => put(all.rows), [all.rows]);
  const ids = useMemo(() => [...new Set([...entries.map(({ id }) => id), open ?? []].flat())], [entries, open]);
  useEffect(() => void refresh(ids.filter((id) => summaryOf(id) === undefined)), [ids]);
  const rowIds = isSearch ? found.rows.map(({ message_id }) => message_id) : all.rows.map(({ id }) => id);
  const { fresh, look } = useFresh(path, rowIds, ids);
  useChanges((changes) => {
    const changedIds = new Set(changes.map(({ kind, id, path }) => (kind === 'message' ? path.conversation_id : id)));
    const isMoving = !isSearch && !all.isLoading && all.error === undefined && mayMove();
    if (isMoving) all.refresh(({ id }) => id).catch(ignore);
    else if (changes.length > 0) look();
    const refreshedIds = new Set(isMoving ? all.rows.slice(0, pageRows).map(({ id }) => id) : []);
    const isOld = (id: string) => !refreshedIds.has(id) && (changes.length === 0 || changedIds.has(id));
    void refresh(ids.filter(isOld));
  });
  // A conversation that was deleted has no summary.
  const listed = entries.filter(({ id }) => summaryOf(id) !== null);
  const list: List<unknown> = isSearch ? found : all;
  return { entries: listed, list, summaryOf: (id: string) => summaryOf(id) ?? undefined, fresh };
}

/** After a change, the index of the search is up to date in about a second. */
const indexMillis = 2_000;

/** Counts the rows of the first page of a list that are not among those that were read. `look` is called after a change. */
function useFresh(path: string, rowIds: readonly string[], version: unknown) {
  const [fresh, setFresh] = useState(0);
  const timer = useRef<number | undefined>(undefined);
  const latest = useRef(rowIds);
  latest.current = rowIds;
  useEffect(() => {
    setFresh(0);
    return () => clearTimeout(timer.current);
  }, [path, version]);
  const read = async () => {
    timer.current = undefined;
    const { body } = await request<CursorPage<{ id?: string; message_id?: string }>>(path);
    const known = new Set(latest.current);
    // The list may be being read again.
    if (known.size > 0) setFresh(body.data.filter((row) => !known.has(row.message_id ?? row.id ?? '')).length);
  };
  const look = () => {
    timer.current ??= setTimeout(() => void read().catch(ignore), indexMillis);
  };
  return { fresh, look };
}

/** The next change of the feed tries again. */
const ignore = () => undefined;

/** A later page may have a conversation again, if there are very many hits. */
function entriesOf(hits: readonly SearchHit[]): ConversationEntry[] {
  const newest = Map.groupBy(hits, ({ conversation_id }) => conversation_id);
  return [...newest].flatMap(([id, [hit]]) => (hit ? { id, app_id: hit.app_id, hit } : []));
}

/** Summaries by conversation; null for a conversation that does not exist. */
function useSummaries() {
  const [, draw] = useState(0);
  const { current: summaries } = useRef(new Map<string, ConversationSummary | null>());
  const put = (rows: readonly ConversationSummary[]) => {
    for (const row of rows) summaries.set(row.id, row);
  };
  const refresh = async (ids: readonly string[]) => {
    for (let at = 0; at < ids.length; at += limits.listRowsMax) {
      const id = ids.slice(at, at + limits.listRowsMax);
      const path = pathOf(['admin', 'conversations'], { id, limit: limits.listRowsMax });
      const rows = await request<CursorPage<ConversationSummary>>(path).then(({ body }) => body.data, ignore);
      if (rows === undefined) return;
      for (const one of id) summaries.set(one, null);
      put(rows);
      draw((count) => count + 1);
    }
  };
  return { summaryOf: (id: string) => summaries.get(id), put, refresh };
}
