import { Overview, OverviewQuery } from '../../contract/console/activity.ts';
import { type UserListed, type UserOrder, UserPage, UserQuery } from '../../contract/console/users.ts';
import { listUsers } from '../../domain/activity/list-users.ts';
import { findOverview } from '../../domain/activity/overview.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { invalidCursor } from '../../domain/cursor.ts';
import { Paging } from '../../domain/paging.ts';
import { together } from '../route-types.ts';
import { adminObject } from './routes.ts';

/** The sort key begins with the order: a cursor of another order is rejected. */
const pagesBy = (type: 'string' | 'number') => new Paging<UserListed>(['string', type, 'string'], () => []);
const byText = pagesBy('string');
const byNumber = pagesBy('number');
const isText = (order: UserOrder): boolean => /^-?(user|currency)$/.test(order);

/** Totals of the messages of a period, and of end users. */
export const adminUsageRoutes = together(
  adminObject('getOverview', '/admin/overview', {
    summary: 'Get totals of a period',
    description:
      'Messages, users, prices, tokens and ratings of whole days in UTC, and of the equally long period before: in total, by ' +
      'day or hour, by app, by model and by user. `series` has the days or hours of the models or apps with the most messages. ' +
      'Deleted conversations are included, purged ones are not.',
    querystring: OverviewQuery,
    response: Overview,
    errors: [404],
    run: (call) => findOverview(call, call.query),
  }),
  adminObject('listUsers', '/admin/users', {
    summary: 'List end users',
    description:
      'End users of all apps, or of one, with totals of their conversations, including deleted ones. A page with `q` may ' +
      'have fewer rows than `limit`, even none, although more follow: see `has_more`. After an import of very many ' +
      'conversations, it takes a few minutes until all are counted.',
    querystring: UserQuery,
    response: UserPage,
    errors: [404],
    run: async ({ query: { app_id, q, sort: order = '-last_at', ...paging }, store }) => {
      const id = app_id === undefined ? undefined : (await requireApp(store, app_id)).id;
      const page = await (isText(order) ? byText : byNumber).readWindow(paging, async ({ after, count }) => {
        const [ofOrder, ...key] = after ?? [order];
        if (ofOrder !== order) throw invalidCursor();
        const range = { after: after && key, count };
        const { rows, next } = await listUsers(store, { app_id: id, q, order }, range);
        return { rows, next: next && [order, ...next] };
      });
      return { ...page, total: q === undefined ? await store.users.count(id) : null };
    },
  }),
);
