import { UsageListed, UsageQuery } from '../../contract/console/activity.ts';
import { dayOf, parseDay } from '../../domain/records/usage.ts';
import type { Routes } from '../route-types.ts';
import { Paging } from './paging.ts';
import { adminList } from './routes.ts';
import { requireApp } from './workspaces.ts';

/** How many days are listed without `since`. */
const daysDefault = 30;

const usage = new Paging<UsageListed>(['number', 'string', 'string'], ({ day, app_id, currency }) => [
  parseDay(day),
  app_id,
  currency ?? '',
]);

/** Messages, tokens and price of apps by day. */
export const adminUsageRoutes: Routes = (app, dependencies) => {
  const { store, clock } = dependencies;

  adminList(app, dependencies, {
    url: '/admin/usage',
    operationId: 'listUsage',
    summary: 'List usage by day',
    description:
      'Messages, tokens and price by day (UTC), app and currency, newest day first, then by app and currency. Deleted ' +
      'conversations are included, purged ones are not.',
    querystring: UsageQuery,
    row: UsageListed,
    errors: [404],
    read: ({ query }) => {
      const since = query.since === undefined ? dayOf(clock() / 1000) - daysDefault : parseDay(query.since);
      return usage.read(query, async (range) => {
        const app_id = query.app_id === undefined ? undefined : (await requireApp(store, query.app_id)).id;
        return store.activity.listUsage({ since, app_id }, range);
      });
    },
  });
};
