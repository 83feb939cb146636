import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { KeyKind } from '../../src/contract/key-kinds.ts';
import { openaiRows } from '../openai/isolation-rows.ts';
import { type ChunkIds, chunkPath, message, ndjson, type RequestOptions } from './harness.ts';
import { type IsolationFixture, makeDataset, personOfFixture } from './isolation-fixture.ts';
import { openapiFile } from './openapi-check.ts';

/**
 * Which caller may see what, for every operation of the OpenAPI document. The tests fail if an operation has no row here.
 */
export type TestRequest = RequestOptions & { method: string; path: string };

/** Something that an operation can be called on. */
export type Target = {
  name: string;
  /** Names of callers. For all other callers whose keys allow the operation, the target does not exist. */
  visibleTo: readonly string[] | 'everyone';
  request: () => TestRequest;
  /** The same request for something that does not exist; absent where the request names nothing. */
  missing?: () => TestRequest;
};

export type Row = {
  /** The first is visible to at least one caller of each kind that the operation allows. */
  targets: readonly [Target, ...Target[]];
  /** Requests that are invalid for another reason than their key. */
  invalid?: Record<string, () => TestRequest>;
};

export type Rows = Record<string, Row | undefined>;

type Operation = {
  name: string;
  id: string;
  method: string;
  path: string;
  hasQuery: boolean;
  allowedKinds: readonly KeyKind[];
  /** The role that an admin key needs; undefined if it does not allow the operation. */
  role: string | undefined;
};
type DescribedOperation = {
  operationId: string;
  security?: Record<string, unknown>[];
  parameters?: { in: string }[];
  'x-role'?: string;
};

/**
 * Every operation, with the kinds of key it allows; none if it requires no key. Operations on console sessions are left
 * out: a session is not a key, and has its own tests.
 */
export const operations: readonly Operation[] = Object.entries(
  (JSON.parse(readFileSync(openapiFile, 'utf8')) as { paths: Record<string, Record<string, DescribedOperation>> })
    .paths,
).flatMap(([path, methods]) =>
  Object.entries(path === '/console/session' ? {} : methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    id: operation.operationId,
    role: operation['x-role'],
    method: method.toUpperCase(),
    path,
    hasQuery: operation.parameters?.some((parameter) => parameter.in === 'query') ?? false,
    allowedKinds: (operation.security ?? [])
      .flatMap((scheme) => Object.keys(scheme))
      .filter((scheme) => scheme !== 'consoleSession')
      .map((scheme) => scheme.replace(/Key$/, '') as KeyKind),
  })),
);

export function requireRow(rows: Rows, name: string): Row {
  return rows[name] ?? assert.fail(`${name} is in openapi.json, but has no row in test/support/isolation-matrix.ts`);
}

const get = (path: string): TestRequest => ({ method: 'GET', path });
/** A request that names nothing. */
const unscoped = (path: string, visibleTo: Target['visibleTo']): Target => ({
  name: 'everything',
  visibleTo,
  request: () => get(path),
});

const chunkRoute =
  '/v1/datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}';
const models = '/v1/workspaces/current/models/model-types';
const lines = (...all: object[]): TestRequest => ({
  method: 'POST',
  path: '/admin/records',
  headers: { 'content-type': 'application/x-ndjson' },
  body: ndjson(all),
});

