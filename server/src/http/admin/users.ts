import { UserListed, type UserOrder, UserQuery } from '../../contract/console/users.ts';
import { listUsers } from '../../domain/activity/list-users.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { invalidCursor } from '../../domain/cursor.ts';
import { Paging } from '../../domain/paging.ts';
import { adminPage } from './routes.ts';

/** The sort key begins with the order: a cursor of another order is rejected. */
const pagesBy = (type: 'string' | 'number') => new Paging<UserListed>(['string', type, 'string'], () => []);
const byText = pagesBy('string');
const byNumber = pagesBy('number');
const isText = (order: UserOrder): boolean => /^-?(user|currency)$/.test(order);

/** End users of all apps. */
export const adminUserRoutes = adminPage({
  url: '/admin/users',
  operationId: 'listUsers',
  summary: 'List end users',
  description:
    'End users of all apps, or of one, with totals of their conversations, including deleted ones. A page with `q` may ' +
    'have fewer rows than `limit`, even none, although more follow: see `has_more`. After an import of very many ' +
    'conversations, it takes a few minutes until all are counted.',
  querystring: UserQuery,
  row: UserListed,
  errors: [404],
  run: ({ query: { app_id, q, sort: order = '-last_at', ...page }, store }) =>
    (isText(order) ? byText : byNumber).readWindow(page, async ({ after, count }) => {
      const [ofOrder, ...key] = after ?? [order];
      if (ofOrder !== order) throw invalidCursor();
      const id = app_id === undefined ? undefined : (await requireApp(store, app_id)).id;
      const range = { after: after && key, count };
      const { rows, next } = await listUsers(store, { app_id: id, q, order }, range);
      return { rows, next: next && [order, ...next] };
    }),
});
