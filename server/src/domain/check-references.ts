import { randomUUID } from 'node:crypto';
import type { CallerOf } from './caller.ts';
import { badRecord, type Prepared, type PreparedRecord } from './prepared-record.ts';
import type { Intake, Referable, ReferenceTarget } from './store.ts';

/** Who imports: the whole installation is an admin's (and the command line's), one app a writer's. */
export type Importer = { kind: 'admin'; key_id: string | null } | CallerOf<'writer'>;

export const commandLine: Importer = { kind: 'admin', key_id: null };

type KnownIds = Map<Referable, Map<string, ReferenceTarget>>;

/** Every reference must exist, in the store or earlier in the input, and no record may move to another parent. */
export async function checkReferences(
  intake: Intake,
  importer: Importer,
  batch: readonly PreparedRecord[],
): Promise<void> {
  const ids = await findKnown(intake, batch);
  for (const record of batch) {
    const own = checkRecord(record, importer, (kind, id) => ids.get(kind)?.get(id));
    if (own === undefined) continue;
    for (const [kind, known] of own) {
      const sameKind = ids.get(kind) ?? new Map<string, ReferenceTarget>();
      ids.set(kind, sameKind.set(known.id, known));
      intake.remember(kind, known);
    }
  }
}

/** One look-up per kind for everything that a batch mentions. */
async function findKnown(intake: Intake, batch: readonly PreparedRecord[]): Promise<KnownIds> {
  const mentioned = new Map<Referable, Set<string>>();
  const mention = (kind: Referable, id: string | null) => {
    if (id === null) return;
    const ids = mentioned.get(kind);
    if (ids === undefined) mentioned.set(kind, new Set([id]));
    else ids.add(id);
  };
  for (const record of batch) for (const [kind, id] of mentions(record)) mention(kind, id);
  const digests = await intake.lookup('digest', [...(mentioned.get('digest') ?? [])]);
  for (const { parent } of digests.values()) {
    mention('api_key', parent);
    mention('key_digest', parent);
  }
  mentioned.delete('digest');
  const known: KnownIds = new Map([['digest', digests]]);
  for (const [kind, ids] of mentioned) known.set(kind, await intake.lookup(kind, [...ids]));
  return known;
}

function mentions(record: PreparedRecord): [Referable, string | null][] {
  switch (record.record) {
    case 'workspace':
      return [['workspace', record.id]];
    case 'app':
      return [
        ['app', record.id],
        ['workspace', record.workspace_id],
      ];
    case 'dataset':
      return [
        ['dataset', record.id],
        ['workspace', record.workspace_id],
      ];
    case 'document':
      return [
        ['document', record.id],
        ['dataset', record.dataset_id],
      ];
    case 'segment':
      return [
        ['segment', record.id],
        ['document', record.document_id],
      ];
    case 'child_chunk':
      return [
        ['child_chunk', record.id],
        ['segment', record.segment_id],
      ];
    case 'child_chunk_revision':
      return [['child_chunk', record.child_chunk_id]];
    case 'conversation':
      return [
        ['conversation', record.id],
        ['app', record.app_id],
      ];
    case 'message':
      return [['conversation', record.conversation_id]];
    case 'model_provider':
      return [['workspace', record.workspace_id]];
    case 'api_key':
      return [
        ['api_key', record.id],
        ['digest', record.digest],
        ['key_digest', record.id],
        ['workspace', record.workspace_id],
        ['app', record.app_id],
        ...(record.dataset_ids ?? []).map((id): [Referable, string] => ['dataset', id]),
      ];
  }
}

type Find = (kind: Referable, id: string) => ReferenceTarget | undefined;
type Remembered = [Referable, ReferenceTarget][];

