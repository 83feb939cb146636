import { randomUUID } from 'node:crypto';
import type { KeyKind } from '../../src/contract/record.ts';
import { makeSecret } from '../../src/domain/secret.ts';
import { makeTenant, message, type TestResponse } from './harness.ts';

export const kinds = ['app', 'knowledge', 'writer', 'admin'] as const satisfies readonly KeyKind[];

/** What a caller can tell two answers apart by. */
export function visible({ status, headers, text }: TestResponse): object {
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
      { record: 'segment', id: ids.segment, document_id: ids.document, position: 1, content: 's' },
      { record: 'child_chunk', id: ids.chunk, segment_id: ids.segment, position: 1, content: 'c' },
    ],
  };
}

export function provider(workspace_id: string, name: string, status = 'active') {
  const model = {
    model: `model of ${name}`,
    label: {},
    model_type: 'llm',
    fetch_from: 'predefined-model',
    model_properties: {},
    status: 'active',
    deprecated: false,
    load_balancing_enabled: false,
    has_invalid_load_balancing_configs: false,
  };
  const entry = { provider: name, label: {}, icon_small: {}, status, models: [model] };
  return { record: 'model_provider', workspace_id, ...entry };
}

/**
 * Two workspaces. The first has a second app, a deleted conversation, a second dataset, a knowledge key restricted to
 * the first dataset, and an app that is no chat app.
 */
export function makeScene() {
  const one = makeTenant();
  const other = makeTenant();
  const workspace_id = one.ids.workspace;
  const second = {
    app: randomUUID(),
    conversation: randomUUID(),
    keys: { app: makeSecret('app'), writer: makeSecret('writer') },
  };
  const batch = { app: randomUUID(), conversation: randomUUID(), key: makeSecret('app') };
  const mine = { bob: randomUUID(), nobody: randomUUID(), deleted: randomUUID() };
  const outside = makeDataset(workspace_id);
  const sibling = makeDataset(workspace_id);
  const restricted = makeSecret('knowledge');
  const admin = makeSecret('admin');
  const messages = {
    one: [message(one.ids.conversation, 1), message(one.ids.conversation, 2), message(one.ids.conversation, 3)],
    bob: message(mine.bob, 2),
    deleted: message(mine.deleted, 2),
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
    { record: 'app', id: batch.app, workspace_id, name: 'batch', mode: 'completion' },
    { ...key, kind: 'app', app_id: batch.app, name: 'batch', secret: batch.key },
    { record: 'conversation', id: batch.conversation, app_id: batch.app, user: 'ann' },
    { record: 'conversation', id: mine.bob, app_id: one.ids.app, user: 'bob' },
    { record: 'conversation', id: mine.nobody, app_id: one.ids.app, user: null },
    { record: 'conversation', id: mine.deleted, app_id: one.ids.app, user: 'ann', deleted: true },
    ...messages.one,
    messages.bob,
    messages.deleted,
    messages.second,
    messages.other,
    ...outside.records,
    // A second branch inside the first dataset.
    ...sibling.records.slice(1).map((line) => ('dataset_id' in line ? { ...line, dataset_id: one.ids.dataset } : line)),
    { ...key, kind: 'knowledge', name: 'restricted', dataset_ids: [one.ids.dataset], secret: restricted },
    { record: 'api_key', kind: 'admin', name: 'admin', secret: admin },
    provider(workspace_id, 'of one'),
    provider(other.ids.workspace, 'of other'),
  ];
  const dead = makeDeadKeys(workspace_id, one.ids.app);
  const spare = randomUUID();
  const ended = {
    record: 'api_key',
    id: spare,
    kind: 'admin',
    name: 'spare',
    secret: makeSecret('admin'),
    revoked_at: 1,
  };
  const lines = [...all, ...dead, ended];
  return {
    spare,
    one,
    other,
    second,
    batch,
    mine,
    outside,
    sibling,
    restricted,
    admin,
    messages,
    dead,
    records: lines,
  };
}

export type Scene = ReturnType<typeof makeScene>;

/** Keys of every kind that once opened what the first tenant's keys open. */
function makeDeadKeys(workspace_id: string, app_id: string) {
  const ends = { revoked: { revoked_at: 1 }, expired: { expires_at: 1 }, both: { expires_at: 1, revoked_at: 1 } };
  return Object.entries(ends).flatMap(([name, end]) =>
    kinds.map((kind) => {
      const reach = kind === 'admin' ? {} : { workspace_id };
      const app = kind === 'app' || kind === 'writer' ? { app_id } : {};
      return { record: 'api_key', kind, ...reach, ...app, name, secret: makeSecret(kind), ...end };
    }),
  );
}

/** Everybody who may ask, by name. `kind` is what their key opens; dead and unknown keys open nothing. */
export function callersOf(scene: Scene): Record<string, { key: string | undefined; kind: KeyKind | undefined }> {
  const { one, second, batch, other, restricted, admin, dead } = scene;
  return {
    'one app': { key: one.keys.app, kind: 'app' },
    'second app': { key: second.keys.app, kind: 'app' },
    'batch app': { key: batch.key, kind: 'app' },
    'other app': { key: other.keys.app, kind: 'app' },
    'one knowledge': { key: one.keys.knowledge, kind: 'knowledge' },
    'restricted knowledge': { key: restricted, kind: 'knowledge' },
    'other knowledge': { key: other.keys.knowledge, kind: 'knowledge' },
    'one writer': { key: one.keys.writer, kind: 'writer' },
    'second writer': { key: second.keys.writer, kind: 'writer' },
    'other writer': { key: other.keys.writer, kind: 'writer' },
    admin: { key: admin, kind: 'admin' },
    ...Object.fromEntries(dead.map(({ name, kind, secret }) => [`${name} ${kind}`, { key: secret, kind: undefined }])),
    ...Object.fromEntries(kinds.map((kind) => [`unknown ${kind}`, { key: makeSecret(kind), kind: undefined }])),
    nobody: { key: undefined, kind: undefined },
  };
}
