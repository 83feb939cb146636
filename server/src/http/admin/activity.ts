import { ActivityListed, ActivityQuery, ReadListed, ReadQuery } from '../../contract/audit.ts';
import { listActivity, listReads } from '../../domain/activity/list-activity.ts';
import { together } from '../route-types.ts';
import { adminPage } from './routes.ts';

/** The audit log. */
export const adminActivityRoutes = together(
  adminPage('listActivity', '/admin/activity', {
    summary: 'List activity',
    description:
      'The audit log, newest first, with the current names of keys and records. A page with `record`, `record_id` or ' +
      '`action=import` may have fewer rows than `limit`, even none, although more follow: see `has_more`.',
    querystring: ActivityQuery,
    row: ActivityListed,
    run: ({ query, store }) => listActivity(store, query),
  }),
  adminPage('listReads', '/admin/reads', {
    summary: 'List reads',
    description:
      'Who opened, copied or searched what end users said, newest first: one entry for each author and object in an hour, a few ' +
      'seconds after the request. `AUDIT_READS` says which requests are noted.',
    querystring: ReadQuery,
    row: ReadListed,
    errors: [403],
    run: ({ query, store }) => listReads(store, query),
  }),
);
