import { ListQuery, listOf, Workspace } from '../contract/admin.ts';
import { sortText, type WorkspaceListed } from '../domain/admin-reads.ts';
import { aboutAdmin, answers } from './openapi.ts';
import { Paging } from './paging.ts';
import type { Routes } from './routes.ts';

const workspaces = new Paging<WorkspaceListed>(['string', 'string'], ({ name, id }) => [sortText(name), id]);

/** Workspaces, apps and models: what an installation holds at the top. */
export const adminListRoutes: Routes = (app, { store, bearer }) => {
  app.route({
    method: 'GET',
    url: '/admin/workspaces',
    schema: {
      ...aboutAdmin,
      operationId: 'listWorkspaces',
      summary: 'List workspaces',
      description: 'By name, then by id.',
      querystring: ListQuery,
      response: answers({ 200: listOf(Workspace) }, [400, 401]),
    },
    onRequest: bearer.opensAdmin(),
    handler: ({ query }) => workspaces.read(query, (place) => store.admin.listWorkspaces(place)),
  });
};
