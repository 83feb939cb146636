import { Overview, OverviewQuery } from '../../contract/console/activity.ts';
import { findOverview } from '../../domain/activity/overview.ts';
import { adminObject } from './routes.ts';

/** Totals of the messages of a period. */
export const adminOverviewRoutes = adminObject({
  url: '/admin/overview',
  operationId: 'getOverview',
  summary: 'Get totals of a period',
  description:
    'Messages, users, prices, tokens and ratings of whole days in UTC, and of the equally long period before: in total, by ' +
    'day or hour, by app, by model and by user. `series` has the days or hours of the models or apps with the most messages. ' +
    'Deleted conversations are included, purged ones are not.',
  querystring: OverviewQuery,
  response: Overview,
  errors: [404],
  run: ({ query, now, disconnected, store }) => findOverview(store, query, now, disconnected()),
});
