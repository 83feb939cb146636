import { KeyMade, ListedKey, ListQuery, listOf, NewKey } from '../../contract/admin.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { createKey } from '../../domain/create-key.ts';
import { notFound } from '../../domain/errors.ts';
import { callerOf } from '../auth/bearer.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import { requireContentType } from '../request/body.ts';
import type { Routes } from '../route-types.ts';
import { Paging } from './paging.ts';

const keys = new Paging<ListedKey>(['number', 'string'], ({ created_at, id }) => [created_at, id]);
const url = '/admin/keys';

export const adminKeyRoutes: Routes = (app, { store, bearer, clock }) => {
  const opens = bearer.requireAdmin();
  const seconds = () => Math.floor(clock() / 1000);

  app.route({
    method: 'GET',
    url,
    schema: {
      ...aboutAdmin,
      operationId: 'listKeys',
      summary: 'List keys',
      description: 'All keys, newest first. Never their secrets.',
      querystring: ListQuery,
      response: responses({ 200: listOf(ListedKey) }, [400, 401]),
    },
    onRequest: opens,
    handler: ({ query }) => keys.read(query, (place) => store.admin.listKeys(place)),
  });

  app.route({
    method: 'POST',
    url,
    schema: {
      ...aboutAdmin,
      operationId: 'createKey',
      summary: 'Create a key',
      description: 'Makes a key. Its secret is in this answer and nowhere else, ever.',
      body: NewKey,
      response: responses({ 201: KeyMade }, [400, 401, 408, 413, 415]),
    },
    onRequest: [opens, requireContentType('application/json')],
    handler: async (request, reply) => {
      const { key_id } = callerOf(request, 'admin');
      return reply.code(201).send(await createKey(store, request.body, key_id, seconds()));
    },
  });

  app.route({
    method: 'DELETE',
    url: `${url}/:key_id`,
    schema: {
      ...aboutAdmin,
      operationId: 'revokeKey',
      summary: 'Revoke a key',
      description: 'From now on it opens nothing, and neither do sessions that were made from it. Again is harmless.',
      params: Type.Object({ key_id: Type.String({ description: 'Key ID.' }) }),
      response: responses({ 200: ListedKey }, [401, 404]),
    },
    onRequest: opens,
    handler: async (request) => {
      const id = canonicalId(request.params.key_id);
      const isKnown = await store.revokeKey(id, callerOf(request, 'admin').key_id, seconds());
      const key = isKnown ? await store.admin.findKey(id) : undefined;
      if (key === undefined) throw notFound('key not found');
      return key;
    },
  });
};
