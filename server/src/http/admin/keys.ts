import { CreatedKey, DescribedNewKey, KeyChange, ListedKey, NewKey } from '../../contract/admin.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { notFound } from '../../domain/errors.ts';
import { createKey, updateKey } from '../../domain/keys/create-key.ts';
import { Paging } from '../../domain/paging.ts';
import { requireCaller } from '../auth/bearer.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import { requireContentType } from '../request/body.ts';
import { validatorCompiler } from '../request/query.ts';
import { type Routes, together } from '../route-types.ts';
import { adminList } from './routes.ts';

const keys = new Paging<ListedKey>(['number', 'string'], ({ created_at, id }) => [created_at, id]);
const url = '/admin/keys';

const listAndCreate: Routes = (app, dependencies) => {
  const { store, bearer, clock } = dependencies;

  adminList(app, dependencies, {
    url,
    operationId: 'listKeys',
    summary: 'List keys',
    description: 'All keys, newest first, without their secrets.',
    row: ListedKey,
    errors: [403],
    read: ({ query }) => keys.read(query, (range) => store.admin.listKeys(range)),
  });

  app.route({
    method: 'POST',
    url,
    schema: {
      ...aboutAdmin,
      operationId: 'createKey',
      summary: 'Create a key',
      description: 'Creates a key. Its secret is only in this response, and cannot be read again.',
      body: DescribedNewKey,
      response: responses({ 201: CreatedKey }, [400, 401, 403, 408, 413, 415]),
    },
    validatorCompiler: (part) => validatorCompiler({ ...part, schema: NewKey }),
    onRequest: [bearer.requireAdmin(), requireContentType('application/json')],
    handler: async (request, reply) => {
      const { key_id } = requireCaller(request, 'admin');
      return reply.code(201).send(await createKey(store, request.body, key_id, Math.floor(clock() / 1000)));
    },
  });
};

const changeAndRevoke: Routes = (app, { store, bearer, clock }) => {
  const requireAdmin = bearer.requireAdmin();
  const seconds = () => Math.floor(clock() / 1000);
  const params = Type.Object({ key_id: Type.String({ description: 'Key ID.' }) });

  app.route({
    method: 'PATCH',
    url: `${url}/:key_id`,
    schema: {
      ...aboutAdmin,
      operationId: 'updateKey',
      summary: 'Change a key',
      description:
        'Makes a key of kind app, knowledge or admin read-only, or allows it to write again; or gives an admin key another role. ' +
        'No key changes its own role.',
      params,
      body: KeyChange,
      response: responses({ 200: ListedKey }, [400, 401, 403, 404, 408, 413, 415]),
    },
    onRequest: [requireAdmin, requireContentType('application/json')],
    handler: async (request) => {
      const { key_id } = requireCaller(request, 'admin');
      return updateKey(store, request.params.key_id, request.body, key_id, seconds());
    },
  });

  app.route({
    method: 'DELETE',
    url: `${url}/:key_id`,
    schema: {
      ...aboutAdmin,
      operationId: 'revokeKey',
      summary: 'Revoke a key',
      description:
        'Revokes a key and ends the console sessions that were created with it. Revoking it again changes nothing.',
      params,
      response: responses({ 200: ListedKey }, [401, 403, 404]),
    },
    onRequest: requireAdmin,
    handler: async (request) => {
      const id = canonicalId(request.params.key_id);
      const exists = await store.run('revokeKey', { id, by: requireCaller(request, 'admin').key_id, now: seconds() });
      const key = exists ? await store.admin.findKey(id) : undefined;
      if (key === undefined) throw notFound('key not found');
      return key;
    },
  });
};

export const adminKeyRoutes = together(listAndCreate, changeAndRevoke);
