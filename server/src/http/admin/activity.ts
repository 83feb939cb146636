import { ActivityListed, ActivityQuery } from '../../contract/audit.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { nameEntries } from '../../domain/activity/list-activity.ts';
import type { Store } from '../../domain/store/store.ts';
import type { Routes } from '../route-types.ts';
import { type CursorPage, Paging } from './paging.ts';
import { adminList } from './routes.ts';

const newestFirst = new Paging<ActivityListed>(['string'], ({ id }) => [id]);

/** The audit log. */
export const adminActivityRoutes: Routes = (app, dependencies) => {
  const { store } = dependencies;

  adminList(app, dependencies, {
    url: '/admin/activity',
    operationId: 'listActivity',
    summary: 'List activity',
    description:
      'The audit log, newest first, with the current names of keys and records. A page with `record`, `record_id` or ' +
      '`action=import` may have fewer rows than `limit`, even none, although more follow: see `has_more`.',
    querystring: ActivityQuery,
    row: ActivityListed,
    read: ({ query }) => listActivity(store, query),
  });
};

/** A page of the audit log, newest first. */
export function listActivity(store: Store, query: ActivityQuery): Promise<CursorPage<ActivityListed>> {
  return newestFirst.readWindow(query, async ({ after, count }) => {
    const { cursor: _, key_id, record_id, dataset_id, document_id, ...others } = query;
    const { entries, next } = await store.listAudit({
      ...others,
      key_id: key_id && canonicalId(key_id),
      record_id: record_id && canonicalId(record_id),
      dataset_id: dataset_id && canonicalId(dataset_id),
      document_id: document_id && canonicalId(document_id),
      before: after?.[0] as string | undefined,
      limit: count,
    });
    return { rows: await nameEntries(store, entries), next: next === undefined ? undefined : [next] };
  });
}
