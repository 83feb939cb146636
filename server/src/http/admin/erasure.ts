import { Purge, Purged, Retention } from '../../contract/erasure.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { deleteMessage, purgeExisting, purgeSelection } from '../../domain/erasure/purge.ts';
import { listRetention } from '../../domain/erasure/retention.ts';
import { notFound } from '../../domain/errors.ts';
import { requireCaller } from '../auth/bearer.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import { requireContentType } from '../request/body.ts';
import type { Routes } from '../route-types.ts';
import { adminGet } from './routes.ts';

/** What erases records for good, and when that happens by itself. */
export const adminErasureRoutes: Routes = (app, dependencies) => {
  const { store, bearer, clock } = dependencies;
  const seconds = () => Math.floor(clock() / 1000);

  app.route({
    method: 'POST',
    url: '/admin/purge',
    schema: {
      ...aboutAdmin,
      operationId: 'purge',
      summary: 'Erase conversations',
      description:
        'Erases one conversation, or all conversations of a user in an app, with their messages, totals and search entries, as ' +
        '`backscroll purge` does. Only a backup can restore them. With the embedded database, the response is sent when no byte ' +
        'of them is left in its files, or after 5 seconds: `copies` says where copies are left, and they are removed later.',
      body: Purge,
      response: responses({ 200: Purged }, [400, 401, 403, 404, 408, 413, 415]),
    },
    config: { bodyDecides: true },
    onRequest: [bearer.requireAdmin(), requireContentType('application/json')],
    handler: async (request, reply) => {
      const { dry_run = false, ...given } = request.body;
      const caller = requireCaller(request, 'admin');
      if (!dry_run) bearer.countWrite(caller, reply.raw);
      return purgeExisting(store, purgeSelection(given), { key_id: caller.key_id, now: seconds() }, dry_run);
    },
  });

  app.route({
    method: 'DELETE',
    url: '/admin/apps/:app_id/conversations/:conversation_id/messages/:message_id',
    schema: {
      ...aboutAdmin,
      operationId: 'deleteMessage',
      summary: 'Erase a message',
      description:
        'Erases one message. Name, inputs and times of its conversation are derived again from the messages that are left. With ' +
        'the embedded database, its file may have copies of the text until the next hourly clean-up.',
      security: [{ adminKey: [] }, { writerKey: [] }, { consoleSession: [] }],
      params: Type.Object({
        app_id: Type.String({ description: 'App ID. A writer key allows its own app.' }),
        conversation_id: Type.String({ description: 'Conversation ID.' }),
        message_id: Type.String({ description: 'Message ID.' }),
      }),
      response: responses({ 204: 'The message was erased.' }, [401, 403, 404]),
    },
    onRequest: bearer.requireAdmin(['admin', 'writer']),
    handler: async ({ caller, params }, reply) => {
      if (caller === null) throw new Error('the route requires a key');
      const app_id = canonicalId(params.app_id);
      if (caller.kind === 'writer' && caller.app.id !== app_id) throw notFound('app not found');
      await requireApp(store, app_id);
      const location = {
        app_id,
        conversation_id: canonicalId(params.conversation_id),
        message_id: canonicalId(params.message_id),
      };
      await deleteMessage(store, location, { key_id: caller.key_id, now: seconds() });
      return reply.code(204).send();
    },
  });

  adminGet(app, dependencies, {
    url: '/admin/retention',
    operationId: 'getRetention',
    summary: 'Show the retention of apps',
    description: 'For each app the period in force, and how many conversations the next run erases.',
    response: Retention,
    read: async () => ({ data: (await listRetention(store, seconds())).map(({ name: _, ...row }) => row) }),
  });
};
