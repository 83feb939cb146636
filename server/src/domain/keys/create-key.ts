import { randomUUID } from 'node:crypto';
import type { CreatedKey, KeyChange, ListedKey, NewKey } from '../../contract/admin.ts';
import {
  describeReachProblem,
  findReachProblem,
  type KeyKind,
  type Reach,
  readOnlyKinds,
} from '../../contract/key-kinds.ts';
import { limits } from '../../contract/limits.ts';
import type { Role } from '../../contract/people/roles.ts';
import { canonicalId } from '../../contract/primitives.ts';
import type { Author } from '../call.ts';
import { invalidParam, requireFound, ServiceError } from '../errors.ts';
import { requireText } from '../require-text.ts';
import { digestOf, makeSecret } from '../secret.ts';
import type { LookupKind, ReferenceTarget, Store } from '../store/store.ts';

/** The secret is only returned, never stored. */
export async function createKey(store: Store, input: NewKey, { key_id, now }: Author): Promise<CreatedKey> {
  const { kind, name, expires_at, read_only, role, ...reach } = validateNewKey(input, now);
  const { id, secret, digest } = newSecret(kind);
  const times = { created_at: now, expires_at };
  const key = { id, kind, ...(await resolveReach(store, reach)), name, digest, ...times, read_only, role };
  await store.run('createKey', { key, createdBy: key_id });
  return { id, secret };
}

function newSecret(kind: KeyKind) {
  const secret = makeSecret(kind);
  return { id: randomUUID(), secret, digest: digestOf(secret) };
}

/** Fills in defaults. Throws if a value is invalid, or if a field is missing or not allowed for the kind. */
function validateNewKey(input: NewKey, now: number): Required<Omit<NewKey, 'role'>> & { role: Role | null } {
  const { kind, name = '', app_id = null, workspace_id = null, dataset_ids = null, expires_at = null } = input;
  const { read_only = false, role } = input;
  requireText('name', name);
  if (expires_at !== null && expires_at <= now) throw invalidParam('expires_at must be in the future');
  const problem = findReachProblem(kind, { workspace_id, app_id, dataset_ids });
  if (problem !== undefined) throw invalidParam(describeReachProblem(kind, problem));
  if (read_only) requireReadOnlyKind(kind);
  if (role !== undefined) requireRoleKind(kind);
  const access = { read_only, role: kind === 'admin' ? (role ?? 'admin') : null };
  return { kind, name, app_id, workspace_id, dataset_ids, expires_at, ...access };
}

/**
 * A key that allows the same, for as long as the rotated key was made for. That one ends in a day, so that its clients can
 * take the new secret.
 */
export async function rotateKey(store: Store, requestedId: string, { key_id, now }: Author): Promise<CreatedKey> {
  const storedKey = requireFound(await store.admin.findKey(canonicalId(requestedId)), 'key not found');
  const { last_used_at: _, revoked_at, ...rest } = storedKey;
  const isEnded = revoked_at !== null || (rest.expires_at !== null && rest.expires_at <= now);
  if (isEnded) throw invalidParam('the key has ended: create another one');
  const { id, secret, digest } = newSecret(rest.kind);
  const expires_at =
    rest.expires_at === null ? null : Math.min(now + rest.expires_at - rest.created_at, Number.MAX_SAFE_INTEGER);
  const key = { ...rest, id, digest, created_at: now, expires_at };
  await store.run('rotateKey', { key, id: storedKey.id, ends_at: now + limits.rotationSeconds, by: key_id });
  return { id, secret };
}

function requireRoleKind(kind: KeyKind): void {
  if (kind !== 'admin') throw invalidParam(`role is not allowed for kind ${kind}`);
}

function requireReadOnlyKind(kind: KeyKind): void {
  if (!readOnlyKinds.includes(kind)) throw invalidParam(`read_only is not allowed for kind ${kind}`);
}

/** The changed key. Throws if it does not exist, or if its kind does not allow the change. */
export async function updateKey(
  store: Store,
  requestedId: string,
  change: KeyChange,
  author: Author,
): Promise<ListedKey> {
  const id = canonicalId(requestedId);
  const storedKey = requireFound(await store.admin.findKey(id), 'key not found');
  const { name = storedKey.name, read_only = storedKey.read_only, role = storedKey.role } = change;
  const isChange = change.name !== undefined || change.read_only !== undefined || change.role !== undefined;
  if (!isChange) throw invalidParam('name, read_only or role is required');
  requireText('name', name);
  if (change.read_only !== undefined) requireReadOnlyKind(storedKey.kind);
  if (change.role !== undefined) requireRoleKind(storedKey.kind);
  if (change.role !== undefined && id === author.key_id)
    throw new ServiceError('forbidden', 'a key cannot change its own role');
  await store.run('updateKey', { id, change, by: author.key_id, now: author.now });
  return { ...storedKey, name, read_only, role };
}

/** The revoked key. Throws if it does not exist. Revoking it again changes nothing. */
export async function revokeKey(store: Store, requestedId: string, { key_id, now }: Author): Promise<ListedKey> {
  const id = canonicalId(requestedId);
  const exists = await store.run('revokeKey', { id, by: key_id, now });
  return requireFound(exists ? await store.admin.findKey(id) : undefined, 'key not found');
}

/** The canonical ids. Throws if a record does not exist, or not in the key's workspace. */
async function resolveReach(store: Store, { workspace_id, app_id, dataset_ids }: Reach): Promise<Reach> {
  const requireAll = async (kind: LookupKind, givenIds: readonly string[]): Promise<ReferenceTarget[]> => {
    const ids = [...new Set(givenIds.map(canonicalId))];
    const targets = await store.lookup(kind, ids);
    return ids.map((id) => {
      const target = targets.get(id);
      if (target === undefined) throw invalidParam(`${kind} ${id} does not exist`, `${kind} ... does not exist`);
      return target;
    });
  };
  const [workspace] = workspace_id === null ? [] : await requireAll('workspace', [workspace_id]);
  const [app] = app_id === null ? [] : await requireAll('app', [app_id]);
  const datasets = dataset_ids === null ? null : await requireAll('dataset', dataset_ids);
  if (workspace === undefined) return { workspace_id: app?.parent ?? null, app_id: app?.id ?? null, dataset_ids: null };
  const requireParent = (kind: LookupKind, target: ReferenceTarget) => {
    if (target.parent === workspace.id) return target.id;
    throw invalidParam(
      `${kind} ${target.id} does not exist in that workspace`,
      `${kind} ... does not exist in that workspace`,
    );
  };
  return {
    workspace_id: workspace.id,
    app_id: app === undefined ? null : requireParent('app', app),
    dataset_ids: datasets?.map((dataset) => requireParent('dataset', dataset)) ?? null,
  };
}
