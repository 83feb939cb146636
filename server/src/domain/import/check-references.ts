import { randomUUID } from 'node:crypto';
import type { CallerOf } from '../caller.ts';
import { badRecord, type Prepared, type PreparedRecord } from '../records/prepared-record.ts';
import { changedParent, fieldOf, isReferable, kindRules, missingParent } from '../records/record-kinds.ts';
import type { LookupKind, PendingImport, ReferenceTarget } from '../store/store.ts';

/** The importer: an admin (or the command line) into the whole installation, a writer into one app. */
export type Importer = { kind: 'admin'; key_id: string | null } | CallerOf<'writer'>;

export const commandLine: Importer = { kind: 'admin', key_id: null };

export type FindTarget = (kind: LookupKind, id: string) => ReferenceTarget | undefined;
type Targets = Map<LookupKind, Map<string, ReferenceTarget>>;

/** Every referenced record must exist, in the store or earlier in the input. No record may change its parent. */
export async function checkReferences(
  pending: PendingImport,
  importer: Importer,
  batch: readonly PreparedRecord[],
): Promise<void> {
  const targets = await findTargets(pending, batch);
  const find: FindTarget = (kind, id) => targets.get(kind)?.get(id);
  for (const record of batch) {
    if (importer.kind === 'writer') requireWritable(record, importer, find);
    const added = record.record === 'api_key' ? checkKey(record, find) : checkParent(record, find);
    for (const [kind, target] of added) {
      const sameKind = targets.get(kind) ?? new Map<string, ReferenceTarget>();
      targets.set(kind, sameKind.set(target.id, target));
      pending.addTarget(kind, target);
    }
  }
}

/**
 * Checks again, inside the transaction that writes: other writers may have changed the database since the input was
 * checked. Throws BadRecord if a reference is no longer valid. A key without an id gets the id of the stored key with its
 * digest. The upsert checks the rest: it does not change a row that has another parent.
 */
export function recheckReferences(record: PreparedRecord, find: FindTarget): void {
  if (record.record === 'message') {
    if (find('conversation', record.conversation_id) === undefined) throw missingParent(record);
  } else if (record.record === 'api_key') {
    const owner = find('digest', record.digest)?.parent ?? record.id;
    if (owner !== record.id && !record.is_unnamed) throw digestTaken(record);
    record.id = owner;
  } else if (isReferable(record) && 'dataset_id' in record) {
    // Ids are unique in the installation, but the keys of these tables begin with the dataset.
    const storedTarget = find(record.record, record.id);
    if (storedTarget !== undefined && storedTarget.scope !== record.dataset_id) throw changedParent(record);
  }
}

/** One look-up per kind for all references of a batch. */
async function findTargets(pending: PendingImport, batch: readonly PreparedRecord[]): Promise<Targets> {
  const idsByKind = new Map<LookupKind, Set<string>>();
  const addId = (kind: LookupKind, id: string | null) => {
    if (id !== null) idsByKind.set(kind, (idsByKind.get(kind) ?? new Set()).add(id));
  };
  for (const record of batch) {
    const { parent } = kindRules[record.record];
    if (isReferable(record)) addId(record.record, record.id);
    if (parent !== null) addId(parent.kind, fieldOf(record, parent.field));
    if (record.record === 'api_key') {
      addId('digest', record.digest);
      addId('key_digest', record.id);
      addId('app', record.app_id);
      for (const id of record.dataset_ids ?? []) addId('dataset', id);
    }
  }
  const digests = await pending.lookup('digest', [...(idsByKind.get('digest') ?? [])]);
  for (const { parent } of digests.values()) {
    addId('api_key', parent);
    addId('key_digest', parent);
  }
  idsByKind.delete('digest');
  const targets: Targets = new Map([['digest', digests]]);
  for (const [kind, ids] of idsByKind) targets.set(kind, await pending.lookup(kind, [...ids]));
  return targets;
}

type Added = [LookupKind, ReferenceTarget][];

/** Sets `dataset_id` and returns what later records may refer to. */
function checkParent(record: Exclude<PreparedRecord, { record: 'api_key' }>, find: FindTarget): Added {
  const { parent, scope } = kindRules[record.record];
  const parent_id = parent === null ? null : fieldOf(record, parent.field);
  const foundParent = parent === null || parent_id === null ? undefined : find(parent.kind, parent_id);
  if (parent !== null && foundParent === undefined) throw missingParent(record);
  if (record.record === 'review' && foundParent?.parent !== record.app_id)
    throw badRecord(record, 'app_id is not that of the conversation');
  const dataset_id = parent?.kind === 'dataset' ? parent_id : (foundParent?.scope ?? null);
  if (scope === 'dataset_id') Object.assign(record, { dataset_id });
  if (!isReferable(record)) return [];
  const storedTarget = find(record.record, record.id);
  if (storedTarget !== undefined && storedTarget.parent !== parent_id) throw changedParent(record);
  return [[record.record, { id: record.id, parent: parent_id, scope: dataset_id }]];
}

/** A writer key may write conversations and messages of its app. Errors do not reveal whether other records exist. */
function requireWritable(record: PreparedRecord, writer: CallerOf<'writer'>, find: FindTarget): void {
  if (record.record === 'conversation') {
    if (record.app_id !== writer.app.id) throw missingParent(record);
  } else if (record.record === 'message') {
    if (find('conversation', record.conversation_id)?.parent !== writer.app.id) throw missingParent(record);
  } else {
    throw badRecord(record, 'record must be conversation or message for a writer key');
  }
}

function checkKey(key: Prepared<'api_key'>, find: FindTarget): Added {
  const { workspace_id, app_id, digest } = key;
  if (workspace_id !== null && find('workspace', workspace_id) === undefined) throw missingParent(key);
  if (app_id !== null && find('app', app_id)?.parent !== workspace_id) {
    throw badRecord(key, 'app_id does not exist in workspace_id');
  }
  for (const dataset_id of key.dataset_ids ?? []) {
    if (find('dataset', dataset_id)?.parent !== workspace_id) {
      const text = (id: string) => `dataset_ids: ${id} does not exist in workspace_id`;
      throw badRecord(key, { path: ['dataset_ids'], text: text(dataset_id), logged: text('...') });
    }
  }
  const owner = ownerOf(digest, find);
  if (owner !== undefined && key.id !== null && owner !== key.id) throw digestTaken(key);
  const id = key.id ?? owner ?? randomUUID();
  key.id = id;
  const storedTarget = find('api_key', id);
  if (storedTarget !== undefined && storedTarget.parent !== workspace_id) throw changedParent(key);
  if (storedTarget !== undefined && storedTarget.scope !== app_id) throw badRecord(key, 'app_id may not change');
  return [
    ['api_key', { id, parent: workspace_id, scope: app_id }],
    ['digest', { id: digest, parent: id, scope: null }],
    ['key_digest', { id, parent: digest, scope: null }],
  ];
}

/** The id of the key with this digest, unless an earlier line has changed the digest of that key. */
function ownerOf(digest: string, find: FindTarget): string | undefined {
  const owner = find('digest', digest)?.parent ?? undefined;
  return owner !== undefined && find('key_digest', owner)?.parent === digest ? owner : undefined;
}

const digestTaken = (key: Prepared<'api_key'>) => badRecord(key, 'digest belongs to another key');
