import { AppListed, ListQuery, listOf, ProviderListed, WorkspaceListed } from '../../contract/admin.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { type ProviderFound, sortText } from '../../domain/admin-reads.ts';
import { notFound } from '../../domain/errors.ts';
import { aboutAdmin, responses } from '../openapi/openapi.ts';
import type { Routes } from '../route-types.ts';
import { Paging } from './paging.ts';

type Named = { name: string; id: string };
export const byName = <R extends Named>() =>
  new Paging<R>(['string', 'string'], ({ name, id }) => [sortText(name), id]);

const workspaces = byName<WorkspaceListed>();
const apps = byName<AppListed>();
const providers = new Paging<ProviderFound>(['number'], ({ position }) => [position]);

const workspace_id = Type.String({ description: 'Workspace ID.' });

/** Workspaces, apps and models: what an installation holds at the top. */
export const adminListRoutes: Routes = (app, { store, bearer }) => {
  const { admin } = store;
  const onRequest = bearer.requireAdmin();

  app.route({
    method: 'GET',
    url: '/admin/workspaces',
    schema: {
      ...aboutAdmin,
      operationId: 'listWorkspaces',
      summary: 'List workspaces',
      description: 'By name, then by id.',
      querystring: ListQuery,
      response: responses({ 200: listOf(WorkspaceListed) }, [400, 401]),
    },
    onRequest,
    handler: ({ query }) => workspaces.read(query, (place) => admin.listWorkspaces(place)),
  });

  app.route({
    method: 'GET',
    url: '/admin/workspaces/:workspace_id',
    schema: {
      ...aboutAdmin,
      operationId: 'getWorkspace',
      summary: 'Get a workspace',
      params: Type.Object({ workspace_id }),
      response: responses({ 200: WorkspaceListed }, [401, 404]),
    },
    onRequest,
    handler: async ({ params }) => {
      const found = await admin.findWorkspace(canonicalId(params.workspace_id));
      if (found === undefined) throw notFound('workspace not found');
      return found;
    },
  });

  app.route({
    method: 'GET',
    url: '/admin/apps',
    schema: {
      ...aboutAdmin,
      operationId: 'listApps',
      summary: 'List apps',
      description: 'Apps of all workspaces, by name, then by id.',
      querystring: ListQuery,
      response: responses({ 200: listOf(AppListed) }, [400, 401]),
    },
    onRequest,
    handler: ({ query }) => apps.read(query, (place) => admin.listApps(place)),
  });

  app.route({
    method: 'GET',
    url: '/admin/apps/:app_id',
    schema: {
      ...aboutAdmin,
      operationId: 'getApp',
      summary: 'Get an app',
      params: Type.Object({ app_id: Type.String({ description: 'App ID.' }) }),
      response: responses({ 200: AppListed }, [401, 404]),
    },
    onRequest,
    handler: async ({ params }) => {
      const found = await admin.findApp(canonicalId(params.app_id));
      if (found === undefined) throw notFound('app not found');
      return found;
    },
  });

  app.route({
    method: 'GET',
    url: '/admin/workspaces/:workspace_id/model-providers',
    schema: {
      ...aboutAdmin,
      operationId: 'listModelProviders',
      summary: 'List model providers',
      description:
        'Providers of a workspace with all their models, whatever their status, in the order they were recorded.',
      params: Type.Object({ workspace_id }),
      querystring: ListQuery,
      response: responses({ 200: listOf(ProviderListed) }, [400, 401, 404]),
    },
    onRequest,
    handler: async ({ params, query }) => {
      const workspace_id = canonicalId(params.workspace_id);
      const page = await providers.read(query, async (place) => {
        if ((await admin.findWorkspace(workspace_id)) === undefined) throw notFound('workspace not found');
        return admin.listProviders(workspace_id, place);
      });
      return { ...page, data: page.data.map(({ position: _, ...provider }) => provider) };
    },
  });
};
