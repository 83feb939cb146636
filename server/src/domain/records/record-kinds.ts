import type { RecordKind } from '../../contract/record.ts';
import type { BadRecord } from '../errors.ts';
import { badRecord, type PreparedRecord } from './prepared-record.ts';

/**
 * Identity and parent kind of each kind of record. Its fields are in contract/record.ts, its table is
 * in store/tables/tables.ts and store/schema/.
 */
export type KindRules = {
  /** One or two fields that identify a record in the installation. Kinds identified by `id` alone can be referred to. */
  identity: readonly [string] | readonly [string, string];
  /** The kind it belongs to, and the field with the parent's id. A record never changes its parent. */
  parent: { kind: RecordKind; field: string } | null;
  /**
   * A field that is looked up together with the parent. `dataset_id`: the record is in the dataset of its parent. `app_id`:
   * the app of an API key, which may not change.
   */
  scope: 'dataset_id' | 'app_id' | null;
};

const ofWorkspace = { kind: 'workspace', field: 'workspace_id' } as const;

export const kindRules = {
  workspace: { identity: ['id'], parent: null, scope: null },
  app: { identity: ['id'], parent: ofWorkspace, scope: null },
  api_key: { identity: ['id'], parent: ofWorkspace, scope: 'app_id' },
  person: { identity: ['id'], parent: null, scope: null },
  conversation: { identity: ['id'], parent: { kind: 'app', field: 'app_id' }, scope: null },
  message: {
    identity: ['conversation_id', 'id'],
    parent: { kind: 'conversation', field: 'conversation_id' },
    scope: null,
  },
  review: {
    identity: ['conversation_id', 'message_id'],
    parent: { kind: 'conversation', field: 'conversation_id' },
    scope: null,
  },
  dataset: { identity: ['id'], parent: ofWorkspace, scope: null },
  document: { identity: ['id'], parent: { kind: 'dataset', field: 'dataset_id' }, scope: 'dataset_id' },
  segment: { identity: ['id'], parent: { kind: 'document', field: 'document_id' }, scope: 'dataset_id' },
  child_chunk: { identity: ['id'], parent: { kind: 'segment', field: 'segment_id' }, scope: 'dataset_id' },
  child_chunk_revision: {
    identity: ['child_chunk_id', 'revision'],
    parent: { kind: 'child_chunk', field: 'child_chunk_id' },
    scope: 'dataset_id',
  },
  model_provider: { identity: ['workspace_id', 'provider'], parent: ofWorkspace, scope: null },
} as const satisfies Record<RecordKind, KindRules>;

/**
 * Fields that keep their stored values if a record is written again without them. A chat back end sends its conversation
 * again with every message, and imports from another system do not know what only Backscroll has. Other fields get their defaults.
 */
export const keptFields: { readonly [K in RecordKind]?: readonly string[] } = {
  app: ['retention_days'],
  conversation: ['user', 'created_at', 'deleted', 'hold', 'name', 'inputs', 'introduction', 'renamed_at', 'updated_at'],
  message: ['inputs', 'feedback', 'created_at', 'feedback_content', 'rated_at'],
};

type Rules = typeof kindRules;

/** Kinds of record that others refer to by id. */
export type ReferableKind = {
  [K in RecordKind]: Rules[K]['identity'] extends readonly ['id'] ? K : never;
}[RecordKind];

type ReferableRecord = Extract<PreparedRecord, { record: ReferableKind }>;

export function isReferable(record: PreparedRecord): record is ReferableRecord {
  const { identity } = kindRules[record.record];
  return identity.length === 1 && identity[0] === 'id';
}

/** The value of a field that the rules name. */
export function fieldOf(record: PreparedRecord, field: string): string | null {
  return (record as unknown as Record<string, string | null>)[field] ?? null;
}

/** The identity of a record in the installation, as one text. */
export function identityOf(record: PreparedRecord): string {
  const { identity }: KindRules = kindRules[record.record];
  const [first, second] = identity;
  const name = fieldOf(record, first) ?? '';
  return second === undefined ? name : `${name}/${fieldOf(record, second)}`;
}

export const missingParent = (record: PreparedRecord): BadRecord =>
  badRecord(record, `${kindRules[record.record].parent?.field} does not exist`);

export const changedParent = (record: PreparedRecord): BadRecord =>
  badRecord(record, `${kindRules[record.record].parent?.field} may not change`);
