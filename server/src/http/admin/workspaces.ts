import { AppListed, ProviderListed, WorkspaceListed } from '../../contract/admin.ts';
import { AppChange, NewApp } from '../../contract/app.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { Type } from '../../contract/type.ts';
import { requireApp } from '../../domain/activity/require-app.ts';
import { requireFound } from '../../domain/errors.ts';
import { createApp, updateApp } from '../../domain/import/apps.ts';
import { byName, Paging } from '../../domain/paging.ts';
import type { StoredProvider } from '../../domain/store/admin-reads.ts';
import type { Store } from '../../domain/store/store.ts';
import { operation } from '../operation.ts';
import { together } from '../route-types.ts';
import { adminObject, adminPage } from './routes.ts';

const workspaces = byName<WorkspaceListed>();
const apps = byName<AppListed>();
const providers = new Paging<StoredProvider>(['number'], ({ position }) => [position]);

const workspace_id = Type.String({ description: 'Workspace ID.' });
const app_id = Type.String({ description: 'App ID.' });

/** Workspaces with their apps and model providers. */
export const adminWorkspaceRoutes = together(
  adminPage('listWorkspaces', '/admin/workspaces', {
    summary: 'List workspaces',
    description: 'Workspaces, by name, then by id.',
    row: WorkspaceListed,
    run: ({ query, store }) => workspaces.read(query, (range) => store.admin.listWorkspaces(range)),
  }),
  adminObject('getWorkspace', '/admin/workspaces/:workspace_id', {
    summary: 'Get a workspace',
    params: Type.Object({ workspace_id }),
    response: WorkspaceListed,
    run: ({ params, store }) => requireWorkspace(store, params.workspace_id),
  }),
  adminPage('listApps', '/admin/apps', {
    summary: 'List apps',
    description: 'Apps of all workspaces, by name, then by id.',
    row: AppListed,
    run: ({ query, store }) => apps.read(query, (range) => store.admin.listApps(range)),
  }),
  operation('createApp', ['admin'], 'POST', '/admin/apps', {
    summary: 'Create an app',
    description: 'Creates an app, and a workspace of the same name if there is none.',
    body: NewApp,
    status: 201,
    response: AppListed,
    run: ({ body, caller, now, store }) => createApp(store, body, caller, now),
  }),
  adminObject('getApp', '/admin/apps/:app_id', {
    summary: 'Get an app',
    params: Type.Object({ app_id }),
    response: AppListed,
    run: ({ params, store }) => requireApp(store, params.app_id),
  }),
  operation('updateApp', ['admin'], 'PATCH', '/admin/apps/:app_id', {
    summary: 'Change an app',
    description:
      'Changes the name of an app or its period of retention. The next run erases what is then older: ' +
      '`GET /admin/retention` with `period` counts it before. What Dify owns keeps its name.',
    params: Type.Object({ app_id }),
    body: AppChange,
    response: AppListed,
    run: (call) => updateApp(call, call.params.app_id, call.body),
  }),
  adminPage('listModelProviders', '/admin/workspaces/:workspace_id/model-providers', {
    summary: 'List model providers',
    description:
      'Providers of a workspace with all their models, of any status, in the order in which they were imported.',
    params: Type.Object({ workspace_id }),
    row: ProviderListed,
    run: async ({ params, query, store }) => {
      const page = await providers.read(query, async (range) => {
        const { id } = await requireWorkspace(store, params.workspace_id);
        return store.admin.listProviders(id, range);
      });
      return { ...page, data: page.data.map(({ position: _, ...provider }) => provider) };
    },
  }),
);

const requireWorkspace = async ({ admin }: Store, id: string): Promise<WorkspaceListed> =>
  requireFound(await admin.findWorkspace(canonicalId(id)), 'workspace not found');