/** Throws where a reference fails; fills in `dataset_id`; returns what later records may refer to. */
function checkRecord(record: PreparedRecord, importer: Importer, find: Find): Remembered | undefined {
  const parentOf = (kind: Referable, field: string, id: string): ReferenceTarget => {
    const parent = find(kind, id);
    if (parent === undefined) throw badRecord(record, `${field} does not exist`);
    return parent;
  };
  const own = (kind: Referable, field: string, id: string, parent: string | null, scope: string | null): Remembered => {
    const stored = find(kind, id);
    if (stored !== undefined && stored.parent !== parent) throw badRecord(record, `${field} may not change`);
    return [[kind, { id, parent, scope }]];
  };

  if (importer.kind === 'writer') requireWritable(record, importer, find);

  switch (record.record) {
    case 'workspace':
      return [['workspace', { id: record.id, parent: null, scope: null }]];
    case 'app':
    case 'dataset':
      parentOf('workspace', 'workspace_id', record.workspace_id);
      return own(record.record, 'workspace_id', record.id, record.workspace_id, null);
    case 'document':
      parentOf('dataset', 'dataset_id', record.dataset_id);
      return own('document', 'dataset_id', record.id, record.dataset_id, record.dataset_id);
    case 'segment':
      record.dataset_id = parentOf('document', 'document_id', record.document_id).scope ?? '';
      return own('segment', 'document_id', record.id, record.document_id, record.dataset_id);
    case 'child_chunk':
      record.dataset_id = parentOf('segment', 'segment_id', record.segment_id).scope ?? '';
      return own('child_chunk', 'segment_id', record.id, record.segment_id, record.dataset_id);
    case 'child_chunk_revision':
      record.dataset_id = parentOf('child_chunk', 'child_chunk_id', record.child_chunk_id).scope ?? '';
      return undefined;
    case 'conversation':
      parentOf('app', 'app_id', record.app_id);
      return own('conversation', 'app_id', record.id, record.app_id, null);
    case 'message':
      parentOf('conversation', 'conversation_id', record.conversation_id);
      return undefined;
    case 'model_provider':
      parentOf('workspace', 'workspace_id', record.workspace_id);
      return undefined;
    case 'api_key':
      return checkKey(record, find);
  }
}

/** A writer writes conversations and messages of its own app; for it nothing else exists. */
function requireWritable(record: PreparedRecord, writer: CallerOf<'writer'>, find: Find): void {
  if (record.record === 'conversation') {
    if (record.app_id !== writer.app.id) throw badRecord(record, 'app_id does not exist');
  } else if (record.record === 'message') {
    const conversation = find('conversation', record.conversation_id);
    if (conversation?.parent !== writer.app.id) throw badRecord(record, 'conversation_id does not exist');
  } else {
    throw badRecord(record, 'record must be conversation or message for a writer key');
  }
}

/** The key that a digest belongs to, unless an earlier line has given that key another one. */
function ownerOf(digest: string, find: Find): string | undefined {
  const owner = find('digest', digest)?.parent ?? undefined;
  return owner !== undefined && find('key_digest', owner)?.parent === digest ? owner : undefined;
}

function checkKey(key: Prepared<'api_key'>, find: Find): Remembered {
  const { workspace_id, app_id } = key;
  if (workspace_id !== null && find('workspace', workspace_id) === undefined) {
    throw badRecord(key, 'workspace_id does not exist');
  }
  if (app_id !== null && find('app', app_id)?.parent !== workspace_id) {
    throw badRecord(key, 'app_id does not exist in workspace_id');
  }
  for (const dataset_id of key.dataset_ids ?? []) {
    if (find('dataset', dataset_id)?.parent !== workspace_id) {
      throw badRecord(key, `dataset_ids: ${dataset_id} does not exist in workspace_id`);
    }
  }
  const owner = ownerOf(key.digest, find);
  if (owner !== undefined && key.id !== null && owner !== key.id) {
    throw badRecord(key, 'digest belongs to another key');
  }
  key.id ??= owner ?? randomUUID();
  const stored = find('api_key', key.id);
  if (stored !== undefined && stored.parent !== workspace_id) throw badRecord(key, 'workspace_id may not change');
  if (stored !== undefined && stored.scope !== app_id) throw badRecord(key, 'app_id may not change');
  return [
    ['api_key', { id: key.id, parent: workspace_id, scope: app_id }],
    ['digest', { id: key.digest, parent: key.id, scope: null }],
    ['key_digest', { id: key.id, parent: key.digest, scope: null }],
  ];
}
