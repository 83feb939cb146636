import { ActivityListed, ActivityQuery } from '../../contract/audit.ts';
import { listActivity } from '../../domain/activity/list-activity.ts';
import type { Routes } from '../route-types.ts';
import { adminList } from './routes.ts';

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
    run: ({ query }) => listActivity(store, query),
  });
};
