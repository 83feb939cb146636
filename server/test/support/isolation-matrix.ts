import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { KeyKind } from '../../src/contract/record.ts';
import { type ChunkIds, chunkPath, message, ndjson, type RequestOptions } from './harness.ts';
import { makeDataset, type Scene } from './isolation-scene.ts';
import { openapiFile } from './openapi-check.ts';

/**
 * Who may see what, for every operation of the OpenAPI document. A new operation needs a row here: without one the tests
 * fail.
 */
export type Question = RequestOptions & { method: string; path: string };

/** Something that an operation can be asked about. */
export type Thing = {
  name: string;
  /** Callers, by name. To all others whose keys open the operation it does not exist. */
  seenBy: readonly string[] | 'everybody';
  about: () => Question;
  /** The same question about what exists nowhere; none where the question names nothing. */
  nowhere?: () => Question;
};

export type Row = {
  /** The first is seen by one caller of each kind that opens the operation, at least. */
  things: readonly [Thing, ...Thing[]];
  /** Questions that have something wrong with them besides the key. */
  odd?: Record<string, () => Question>;
};

export type Rows = Record<string, Row | undefined>;

type Operation = { name: string; method: string; path: string; opens: readonly KeyKind[] };
type Described = { security?: Record<string, unknown>[] };

/**
 * Every operation, with the kinds of key that open it; none: it needs no key. Signing in and out is not among them: a
 * session is no key, and has tests of its own.
 */
export const operations: readonly Operation[] = Object.entries(
  (JSON.parse(readFileSync(openapiFile, 'utf8')) as { paths: Record<string, Record<string, Described>> }).paths,
).flatMap(([path, methods]) =>
  Object.entries(path === '/console/session' ? {} : methods).map(([method, { security = [] }]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    opens: security
      .flatMap((one) => Object.keys(one))
      .filter((scheme) => scheme !== 'consoleSession')
      .map((scheme) => scheme.replace(/Key$/, '') as KeyKind),
  })),
);

export function rowOf(rows: Rows, name: string): Row {
  return rows[name] ?? assert.fail(`${name} is in openapi.json, but has no row in test/isolation-matrix.ts`);
}

const get = (path: string): Question => ({ method: 'GET', path });
/** What names nothing, or nothing that is not everybody's. */
const plain = (path: string, seenBy: Thing['seenBy']): Thing => ({ name: 'all of it', seenBy, about: () => get(path) });

const chunkRoute =
  '/v1/datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}';
const models = '/v1/workspaces/current/models/model-types';
const lines = (...all: object[]): Question => ({
  method: 'POST',
  path: '/admin/records',
  headers: { 'content-type': 'application/x-ndjson' },
  body: ndjson(all),
});

export function makeRows(scene: Scene): Rows {
  const { one } = scene;
  const patch = (ids: ChunkIds): Question => ({
    method: 'PATCH',
    path: chunkPath(ids),
    body: { content: 'chunk text' },
  });
  return {
    'GET /v1/messages': {
      things: pages(scene),
      odd: { 'GET /v1/messages without parameters': () => get('/v1/messages') },
    },
    [`GET ${chunkRoute}`]: { things: chunks(scene, (ids) => get(chunkPath(ids))) },
    [`PATCH ${chunkRoute}`]: {
      things: chunks(scene, patch),
      odd: {
        'PATCH chunk with no content type': () => ({ method: 'PATCH', path: one.chunkPath, body: '{' }),
        'PATCH chunk that exists nowhere': () => ({
          method: 'PATCH',
          path: chunkPath({ ...one.ids, dataset: randomUUID() }),
          body: { content: ' ' },
          headers: { 'if-match': '"x"' },
        }),
      },
    },
    [`GET ${models}/{model_type}`]: {
      things: [
        plain(`${models}/llm`, [
          ...['one app', 'second app', 'batch app', 'other app'],
          ...['one knowledge', 'restricted knowledge', 'other knowledge'],
        ]),
      ],
      odd: { 'GET models of no type': () => get(`${models}/none`) },
    },
    'POST /admin/records': {
      things: recordsOf(scene),
      odd: {
        'POST /admin/records with no content type': () => ({ method: 'POST', path: '/admin/records', body: 'x' }),
      },
    },
    'GET /admin/records': { things: [plain('/admin/records', ['admin'])] },
    ...adminRows(scene),
    'GET /metrics': { things: [plain('/metrics', ['admin'])] },
    'GET /health/live': { things: [plain('/health/live', 'everybody')] },
    'GET /health/ready': { things: [plain('/health/ready', 'everybody')] },
  };
}