export function makeRows(fixture: IsolationFixture): Rows {
  const { one } = fixture;
  const patch = (ids: ChunkIds): TestRequest => ({
    method: 'PATCH',
    path: chunkPath(ids),
    body: { content: 'chunk text' },
  });
  return {
    'GET /v1/messages': {
      targets: pages(fixture),
      invalid: { 'GET /v1/messages without parameters': () => get('/v1/messages') },
    },
    ...conversationRows(fixture),
    ...openaiRows(fixture),
    [`GET ${chunkRoute}`]: { targets: chunks(fixture, (ids) => get(chunkPath(ids))) },
    [`PATCH ${chunkRoute}`]: {
      targets: chunks(fixture, patch),
      invalid: {
        'PATCH chunk without a content type': () => ({ method: 'PATCH', path: one.chunkPath, body: '{' }),
        'PATCH chunk with an encoded body': () => ({ ...patch(one.ids), headers: { 'content-encoding': 'gzip' } }),
        'PATCH chunk with a body that is too large': () => ({
          ...patch(one.ids),
          body: { content: 'x'.repeat(3_000_000) },
        }),
        'PATCH chunk that does not exist': () => ({
          method: 'PATCH',
          path: chunkPath({ ...one.ids, dataset: randomUUID() }),
          body: { content: ' ' },
          headers: { 'if-match': '"x"' },
        }),
      },
    },
    ...knowledgeRows(fixture),
    [`GET ${models}/{model_type}`]: {
      targets: [
        unscoped(`${models}/llm`, [
          ...['one app', 'second app', 'completion app', 'other app'],
          ...['one knowledge', 'restricted knowledge', 'other knowledge'],
        ]),
      ],
      invalid: { 'GET models of an unknown type': () => get(`${models}/none`) },
    },
    'POST /admin/records': {
      targets: recordsOf(fixture),
      invalid: {
        'POST /admin/records without a content type': () => ({ method: 'POST', path: '/admin/records', body: 'x' }),
      },
    },
    'GET /admin/records': { targets: [unscoped('/admin/records', ['admin'])] },
    'GET /admin/messages.csv': { targets: [unscoped('/admin/messages.csv', ['admin'])] },
    ...adminRows(fixture),
    'GET /metrics': { targets: [unscoped('/metrics', ['admin'])] },
    'GET /health/live': { targets: [unscoped('/health/live', 'everyone')] },
    'GET /health/ready': { targets: [unscoped('/health/ready', 'everyone')] },
  };
}

/** Writes are repeated, so each names a conversation or message that exists only for its caller, or changes nothing. */
function conversationRows({ one, second, completion, other, ownConversations, messages }: IsolationFixture): Rows {
  const everyApp = ['one app', 'second app', 'completion app', 'other app'];
  const rename = (id: string, more = {}): TestRequest => ({
    method: 'POST',
    path: `/v1/conversations/${id}/name`,
    body: { name: 'name', ...more },
  });
  const remove = (id: string): TestRequest => ({ method: 'DELETE', path: `/v1/conversations/${id}` });
  const rate = (id: string, user = 'ann'): TestRequest => ({
    method: 'POST',
    path: `/v1/messages/${id}/feedbacks`,
    body: { rating: 'like', user },
  });
  const target = (name: string, id: string, visibleTo: string[], make: (id: string) => TestRequest): Target => ({
    name,
    visibleTo,
    request: () => make(id),
    missing: () => make(randomUUID()),
  });
  const last = (id: string) => get(`/v1/conversations?last_id=${id}`);
  return {
    'GET /v1/app/feedbacks': { targets: [unscoped('/v1/app/feedbacks', everyApp)] },
    'GET /v1/messages/search': {
      targets: [unscoped('/v1/messages/search?user=ann', everyApp)],
      invalid: { 'GET /v1/messages/search without a user': () => get('/v1/messages/search?query=x') },
    },
    'GET /v1/conversations': {
      targets: [
        target('after a conversation of one', one.ids.conversation, ['one app'], last),
        target('after a deleted conversation', ownConversations.deleted, [], last),
        target('after a conversation of second', second.conversation, ['second app'], last),
        target('after a conversation of other', other.ids.conversation, ['other app'], last),
      ],
      invalid: { 'GET /v1/conversations with a bad limit': () => get('/v1/conversations?limit=0') },
    },
    'POST /v1/conversations/{conversation_id}/name': {
      targets: [
        target('a conversation of one', one.ids.conversation, ['one app'], rename),
        target('a conversation of one, for another user', one.ids.conversation, [], (id) => rename(id, { user: 'x' })),
        target('a deleted conversation', ownConversations.deleted, [], rename),
        target('a conversation of second', second.conversation, ['second app'], rename),
        target('a conversation of other', other.ids.conversation, ['other app'], rename),
      ],
      invalid: { 'POST name without a content type': () => ({ ...rename(one.ids.conversation), body: '{' }) },
    },
    'DELETE /v1/conversations/{conversation_id}': {
      targets: [target('a deleted conversation', ownConversations.deleted, [], remove)],
    },
    'POST /v1/messages/{message_id}/feedbacks': {
      targets: [
        target('a message of another user', messages.bob.id, [], rate),
        target('a message of a deleted conversation', messages.deleted.id, [], rate),
      ],
    },
    'GET /v1/messages/{message_id}/suggested': {
      targets: [target('any message', completion.conversation, [], suggested)],
    },
    ...Object.fromEntries(
      ['info', 'parameters', 'meta', 'site'].map((path) => [
        `GET /v1/${path}`,
        { targets: [unscoped(`/v1/${path}`, everyApp)] } satisfies Row,
      ]),
    ),
  };
}

