import type { Static } from 'typebox';
import type { ConversationSummary, SummaryQuery } from '../../contract/console/activity.ts';
import { limits } from '../../contract/limits.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { type CursorPage, Paging } from '../paging.ts';
import { selectionOf } from '../store/selection.ts';
import type { Store } from '../store/store.ts';
import { requireApp } from './require-app.ts';

const latestFirst = new Paging<ConversationSummary>(['number', 'string'], ({ updated_at, id }) => [updated_at, id]);

/** A page of the conversations of all apps: latest update first, then by id, descending. */
export function listAllConversations(
  store: Store,
  query: Static<typeof SummaryQuery>,
): Promise<CursorPage<ConversationSummary>> {
  const { id, cursor, app_id } = query;
  const ids = id?.map(canonicalId);
  const page = ids === undefined ? query : { limit: limits.listRowsMax, ...(cursor && { cursor }) };
  return latestFirst.read(page, async (range) => {
    if (app_id !== undefined) await requireApp(store, app_id);
    return store.activity.listSummaries(selectionOf(query), ids, range);
  });
}
