import { randomUUID } from 'node:crypto';
import { canonicalId } from '../contract/primitives.ts';
import { invalidParam } from './errors.ts';
import type { Prepared } from './prepared-record.ts';
import { digestOf, makeSecret } from './secret.ts';
import type { Intake, Referable, ReferenceTarget, Store } from './store.ts';

/** What a new key is to open. */
export type KeyWanted = { name: string; expires_at: number | null } & (
  | { kind: 'app' | 'writer'; app_id: string }
  | { kind: 'knowledge'; workspace_id: string; dataset_ids: readonly string[] | null }
  | { kind: 'admin' }
);

/** Makes a key; `by`: a key, or null for the command line. The secret is in this answer and nowhere else, ever. */
export async function createKey(
  store: Store,
  wanted: KeyWanted,
  by: string | null,
  now: number,
): Promise<{ id: string; secret: string }> {
  const intake = await store.openIntake();
  try {
    const id = randomUUID();
    const secret = makeSecret(wanted.kind);
    const { name, expires_at, kind } = wanted;
    const reach = await findReach(intake, wanted);
    const key: Prepared<'api_key'> = {
      record: 'api_key',
      line: { number: 1 },
      ...{
        id,
        is_unnamed: false,
        kind,
        ...reach,
        name,
        digest: digestOf(secret),
        created_at: now,
        expires_at,
        revoked_at: null,
      },
    };
    await intake.add({ records: [key], texts: new Uint8Array() });
    await intake.apply({ key_id: by, action: 'create', now });
    return { id, secret };
  } finally {
    await intake.discard();
  }
}

async function findReach(intake: Intake, wanted: KeyWanted) {
  // All of them at once: a question each would take every connection that the database has.
  const findAll = async (kind: Referable, given: readonly string[]) => {
    const ids = [...new Set(given.map(canonicalId))];
    const known = await intake.lookup(kind, ids);
    return ids.map((id) => {
      const found = known.get(id);
      if (found === undefined) throw invalidParam(`${kind} ${id} does not exist`);
      return found;
    });
  };
  const find = async (kind: Referable, given: string) => (await findAll(kind, [given]))[0] as ReferenceTarget;
  switch (wanted.kind) {
    case 'admin':
      return { workspace_id: null, app_id: null, dataset_ids: null };
    case 'knowledge': {
      const workspace = await find('workspace', wanted.workspace_id);
      if (wanted.dataset_ids === null) return { workspace_id: workspace.id, app_id: null, dataset_ids: null };
      const datasets = await findAll('dataset', wanted.dataset_ids);
      const foreign = datasets.find(({ parent }) => parent !== workspace.id);
      if (foreign !== undefined) throw invalidParam(`dataset ${foreign.id} does not exist in that workspace`);
      return { workspace_id: workspace.id, app_id: null, dataset_ids: datasets.map(({ id }) => id) };
    }
    default: {
      const app = await find('app', wanted.app_id);
      return { workspace_id: app.parent, app_id: app.id, dataset_ids: null };
    }
  }
}
