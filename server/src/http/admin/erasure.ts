import { AppMessagePath } from '../../contract/console/activity.ts';
import { Purge, Purged, Retention, RetentionQuery } from '../../contract/erasure.ts';
import { canonicalIds } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { deleteMessage, purgeExisting, purgeSelection } from '../../domain/erasure/purge.ts';
import { listRetention } from '../../domain/erasure/retention.ts';
import { invalidParam, notFound } from '../../domain/errors.ts';
import { operation } from '../operation.ts';
import { together } from '../route-types.ts';
import { adminObject, messageUrl } from './routes.ts';

/** What erases records for good, and when that happens by itself. */
export const adminErasureRoutes = together(
  operation('purge', ['admin'], 'POST', '/admin/purge', {
    summary: 'Erase conversations',
    description:
      'Erases one conversation, or all conversations of a user in an app, with their messages, totals and search entries, as ' +
      '`backscroll purge` does. Only a backup can restore them. With the embedded database, the response is sent when no byte ' +
      'of them is left in its files, or after 5 seconds: `copies` says where copies are left, and they are removed later.',
    body: Purge,
    response: Purged,
    errors: [404],
    config: { bodyDecides: true },
    run: ({ body: { dry_run = false, ...selection }, caller, now, store, dependencies }, reply) => {
      if (!dry_run) dependencies.bearer.countWrite(caller, reply.raw);
      return purgeExisting(store, purgeSelection(selection), { key_id: caller.key_id, now }, dry_run);
    },
  }),
  operation('deleteMessage', ['admin', 'writer'], 'DELETE', messageUrl, {
    summary: 'Erase a message',
    description:
      'Erases one message. Name, inputs and times of its conversation are derived again from the messages that are left. With ' +
      'the embedded database, its file may have copies of the text until the next hourly clean-up.',
    params: Type.Object({
      ...AppMessagePath.properties,
      app_id: Type.String({ description: 'App ID. A writer key allows its own app.' }),
    }),
    response: 'The message was erased.',
    run: async ({ caller, params, now, store }) => {
      const location = canonicalIds(params);
      if (caller.kind === 'writer' && caller.app.id !== location.app_id) throw notFound('app not found');
      await requireApp(store, location.app_id);
      await deleteMessage(store, location, { key_id: caller.key_id, now });
    },
  }),
  adminObject('getRetention', '/admin/retention', {
    summary: 'Show the retention of apps',
    description: 'For each app the period in force, and how many conversations the next run erases, or would erase.',
    querystring: RetentionQuery,
    response: Retention,
    errors: [404],
    run: async ({ now, query: { app_id, period }, store }) => {
      if (period !== undefined && app_id === undefined) throw invalidParam('period requires app_id');
      const options = { app_id: app_id && (await requireApp(store, app_id)).id, period };
      return { data: (await listRetention(store, now, options)).map(({ name: _, ...row }) => row) };
    },
  }),
);