const suggested = (id: string) => get(`/v1/messages/${id}/suggested`);

/** Lists of knowledge bases, single objects, and the writes that add and delete child chunks. */
function knowledgeRows(fixture: IsolationFixture): Rows {
  const inRoute = (part: string) => chunkRoute.slice(0, chunkRoute.indexOf(part) + part.length);
  const inPath = (ids: ChunkIds, part: keyof ChunkIds, more = '') => {
    const path = chunkPath(ids);
    return `${path.slice(0, path.indexOf(ids[part]) + ids[part].length)}${more}`;
  };
  /** Targets whose path ends at a part: those with a foreign id below it do not apply. */
  const upTo = (part: 'dataset' | 'document' | 'segment', makeRequest: (ids: ChunkIds) => TestRequest): Row => {
    const below = { dataset: ['document', 'segment', 'chunk'], document: ['segment', 'chunk'], segment: ['chunk'] }[
      part
    ];
    const isAbove = ({ name }: Target) => !below.some((other) => name.startsWith(`own path with a ${other} of`));
    return { targets: chunks(fixture, makeRequest).filter(isAbove) as unknown as Row['targets'] };
  };
  const list = (part: 'dataset' | 'document' | 'segment', more = '') =>
    upTo(part, (ids) => get(inPath(ids, part, more)));
  const create = (ids: ChunkIds): TestRequest => ({
    method: 'POST',
    path: inPath(ids, 'segment', '/child_chunks'),
    body: { content: 'new chunk' },
  });
  return {
    'GET /v1/datasets': {
      targets: [unscoped('/v1/datasets', ['one knowledge', 'restricted knowledge', 'other knowledge'])],
      invalid: { 'GET /v1/datasets with a bad page': () => get('/v1/datasets?page=0') },
    },
    [`GET ${inRoute('{dataset_id}')}`]: list('dataset'),
    [`GET ${inRoute('/documents')}`]: list('dataset', '/documents'),
    [`GET ${inRoute('{document_id}')}`]: list('document'),
    [`GET ${inRoute('/segments')}`]: list('document', '/segments'),
    [`GET ${inRoute('{segment_id}')}`]: list('segment'),
    [`GET ${inRoute('/child_chunks')}`]: list('segment', '/child_chunks'),
    [`POST ${inRoute('/child_chunks')}`]: {
      ...upTo('segment', create),
      invalid: { 'POST chunk without a content type': () => ({ ...create(fixture.one.ids), body: '{' }) },
    },
    [`DELETE ${chunkRoute}`]: { targets: deletions(fixture) },
  };
}

/** Each request deletes another chunk, so that there is one left for the next caller. */
function deletions(fixture: IsolationFixture): Row['targets'] {
  const [ofOne = [], ofOther = []] = fixture.spareChunks.map((ids) => ids.values());
  const remove = (ids: ChunkIds): TestRequest => ({ method: 'DELETE', path: chunkPath(ids) });
  const spare = (name: string, ids: IterableIterator<ChunkIds> | ChunkIds[], visibleTo: string[]): Target => ({
    name,
    visibleTo,
    request: () => remove(ids[Symbol.iterator]().next().value ?? assert.fail('no spare chunk is left')),
    missing: () => remove(makeDataset('').ids),
  });
  return [
    spare('a chunk of one', ofOne, ['one knowledge', 'restricted knowledge']),
    spare('a chunk of other', ofOther, ['other knowledge']),
    ...chunks(fixture, remove).filter(({ visibleTo }) => visibleTo.length === 0),
  ];
}

