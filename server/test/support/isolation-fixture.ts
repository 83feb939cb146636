import { randomUUID } from 'node:crypto';
import { type KeyKind, keyKinds } from '../../src/contract/key-kinds.ts';
import { personId } from '../../src/domain/author.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeTenant, message, type TestResponse } from './harness.ts';

export const kinds = keyKinds;

const identity = { issuer: 'https://id.example', subject: 'ann' };
export const personOfFixture = personId(identity);

/** The parts of a response by which a caller could distinguish it from another one. */
export function visibleParts({ status, headers, text }: TestResponse): object {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, headers: rest, text };
}

/** One knowledge base with one chunk. */
export function makeDataset(workspace_id: string) {
  const ids = { dataset: randomUUID(), document: randomUUID(), segment: randomUUID(), chunk: randomUUID() };
  return {
    ids,
    records: [
      { record: 'dataset', id: ids.dataset, workspace_id, name: 'd' },
      { record: 'document', id: ids.document, dataset_id: ids.dataset, name: 'd' },
      { record: 'segment', id: ids.segment, document_id: ids.document, position: 1, content: 'segment text' },
      { record: 'child_chunk', id: ids.chunk, segment_id: ids.segment, position: 1, content: 'chunk text' },
    ],
  };
}

export function provider(workspace_id: string, name: string, status = 'active', names = [`model of ${name}`]) {
  const models = names.map((model) => ({
    model,
    label: {},
    model_type: 'llm',
    fetch_from: 'predefined-model',
    model_properties: {},
    status: 'active',
    deprecated: false,
    load_balancing_enabled: false,
    has_invalid_load_balancing_configs: false,
  }));
  const entry = { provider: name, label: {}, icon_small: {}, status, models };
  return { record: 'model_provider', workspace_id, ...entry };
}

/**
 * Two workspaces. The first one also has a second app, a deleted conversation, a second dataset, a knowledge key
 * restricted to the first dataset, and a completion app.
 */
