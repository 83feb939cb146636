import { Overview, OverviewQuery } from '../../contract/console/activity.ts';
import { findOverview } from '../../domain/activity/overview.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import { onDisconnect } from '../response/message-page.ts';
import type { Routes } from '../route-types.ts';

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
        'day, by app, by model and by user. Deleted conversations are included, purged ones are not.',
      querystring: OverviewQuery,
      response: responses({ 200: Overview }, [400, 401, 404]),
    },
    onRequest: bearer.requireAdmin(),
    handler: ({ query }, reply) => findOverview(store, query, Math.floor(clock() / 1000), onDisconnect(reply.raw)),
  });
};