/** The operations that the console depends on, visible to an admin only, and the change feed. */
function adminRows({ one, messages, revokedKeyId }: IsolationFixture): Rows {
  const { workspace, app, conversation, dataset, document, segment, chunk } = one.ids;
  const adminOnly = (request: TestRequest): Row => ({
    targets: [{ name: 'of one', visibleTo: ['admin'], request: () => request }],
  });
  const ofApp = `/admin/apps/${app}/conversations/${conversation}`;
  const inDataset = `/admin/datasets/${dataset}`;
  const inSegment = `${inDataset}/documents/${document}/segments/${segment}`;
  const route = chunkRoute.replace('/v1/', '/admin/');
  const inRoute = (part: string) => route.slice(0, route.indexOf(part) + part.length);
  const patch = { method: 'PATCH', path: `${inSegment}/child_chunks/${chunk}`, body: { content: 'chunk text' } };
  const createApp = { method: 'POST', path: '/admin/apps', body: { name: 'new', workspace_id: workspace } };
  const create = { method: 'POST', path: '/admin/keys', body: { kind: 'admin', name: 'new' } };
  return {
    'GET /admin/workspaces': adminOnly(get('/admin/workspaces')),
    'GET /admin/workspaces/{workspace_id}': adminOnly(get(`/admin/workspaces/${workspace}`)),
    'GET /admin/workspaces/{workspace_id}/model-providers': adminOnly(
      get(`/admin/workspaces/${workspace}/model-providers`),
    ),
    'GET /admin/apps': adminOnly(get('/admin/apps')),
    'GET /admin/apps/{app_id}': adminOnly(get(`/admin/apps/${app}`)),
    'GET /admin/datasets': adminOnly(get('/admin/datasets')),
    [`GET ${inRoute('{dataset_id}')}`]: adminOnly(get(inDataset)),
    [`GET ${inRoute('{document_id}')}`]: adminOnly(get(`${inDataset}/documents/${document}`)),
    [`GET ${inRoute('{segment_id}')}`]: adminOnly(get(inSegment)),
    [`GET ${inRoute('/documents')}`]: adminOnly(get(`${inDataset}/documents`)),
    [`GET ${inRoute('/segments')}`]: adminOnly(get(`${inDataset}/documents/${document}/segments`)),
    [`GET ${inRoute('/child_chunks')}`]: adminOnly(get(`${inSegment}/child_chunks`)),
    [`GET ${route}`]: adminOnly(get(`${inSegment}/child_chunks/${chunk}`)),
    [`GET ${route}/revisions`]: adminOnly(get(`${inSegment}/child_chunks/${chunk}/revisions`)),
    [`PATCH ${route}`]: {
      ...adminOnly(patch),
      invalid: { 'PATCH as admin without a content type': () => ({ ...patch, body: '{' }) },
    },
    'GET /admin/activity': adminOnly(get('/admin/activity')),
    'GET /admin/keys': adminOnly(get('/admin/keys')),
    'POST /admin/apps': {
      ...adminOnly(createApp),
      invalid: { 'POST /admin/apps without a name': () => ({ ...createApp, body: {} }) },
    },
    'PATCH /admin/apps/{app_id}': {
      ...adminOnly({ method: 'PATCH', path: `/admin/apps/${app}`, body: { retention_days: null } }),
      invalid: {
        'PATCH /admin/apps without a change': () => ({ method: 'PATCH', path: `/admin/apps/${app}`, body: {} }),
      },
    },
    'POST /admin/keys': {
      ...adminOnly(create),
      invalid: { 'POST /admin/keys without a kind': () => ({ ...create, body: {} }) },
    },
    'PATCH /admin/keys/{key_id}': adminOnly({
      method: 'PATCH',
      path: `/admin/keys/${one.keyIds.app}`,
      body: { read_only: false },
    }),
    'POST /admin/keys/{key_id}/rotate': adminOnly({ method: 'POST', path: `/admin/keys/${one.keyIds.feed}/rotate` }),
    'DELETE /admin/keys/{key_id}': adminOnly({ method: 'DELETE', path: `/admin/keys/${revokedKeyId}` }),
    'GET /admin/reads': adminOnly(get('/admin/reads')),
    'GET /admin/views': adminOnly(get('/admin/views')),
    'PUT /admin/views/{name}': {
      ...adminOnly({ method: 'PUT', path: '/admin/views/mine', body: { address: '#/users' } }),
      invalid: { 'PUT a view without a content type': () => ({ method: 'PUT', path: '/admin/views/mine', body: '{' }) },
    },
    'DELETE /admin/views/{name}': adminOnly({ method: 'DELETE', path: '/admin/views/gone' }),
    'GET /admin/people': adminOnly(get('/admin/people')),
    'PATCH /admin/people/{person_id}': {
      ...adminOnly({ method: 'PATCH', path: `/admin/people/${personOfFixture}`, body: { blocked: false } }),
      invalid: {
        'PATCH a person without a content type': () => ({ method: 'PATCH', path: '/admin/people/x', body: '{' }),
      },
    },
    'DELETE /admin/people/{person_id}/sessions': adminOnly({
      method: 'DELETE',
      path: `/admin/people/${personOfFixture}/sessions`,
    }),
    'GET /admin/apps/{app_id}/conversations/{conversation_id}': adminOnly(get(ofApp)),
    'GET /admin/apps/{app_id}/conversations/{conversation_id}/messages': adminOnly(get(`${ofApp}/messages`)),
    'GET /admin/apps/{app_id}/conversations/{conversation_id}/locate': adminOnly(get(`${ofApp}/locate`)),
    'GET /admin/apps/{app_id}/conversations/{conversation_id}/details': adminOnly(get(`${ofApp}/details?message_id=x`)),
    'GET /admin/reviews': adminOnly(get('/admin/reviews')),
    'GET /admin/reviews/counts': adminOnly(get('/admin/reviews/counts')),
    'GET /admin/evals.jsonl': adminOnly(get('/admin/evals.jsonl')),
    'PUT /admin/apps/{app_id}/conversations/{conversation_id}/messages/{message_id}/review': {
      ...adminOnly({ method: 'PUT', path: `${ofApp}/messages/${messages.one[0]?.id}/review`, body: {} }),
      invalid: {
        'PUT a review without a content type': () => ({
          method: 'PUT',
          path: `${ofApp}/messages/${chunk}/review`,
          body: '{',
        }),
      },
    },
    // It does not exist, so that a repeated request finds the same.
    'DELETE /admin/apps/{app_id}/conversations/{conversation_id}/messages/{message_id}': {
      targets: [
        {
          name: 'of one',
          visibleTo: [],
          request: () => ({ method: 'DELETE', path: `${ofApp}/messages/${chunk}` }),
          missing: () => ({ method: 'DELETE', path: `${ofApp}/messages/${randomUUID()}` }),
        },
      ],
    },
    'POST /admin/purge': {
      ...adminOnly({ method: 'POST', path: '/admin/purge', body: { conversation_id: conversation, dry_run: true } }),
      invalid: {
        'POST /admin/purge without a conversation or user': () => ({ method: 'POST', path: '/admin/purge', body: {} }),
      },
    },
    'GET /admin/retention': adminOnly(get('/admin/retention')),
    'GET /admin/conversations': adminOnly(get('/admin/conversations')),
    'GET /admin/users': adminOnly(get('/admin/users')),
    'GET /admin/failures': adminOnly(get('/admin/failures')),
    'GET /admin/overview': adminOnly(get('/admin/overview')),
    'GET /admin/changes': {
      targets: [unscoped('/admin/changes', ['one feed', 'other feed', 'admin'])],
      invalid: { 'GET /admin/changes with a bad cursor': () => get('/admin/changes?after=x') },
    },
    'GET /admin/search': adminOnly(get('/admin/search')),
    'GET /admin/search/counts': adminOnly(get('/admin/search/counts')),
    'GET /admin/health': adminOnly(get('/admin/health')),
    'GET /admin/search/worst': adminOnly(get('/admin/search/worst')),
    'GET /admin/traffic': adminOnly(get('/admin/traffic')),
  };
}