export function makeIsolationFixture() {
  const one = makeTenant();
  const other = makeTenant();
  const workspace_id = one.ids.workspace;
  const second = {
    app: randomUUID(),
    conversation: randomUUID(),
    keys: { app: makeSecret('app'), writer: makeSecret('writer') },
  };
  const completion = { app: randomUUID(), conversation: randomUUID(), key: makeSecret('app') };
  const ownConversations = { bob: randomUUID(), withoutUser: randomUUID(), deleted: randomUUID() };
  const outside = makeDataset(workspace_id);
  const sibling = makeDataset(workspace_id);
  const spareChunks = [one, other].map(({ ids }) =>
    Array.from({ length: 200 }, () => ({ ...ids, chunk: randomUUID() })),
  );
  /** Conversations that tests add to, with their apps. */
  const spareConversations = {
    one: [one.ids.app, randomUUID()],
    second: [second.app, randomUUID()],
    other: [other.ids.app, randomUUID()],
  } as const;
  const restricted = makeSecret('knowledge');
  const admin = makeSecret('admin');
  const readOnly = { app: makeSecret('app'), knowledge: makeSecret('knowledge'), admin: makeSecret('admin') };
  const byRole = { viewer: makeSecret('admin'), editor: makeSecret('admin') };
  const messages = {
    one: [message(one.ids.conversation, 1), message(one.ids.conversation, 2), message(one.ids.conversation, 3)],
    bob: message(ownConversations.bob, 2),
    deleted: message(ownConversations.deleted, 2),
    second: message(second.conversation, 2),
    other: message(other.ids.conversation, 2),
  };
  const key = { record: 'api_key', workspace_id };
  const all: object[] = [
    ...one.records,
    ...other.records,
    { record: 'app', id: second.app, workspace_id, name: 'second', mode: 'chat' },
    { ...key, kind: 'app', app_id: second.app, name: 'second', secret: second.keys.app },
    { ...key, kind: 'writer', app_id: second.app, name: 'second', secret: second.keys.writer },
    { record: 'conversation', id: second.conversation, app_id: second.app, user: 'ann' },
    { record: 'app', id: completion.app, workspace_id, name: 'completion', mode: 'completion' },
    { ...key, kind: 'app', app_id: completion.app, name: 'completion', secret: completion.key },
    { record: 'conversation', id: completion.conversation, app_id: completion.app, user: 'ann' },
    { record: 'conversation', id: ownConversations.bob, app_id: one.ids.app, user: 'bob' },
    { record: 'conversation', id: ownConversations.withoutUser, app_id: one.ids.app, user: null },
    { record: 'conversation', id: ownConversations.deleted, app_id: one.ids.app, user: 'ann', deleted: true },
    ...Object.values(spareConversations).map(([app_id, id]) => ({ record: 'conversation', id, app_id, user: 'ann' })),
    ...messages.one,
    messages.bob,
    messages.deleted,
    messages.second,
    messages.other,
    ...outside.records,
    ...spareChunks.flat().map(({ chunk: id, segment: segment_id }) => {
      return { record: 'child_chunk', id, segment_id, position: 2, content: 'spare' };
    }),
    // A second branch inside the first dataset.
    ...sibling.records.slice(1).map((line) => ('dataset_id' in line ? { ...line, dataset_id: one.ids.dataset } : line)),
    { ...key, kind: 'knowledge', name: 'restricted', dataset_ids: [one.ids.dataset], secret: restricted },
    { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
    { record: 'api_key', kind: 'admin', name: 'reader', secret: readOnly.admin, read_only: true },
    { ...key, kind: 'app', app_id: one.ids.app, name: 'reader', secret: readOnly.app, read_only: true },
    { ...key, kind: 'knowledge', name: 'reader', secret: readOnly.knowledge, read_only: true },
    ...Object.entries(byRole).map(([role, secret]) => ({ record: 'api_key', kind: 'admin', name: role, role, secret })),
    { record: 'person', ...identity, name: 'Ann', role: 'viewer' },
    provider(workspace_id, 'of one'),
    provider(other.ids.workspace, 'of other'),
  ];
  const inactiveKeys = makeInactiveKeys(workspace_id, one.ids.app);
  const revokedKeyId = randomUUID();
  const revokedKey = {
    record: 'api_key',
    id: revokedKeyId,
    kind: 'admin',
    name: 'revoked admin',
    secret: makeSecret('admin'),
    revoked_at: 1,
  };
  const lines = [...all, ...inactiveKeys, revokedKey];
  return {
    revokedKeyId,
    one,
    other,
    second,
    completion,
    ownConversations,
    outside,
    sibling,
    /** Chunks to delete: of `one`, and of `other`. */
    spareChunks,
    spareConversations,
    restricted,
    admin,
    readOnly,
    byRole,
    messages,
    inactiveKeys,
    records: lines,
  };
}

export type IsolationFixture = ReturnType<typeof makeIsolationFixture>;

/** Revoked and expired keys of every kind, with the same scope as the first tenant's keys. */
function makeInactiveKeys(workspace_id: string, app_id: string) {
  const endings = { revoked: { revoked_at: 1 }, expired: { expires_at: 1 }, both: { expires_at: 1, revoked_at: 1 } };
  return Object.entries(endings).flatMap(([name, ending]) =>
    kinds.map((kind) => {
      const workspace = kind === 'admin' ? {} : { workspace_id };
      const app = kind === 'app' || kind === 'writer' ? { app_id } : {};
      return { record: 'api_key', kind, ...workspace, ...app, name, secret: makeSecret(kind), ...ending };
    }),
  );
}

/** All callers, by name. `kind` is undefined for keys that allow nothing: missing, unknown, revoked or expired ones. */
export function makeCallers(
  fixture: IsolationFixture,
): Record<string, { key: string | undefined; kind: KeyKind | undefined }> {
  const { one, second, completion, other, restricted, admin, inactiveKeys } = fixture;
  return {
    'one app': { key: one.keys.app, kind: 'app' },
    'second app': { key: second.keys.app, kind: 'app' },
    'completion app': { key: completion.key, kind: 'app' },
    'other app': { key: other.keys.app, kind: 'app' },
    'one knowledge': { key: one.keys.knowledge, kind: 'knowledge' },
    'restricted knowledge': { key: restricted, kind: 'knowledge' },
    'other knowledge': { key: other.keys.knowledge, kind: 'knowledge' },
    'one writer': { key: one.keys.writer, kind: 'writer' },
    'second writer': { key: second.keys.writer, kind: 'writer' },
    'other writer': { key: other.keys.writer, kind: 'writer' },
    'one feed': { key: one.keys.feed, kind: 'feed' },
    'other feed': { key: other.keys.feed, kind: 'feed' },
    admin: { key: admin, kind: 'admin' },
    ...Object.fromEntries(
      inactiveKeys.map(({ name, kind, secret }) => [`${name} ${kind}`, { key: secret, kind: undefined }]),
    ),
    ...Object.fromEntries(kinds.map((kind) => [`unknown ${kind}`, { key: makeSecret(kind), kind: undefined }])),
    'no key': { key: undefined, kind: undefined },
  };
}