/** What the console stands on: an admin sees all of it, and nobody else any. */
function adminRows({ one, spare }: Scene): Rows {
  const { workspace, app, conversation, dataset, document, segment, chunk } = one.ids;
  const admin = (question: Question): Row => ({
    things: [{ name: 'of one', seenBy: ['admin'], about: () => question }],
  });
  const ofApp = `/admin/apps/${app}/conversations/${conversation}`;
  const inDataset = `/admin/datasets/${dataset}`;
  const inSegment = `${inDataset}/documents/${document}/segments/${segment}`;
  const route = chunkRoute.replace('/v1/', '/admin/');
  const inRoute = (part: string) => route.slice(0, route.indexOf(part) + part.length);
  const patch = { method: 'PATCH', path: `${inSegment}/child_chunks/${chunk}`, body: { content: 'chunk text' } };
  const create = { method: 'POST', path: '/admin/keys', body: { kind: 'admin', name: 'made' } };
  return {
    'GET /admin/workspaces': admin(get('/admin/workspaces')),
    'GET /admin/workspaces/{workspace_id}': admin(get(`/admin/workspaces/${workspace}`)),
    'GET /admin/workspaces/{workspace_id}/model-providers': admin(
      get(`/admin/workspaces/${workspace}/model-providers`),
    ),
    'GET /admin/apps': admin(get('/admin/apps')),
    'GET /admin/apps/{app_id}': admin(get(`/admin/apps/${app}`)),
    'GET /admin/datasets': admin(get('/admin/datasets')),
    [`GET ${inRoute('{dataset_id}')}`]: admin(get(inDataset)),
    [`GET ${inRoute('{document_id}')}`]: admin(get(`${inDataset}/documents/${document}`)),
    [`GET ${inRoute('{segment_id}')}`]: admin(get(inSegment)),
    [`GET ${inRoute('/documents')}`]: admin(get(`${inDataset}/documents`)),
    [`GET ${inRoute('/segments')}`]: admin(get(`${inDataset}/documents/${document}/segments`)),
    [`GET ${inRoute('/child_chunks')}`]: admin(get(`${inSegment}/child_chunks`)),
    [`GET ${route}`]: admin(get(`${inSegment}/child_chunks/${chunk}`)),
    [`GET ${route}/revisions`]: admin(get(`${inSegment}/child_chunks/${chunk}/revisions`)),
    [`PATCH ${route}`]: {
      ...admin(patch),
      odd: { 'PATCH as admin with no content type': () => ({ ...patch, body: '{' }) },
    },
    'GET /admin/keys': admin(get('/admin/keys')),
    'POST /admin/keys': { ...admin(create), odd: { 'POST /admin/keys of no kind': () => ({ ...create, body: {} }) } },
    'DELETE /admin/keys/{key_id}': admin({ method: 'DELETE', path: `/admin/keys/${spare}` }),
    'GET /admin/apps/{app_id}/conversations': admin(get(`/admin/apps/${app}/conversations`)),
    'GET /admin/apps/{app_id}/conversations/{conversation_id}': admin(get(ofApp)),
    'GET /admin/apps/{app_id}/conversations/{conversation_id}/messages': admin(get(`${ofApp}/messages`)),
    'GET /admin/usage': admin(get('/admin/usage')),
    'GET /admin/traffic': admin(get('/admin/traffic')),
  };
}

