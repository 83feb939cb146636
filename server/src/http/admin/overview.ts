import { Overview, OverviewQuery } from '../../contract/console/activity.ts';
import { periodOf, readOverview } from '../../domain/activity/overview.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import { onDisconnect } from '../operations/message-page.ts';
import type { Routes } from '../route-types.ts';
import { requireApp } from './workspaces.ts';

/** Totals of the messages of a period. */
export const adminOverviewRoutes: Routes = (app, { store, bearer, clock }) => {
  app.route({
    method: 'GET',
    url: '/admin/overview',
    schema: {
      ...aboutAdmin,
      operationId: 'getOverview',
      summary: 'Get totals of a period',
      description:
        'Messages, users, prices, tokens and ratings of whole days in UTC, and of the equally long period before: in total, by ' +
        'day, by app and by user. Deleted conversations are included, purged ones are not.',
      querystring: OverviewQuery,
      response: responses({ 200: Overview }, [400, 401, 404]),
    },
    onRequest: bearer.requireAdmin(),
    handler: async ({ query: { from, to, app_id } }, reply) => {
      const period = periodOf(from, to, Math.floor(clock() / 1000));
      const id = app_id === undefined ? undefined : (await requireApp(store, app_id)).id;
      return readOverview(store.activity, { ...period, app_id: id }, onDisconnect(reply.raw));
    },
  });
};
