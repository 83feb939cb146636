import { ActivityListed, ActivityQuery, ReadListed, ReadQuery } from '../../contract/audit.ts';
import { listActivity } from '../../domain/activity/list-activity.ts';
import { listReads } from '../../domain/activity/list-reads.ts';
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

  adminList(app, dependencies, {
    url: '/admin/reads',
    operationId: 'listReads',
    summary: 'List reads',
    description:
      'Who opened, copied or searched what end users said, newest first: one entry for each author and object in an hour, a few ' +
      'seconds after the request. `AUDIT_READS` says which requests are noted.',
    querystring: ReadQuery,
    row: ReadListed,
    errors: [403],
    run: ({ query }) => listReads(store, query),
  });
};
