import { randomUUID } from 'node:crypto';
import type { AppListed } from '../../contract/admin.ts';
import type { AppChange, NewApp } from '../../contract/app.ts';
import { canonicalId } from '../../contract/primitives.ts';
import { requireApp } from '../activity/require-app.ts';
import type { Call } from '../call.ts';
import { invalidParam } from '../errors.ts';
import { requireNotBlank, requireText } from '../require-text.ts';
import type { Store } from '../store/store.ts';
import type { Importer } from './check-references.ts';
import { importRecords } from './import-records.ts';

type Workspace = { id: string; name: string };

/** Creates an app, and a workspace if there is none. Both are imported as records, so all rules of records apply. */
export async function createApp(store: Store, given: NewApp, creator: Importer, now: number): Promise<AppListed> {
  const { name, mode = 'chat', workspace_id } = given;
  requireName(name);
  requireText('mode', mode);
  const stored = await findWorkspace(store, workspace_id);
  const workspace = stored ?? { id: randomUUID(), name };
  const app = { id: randomUUID(), workspace_id: workspace.id, name, mode, retention_days: null };
  const records = [...(stored === undefined ? [{ record: 'workspace', ...workspace }] : []), { record: 'app', ...app }];
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  await importRecords(store, creator, [{ bytes: [Buffer.from(lines)] }], now);
  return { ...app, workspace_name: workspace.name };
}

/** Changes the name of an app or its period of retention. The changed app. */
export async function updateApp({ store, caller, now }: Call<'admin'>, given: string, change: AppChange) {
  const app: AppListed = await requireApp(store, given);
  if (change.name !== undefined) requireName(change.name);
  await store.run('updateApp', { id: app.id, change, by: caller.key_id, now });
  return { ...app, ...change };
}

function requireName(name: string): void {
  requireText('name', name);
  requireNotBlank('name', name);
}

/** The given workspace, else the only one; undefined if there is none. */
async function findWorkspace({ admin }: Store, id: string | undefined): Promise<Workspace | undefined> {
  if (id !== undefined) {
    const workspace = await admin.findWorkspace(canonicalId(id));
    if (workspace === undefined) throw invalidParam(`workspace ${id} does not exist`, 'workspace ... does not exist');
    return workspace;
  }
  const { rows, has_more } = await admin.listWorkspaces({ after: undefined, count: 1 });
  if (has_more) throw invalidParam('workspace_id is required: there are several workspaces');
  return rows[0];
}
