import { UsageListed, UsageQuery } from '../../contract/activity.ts';
import { listOf } from '../../contract/admin.ts';
import { invalidParam } from '../../domain/errors.ts';
import { dayOf, dayOfText } from '../../domain/usage.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import type { Routes } from '../route-types.ts';
import { requireApp } from './conversations.ts';
import { Paging } from './paging.ts';

/** How far back the answer goes where nothing is said. */
const daysDefault = 30;

const usage = new Paging<UsageListed>(['number', 'string', 'string'], ({ day, app_id, currency }) => [
  requireDay(day),
  app_id,
  currency ?? '',
]);

/** Messages, tokens and price of apps, day by day. */
export const adminUsageRoutes: Routes = (app, { store, bearer, clock }) => {
  app.route({
    method: 'GET',
    url: '/admin/usage',
    schema: {
      ...aboutAdmin,
      operationId: 'listUsage',
      summary: 'List usage by day',
      description:
        'Messages, tokens and price by day (UTC), app and currency, newest day first, then by app and currency. Deleted ' +
        'conversations count, erased ones do not.',
      querystring: UsageQuery,
      response: responses({ 200: listOf(UsageListed) }, [400, 401, 404]),
    },
    onRequest: bearer.requireAdmin(),
    handler: ({ query }) => {
      const since = query.since === undefined ? dayOf(clock() / 1000) - daysDefault : requireDay(query.since);
      return usage.read(query, async (place) => {
        const app_id = query.app_id === undefined ? undefined : await requireApp(store, query.app_id);
        return store.activity.listUsage({ since, app_id }, place);
      });
    },
  });
};

function requireDay(text: string): number {
  const day = dayOfText(text);
  if (day === undefined) throw invalidParam('since must be a day, such as 2026-11-15');
  return day;
}
