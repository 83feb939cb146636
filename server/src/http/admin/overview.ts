import type { Static } from 'typebox';
import { Overview, OverviewQuery } from '../../contract/console/activity.ts';
import { periodOf, readOverview } from '../../domain/activity/overview.ts';
import type { Store } from '../../domain/store/store.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import { onDisconnect } from '../response/message-page.ts';
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
        'day, by app, by model and by user. Deleted conversations are included, purged ones are not.',
      querystring: OverviewQuery,
      response: responses({ 200: Overview }, [400, 401, 404]),
    },
    onRequest: bearer.requireAdmin(),
    handler: ({ query }, reply) => findOverview(store, query, Math.floor(clock() / 1000), onDisconnect(reply.raw)),
  });
};

/** `now` is in seconds; `signal` aborts when the client disconnects. */
export async function findOverview(
  store: Store,
  { from, to, app_id }: Static<typeof OverviewQuery>,
  now: number,
  signal: AbortSignal,
): Promise<Overview> {
  const period = periodOf(from, to, now);
  const id = app_id === undefined ? undefined : (await requireApp(store, app_id)).id;
  return readOverview(store.activity, { ...period, app_id: id }, signal);
}