function pages({ one, second, completion, other, ownConversations, messages }: IsolationFixture): Row['targets'] {
  const page = (conversation_id: string, more: Record<string, string> = {}) =>
    get(`/v1/messages?${new URLSearchParams({ conversation_id, ...more })}`);
  const conversation = (name: string, id: string, visibleTo: string[], more = {}): Target => ({
    name,
    visibleTo,
    request: () => page(id, more),
    missing: () => page(randomUUID(), more),
  });
  const cursor = (name: string, first_id: string): Target => ({
    name: `own page, first_id of ${name}`,
    visibleTo: [],
    request: () => page(one.ids.conversation, { first_id }),
    missing: () => page(one.ids.conversation, { first_id: randomUUID() }),
  });
  return [
    conversation('a conversation of one', one.ids.conversation, ['one app']),
    conversation('a conversation of one, for its user', one.ids.conversation, ['one app'], { user: 'ann' }),
    conversation('a conversation of one, for another user', one.ids.conversation, [], { user: 'bob' }),
    conversation('a conversation without a user', ownConversations.withoutUser, ['one app']),
    conversation('a deleted conversation', ownConversations.deleted, []),
    conversation('a conversation of second', second.conversation, ['second app']),
    conversation('a conversation of the completion app', completion.conversation, []),
    conversation('a conversation of other', other.ids.conversation, ['other app']),
    conversation('a conversation of second, for its user', second.conversation, ['second app'], { user: 'ann' }),
    conversation('a conversation without a user, for one', ownConversations.withoutUser, [], { user: 'ann' }),
    conversation('a conversation of other, for its user', other.ids.conversation, ['other app'], { user: 'ann' }),
    conversation('a conversation of other, for another user', other.ids.conversation, [], { user: 'bob' }),
    cursor('another conversation', messages.bob.id),
    cursor('a deleted conversation', messages.deleted.id),
    cursor('the second app', messages.second.id),
    cursor('the other workspace', messages.other.id),
  ];
}