function pages({ one, second, batch, other, mine, messages }: Scene): Row['things'] {
  const page = (conversation_id: string, more: Record<string, string> = {}) =>
    get(`/v1/messages?${new URLSearchParams({ conversation_id, ...more })}`);
  const conversation = (name: string, id: string, seenBy: string[], more = {}): Thing => ({
    name,
    seenBy,
    about: () => page(id, more),
    nowhere: () => page(randomUUID(), more),
  });
  const first = (name: string, first_id: string): Thing => ({
    name: `own page from a message of ${name}`,
    seenBy: [],
    about: () => page(one.ids.conversation, { first_id }),
    nowhere: () => page(one.ids.conversation, { first_id: randomUUID() }),
  });
  return [
    conversation('a conversation of one', one.ids.conversation, ['one app']),
    conversation('the same for its user', one.ids.conversation, ['one app'], { user: 'ann' }),
    conversation('the same for another user', one.ids.conversation, [], { user: 'bob' }),
    conversation('a conversation of nobody', mine.nobody, ['one app']),
    conversation('a deleted conversation', mine.deleted, []),
    conversation('a conversation of second', second.conversation, ['second app']),
    conversation('a conversation of batch', batch.conversation, []),
    conversation('a conversation of other', other.ids.conversation, ['other app']),
    first('another conversation', messages.bob.id),
    first('a deleted conversation', messages.deleted.id),
    first('second', messages.second.id),
    first('other', messages.other.id),
  ];
}

function chunks(scene: Scene, question: (ids: ChunkIds) => Question): Row['things'] {
  const { one, outside, sibling, other } = scene;
  const chunk = (name: string, ids: ChunkIds, seenBy: string[]): Thing => ({
    name,
    seenBy,
    about: () => question(ids),
    nowhere: () => question(makeDataset('').ids),
  });
  /** One's path but for one part. The dataset is not among them: to whom it belongs, another part fails first. */
  const part = (name: keyof ChunkIds, owner: string, ids: ChunkIds): Thing => ({
    name: `own path, but ${name} of ${owner}`,
    seenBy: [],
    about: () => question({ ...one.ids, [name]: ids[name] }),
    nowhere: () => question({ ...one.ids, [name]: randomUUID() }),
  });
  return [
    chunk('a chunk of one', one.ids, ['one knowledge', 'restricted knowledge']),
    chunk('a chunk beside it', { ...sibling.ids, dataset: one.ids.dataset }, ['one knowledge', 'restricted knowledge']),
    chunk('a chunk of a dataset outside the restriction', outside.ids, ['one knowledge']),
    chunk('a chunk of other', other.ids, ['other knowledge']),
    ...(['document', 'segment', 'chunk'] as const).flatMap((name) => [
      part(name, 'another dataset', outside.ids),
      part(name, 'other', other.ids),
    ]),
  ];
}

function recordsOf({ one, second, batch, other, mine }: Scene): Row['things'] {
  /** New each time, so that asking again writes nothing over. */
  const record = (name: string, id: string, seenBy: string[], make: (id: string) => object): Thing => ({
    name,
    seenBy,
    about: () => lines(make(id)),
    nowhere: () => lines(make(randomUUID())),
  });
  const into = (id: string) => message(id, 9);
  const conversation = (app_id: string) => ({ record: 'conversation', id: randomUUID(), app_id, user: 'zoe' });
  const document = (dataset_id: string) => ({ record: 'document', id: randomUUID(), dataset_id, name: 'd' });
  return [
    record('a message for one', mine.nobody, ['one writer', 'admin'], into),
    record('a message for second', second.conversation, ['second writer', 'admin'], into),
    record('a message for batch', batch.conversation, ['admin'], into),
    record('a message for other', other.ids.conversation, ['other writer', 'admin'], into),
    record('a message for a deleted conversation', mine.deleted, ['one writer', 'admin'], into),
    record('a conversation for one', one.ids.app, ['one writer', 'admin'], conversation),
    record('a conversation for second', second.app, ['second writer', 'admin'], conversation),
    record('a conversation for other', other.ids.app, ['other writer', 'admin'], conversation),
    record('a document for one', one.ids.dataset, ['admin'], document),
    record('a document for other', other.ids.dataset, ['admin'], document),
  ];
}
