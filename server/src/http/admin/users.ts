import { type UserListed, type UserOrder, UserPage, UserQuery } from '../../contract/console/users.ts';
import { listUsers } from '../../domain/activity/list-users.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { invalidCursor } from '../../domain/cursor.ts';
import { Paging } from '../../domain/paging.ts';
import { adminObject } from './routes.ts';

/** The sort key begins with the order: a cursor of another order is rejected. */
const pagesBy = (type: 'string' | 'number') => new Paging<UserListed>(['string', type, 'string'], () => []);
const byText = pagesBy('string');
const byNumber = pagesBy('number');
const isText = (order: UserOrder): boolean => /^-?(user|currency)$/.test(order);

/** End users of all apps. */
export const adminUserRoutes = adminObject({
  url: '/admin/users',
  operationId: 'listUsers',
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
});