function chunks(fixture: IsolationFixture, makeRequest: (ids: ChunkIds) => TestRequest): Row['targets'] {
  const { one, outside, sibling, other } = fixture;
  const chunk = (name: string, ids: ChunkIds, visibleTo: string[]): Target => ({
    name,
    visibleTo,
    request: () => makeRequest(ids),
    missing: () => makeRequest(makeDataset('').ids),
  });
  /** The path of `one` with one part replaced. Never the dataset: for its owner, another part fails first. */
  const part = (name: keyof ChunkIds, owner: string, ids: ChunkIds): Target => ({
    name: `own path with a ${name} of ${owner}`,
    visibleTo: [],
    request: () => makeRequest({ ...one.ids, [name]: ids[name] }),
    missing: () => makeRequest({ ...one.ids, [name]: randomUUID() }),
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

function recordsOf({ one, second, completion, other, ownConversations }: IsolationFixture): Row['targets'] {
  /** New ids each time, so that a repeated request overwrites nothing. */
  const record = (name: string, id: string, visibleTo: string[], make: (id: string) => object): Target => ({
    name,
    visibleTo,
    request: () => lines(make(id)),
    missing: () => lines(make(randomUUID())),
  });
  const into = (id: string) => message(id, 9);
  const conversation = (app_id: string) => ({ record: 'conversation', id: randomUUID(), app_id, user: 'zoe' });
  const document = (dataset_id: string) => ({ record: 'document', id: randomUUID(), dataset_id, name: 'd' });
  return [
    record('a message for one', ownConversations.withoutUser, ['one writer', 'admin'], into),
    record('a message for second', second.conversation, ['second writer', 'admin'], into),
    record('a message for completion', completion.conversation, ['admin'], into),
    record('a message for other', other.ids.conversation, ['other writer', 'admin'], into),
    record('a message for a deleted conversation', ownConversations.deleted, ['one writer', 'admin'], into),
    record('a conversation for one', one.ids.app, ['one writer', 'admin'], conversation),
    record('a conversation for second', second.app, ['second writer', 'admin'], conversation),
    record('a conversation for other', other.ids.app, ['other writer', 'admin'], conversation),
    record('a document for one', one.ids.dataset, ['admin'], document),
    record('a document for other', other.ids.dataset, ['admin'], document),
  ];
}
